from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kits.spark import committer_of, job_in, new_checkpoint
from tidegate.epochs.job import WireJob
from tidegate.epochs.targets import TO_DRIVER, TO_SINK
from tidegate.epochs.task_reports import (
    ActorReport,
    TaskReport,
    WriterReport,
    packed,
    unpacked,
)
from tidegate.spark.errors import CarriedError
from tidegate.spark.exchange.wire import Kind, Row, encode, to_batches
from tidegate.spark.sinks.writer import writer
from tidegate.types import Chunk


@pytest.fixture
def job(tmp_path: Path) -> WireJob:
    (tmp_path / "in").mkdir()
    return job_in(tmp_path)


def rows_of(upstream: int, seq: int, *ends: int) -> Row:
    ((kind, body),) = encode(Chunk(pa.table({"window_end": list(ends), "n": [1] * len(ends)})))
    return Row(0, TO_SINK, 0, upstream, seq, kind, body)


def written(job: WireJob, *rows: Row) -> list[TaskReport]:
    """What the task reports, and what passed it."""
    batches = writer(job.encode(), 7)(to_batches(rows))
    return [unpacked(row["report"]) for batch in batches for row in batch.to_pylist()]


ACTOR = ActorReport(epoch=7, fragment=1, depth=1)


def report_of_an_actor(seq: int = 0) -> Row:
    return Row(0, TO_DRIVER, 0, 0, seq, Kind.REPORT, packed(ACTOR))


def test_rows_are_staged_in_the_order_of_their_senders(job: WireJob, tmp_path: Path) -> None:
    other = report_of_an_actor(9)
    first, second = rows_of(1, 3, 10, 20), rows_of(1, 8, 30, 40)
    passed, report = written(job, rows_of(2, 1, 50), second, other, first)
    assert passed == ACTOR
    assert isinstance(report, WriterReport)
    assert report.staged.keys() == {TO_SINK}
    (staged,) = report.staged[TO_SINK]
    assert staged.rows == 5
    assert list((tmp_path / "out").glob("part-*")) == []

    committer = committer_of(job.plan, new_checkpoint(tmp_path))
    committer.publish(7, [staged])
    (part,) = (tmp_path / "out").glob("part-*")
    found = [json.loads(line)["window_end"] for line in part.read_text().splitlines()]
    assert found == [10, 20, 30, 40, 50]


def test_a_task_without_rows_reports_only(job: WireJob) -> None:
    (report,) = written(job)
    assert isinstance(report, WriterReport)
    assert (report.epoch, report.staged, report.rejected) == (7, {}, {})
    passed, own = written(job, report_of_an_actor())
    assert (type(passed), type(own)) == (ActorReport, WriterReport)


@pytest.mark.slow
def test_a_task_that_fails_leaves_nothing_and_says_where(job: WireJob, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file stands where the directory goes")
    with pytest.raises(CarriedError, match="out"):
        written(job, rows_of(1, 1, 10))


def test_a_job_comes_back_equal(job: WireJob) -> None:
    other: Any = job.encode()
    assert isinstance(other, str)
    assert writer(other, 1) is not None
