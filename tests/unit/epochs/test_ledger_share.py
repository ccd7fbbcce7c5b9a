from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from kits.spark import job_in
from tidegate.epochs.job import WireJob
from tidegate.epochs.ledger_share import TRAVEL_BYTES_MAX, LedgerShare
from tidegate.epochs.targets import TO_LEDGER
from tidegate.epochs.worker import staging_writer
from tidegate.errors import SinkError
from tidegate.executor.columns import ledger_rows
from tidegate.types import LEDGER_SCHEMA, OFFSET, RECORD, Rejected


def rejected(first: int, rows: int, size: int = 10, reason: str = "late") -> Rejected:
    data = pa.table({OFFSET: range(first, first + rows), RECORD: [b"x" * size] * rows})
    told = {"account": "o", "table": "o", "split": "a", "operator": "scan", "reasons": reason}
    return Rejected(ledger_rows(data, **told))


@pytest.fixture
def job(tmp_path: Path) -> WireJob:
    (tmp_path / "in").mkdir()
    return job_in(tmp_path)


def share_in(job: WireJob) -> LedgerShare:
    return LedgerShare(lambda: staging_writer(job, TO_LEDGER, 3, "1"))


def files(job: WireJob) -> list[Path]:
    return list(Path(job.checkpoint, "ledger").rglob("*.parquet"))


@pytest.mark.slow
def test_few_rows_travel_together(job: WireJob) -> None:
    share = share_in(job)
    assert share.close() is None
    share.add(rejected(0, 2))
    share.add(rejected(2, 1, reason="malformed"))
    few = share.close()
    assert few is not None
    assert few.data.schema == LEDGER_SCHEMA
    assert few.data["offset"].to_pylist() == [0, 1, 2]
    assert few.data["reason"].to_pylist() == ["late", "late", "malformed"]
    assert (share.staged, share.rejected) == ((), {})
    assert files(job) == []


def test_from_the_bound_on_all_are_staged(job: WireJob) -> None:
    share = share_in(job)
    share.add(rejected(0, 3))
    share.add(rejected(3, 1, size=TRAVEL_BYTES_MAX, reason="malformed"))
    share.add(rejected(4, 5))
    assert share.close() is None
    (file,) = share.staged
    assert file.rows == 9
    told = {reason: found.rows for reason, found in share.rejected["o"]["scan"].items()}
    assert told == {"late": 8, "malformed": 1}
    assert len(files(job)) == 1


def test_a_task_that_fails_behind_leaves_nothing(job: WireJob) -> None:
    share = share_in(job)
    share.abort()
    share.add(rejected(0, 1, size=TRAVEL_BYTES_MAX))
    share.close()
    assert len(files(job)) == 1
    share.abort()
    assert files(job) == []


def test_where_nothing_can_be_staged_it_says_so(job: WireJob) -> None:
    Path(job.checkpoint, "ledger", ".tidegate").write_text("no directory")
    share = share_in(job)
    share.add(rejected(0, 1, size=TRAVEL_BYTES_MAX))
    with pytest.raises(SinkError, match="ledger"):
        share.close()
