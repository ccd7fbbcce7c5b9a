from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_kit import new_checkpoint
from tidegate.errors import SinkError
from tidegate.executor.columns import ledger_rows
from tidegate.spark.checkpoint import Checkpoint
from tidegate.spark.ledger import ledger_writer
from tidegate.spark.ledger_share import TRAVEL_BYTES_MAX, LedgerShare
from tidegate.types import LEDGER_SCHEMA, OFFSET, RECORD, Rejected


def rejected(first: int, rows: int, size: int = 10, reason: str = "late") -> Rejected:
    data = pa.table({OFFSET: range(first, first + rows), RECORD: [b"x" * size] * rows})
    told = {"account": "o", "table": "o", "split": "a", "operator": "scan", "reasons": reason}
    return Rejected(ledger_rows(data, **told))


def share_in(checkpoint: Checkpoint) -> LedgerShare:
    return LedgerShare(lambda: ledger_writer(checkpoint, 3, "1"))


def files(checkpoint: Checkpoint) -> list[Path]:
    return list((Path(checkpoint.uri) / "ledger").rglob("*.parquet"))


def test_few_rows_travel_together(tmp_path: Path) -> None:
    checkpoint = new_checkpoint(tmp_path)
    share = share_in(checkpoint)
    assert share.close() is None
    share.add(rejected(0, 2))
    share.add(rejected(2, 1, reason="malformed"))
    few = share.close()
    assert few is not None
    assert few.data.schema == LEDGER_SCHEMA
    assert few.data["offset"].to_pylist() == [0, 1, 2]
    assert few.data["reason"].to_pylist() == ["late", "late", "malformed"]
    assert share.report() == {"ledger": [], "rejected": {}}
    assert files(checkpoint) == []


def test_from_the_bound_on_all_are_staged(tmp_path: Path) -> None:
    checkpoint = new_checkpoint(tmp_path)
    share = share_in(checkpoint)
    share.add(rejected(0, 3))
    share.add(rejected(3, 1, size=TRAVEL_BYTES_MAX, reason="malformed"))
    share.add(rejected(4, 5))
    assert share.close() is None
    report: dict[str, Any] = share.report()
    ((_, _, rows, _),) = report["ledger"]
    assert rows == 9
    told = {reason: found["rows"] for reason, found in report["rejected"]["o"]["scan"].items()}
    assert told == {"late": 8, "malformed": 1}
    assert len(files(checkpoint)) == 1


def test_a_task_that_fails_behind_leaves_nothing(tmp_path: Path) -> None:
    checkpoint = new_checkpoint(tmp_path)
    share = share_in(checkpoint)
    share.abort()
    share.add(rejected(0, 1, size=TRAVEL_BYTES_MAX))
    share.close()
    assert len(files(checkpoint)) == 1
    share.abort()
    assert files(checkpoint) == []


def test_where_nothing_can_be_staged_it_says_so(tmp_path: Path) -> None:
    checkpoint = new_checkpoint(tmp_path)
    (tmp_path / "checkpoint" / "ledger" / ".tidegate").write_text("no directory")
    share = share_in(checkpoint)
    share.add(rejected(0, 1, size=TRAVEL_BYTES_MAX))
    with pytest.raises(SinkError, match="ledger"):
        share.close()
