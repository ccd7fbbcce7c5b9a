"""Writer tasks, whoever carries rows to them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from kits.spark import committer_of, job_in, new_checkpoint
from tidegate.epochs.job import WireJob
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.epochs.worker import Worker
from tidegate.epochs.writing import write_task
from tidegate.errors import SinkError
from tidegate.ports import SinkWriter, StagedFile
from tidegate.types import LEDGER_SCHEMA


def windows(*ends: int) -> pa.Table:
    return pa.table({"window_end": list(ends), "n": [1] * len(ends)})


def late(record: bytes) -> pa.Table:
    row = {"account": "orders", "table": "orders", "operator": "f", "reason": "late"}
    return pa.Table.from_pylist([{**row, "record": record}], schema=LEDGER_SCHEMA)


@pytest.fixture
def job(tmp_path: Path) -> WireJob:
    (tmp_path / "in").mkdir()
    return job_in(tmp_path)


def test_rows_are_staged_in_their_order_and_counted(job: WireJob, tmp_path: Path) -> None:
    chunks = [(TO_SINK, windows(10, 20)), (TO_LEDGER, late(b"x")), (TO_SINK, windows(15))]
    report = write_task(Worker.of(job), 7, "1", chunks, {})
    assert {target: [file.rows for file in files] for target, files in report.staged.items()} == {
        TO_SINK: [3],
        TO_LEDGER: [1],
    }
    assert report.epoch == 7
    assert report.rejected["orders"]["f"]["late"].rows == 1
    committer_of(job.plan, new_checkpoint(tmp_path)).publish(7, report.staged[TO_SINK])
    (part,) = (tmp_path / "out").glob("part-*")
    assert [json.loads(line)["window_end"] for line in part.read_text().splitlines()] == [
        10,
        20,
        15,
    ]


def test_rows_of_the_ledger_are_copied_where_the_job_says(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    found: dict[int, list[pa.Table]] = {}

    class Kept:
        def __init__(self, target: int) -> None:
            self.rows = found.setdefault(target, [])

        def write(self, data: pa.Table) -> None:
            self.rows.append(data)

        def close(self) -> list[StagedFile]:
            return []

        def abort(self) -> None: ...

    def writer_of(target: int, epoch: int, writer: str, known: int) -> SinkWriter:
        assert (epoch, writer, known) == (7, "1", 4 if target == TO_LEDGER else 0)
        return Kept(target)

    worker = replace(Worker.of(job_in(tmp_path, copied=True)), writer_of=writer_of)
    write_task(worker, 7, "1", [(TO_LEDGER, late(b"x"))], {TO_LEDGER: {"1": 4}})
    assert [table.column("record").to_pylist() for table in found[TO_SINK - 1]] == [["x"]]


def test_a_task_that_fails_leaves_nothing(job: WireJob, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file stands where the directory goes")
    with pytest.raises(SinkError, match="out"):
        write_task(Worker.of(job), 7, "1", [(TO_LEDGER, late(b"x")), (TO_SINK, windows(1))], {})
    assert list(Path(f"{job.checkpoint}/ledger").rglob("*.parquet")) == []
