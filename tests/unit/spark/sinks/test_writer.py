from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kits.spark import committer_of, job_in, new_checkpoint
from tidegate.epochs.job import WireJob
from tidegate.epochs.targets import TO_DRIVER, TO_SINK
from tidegate.ports import StagedFile
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


def written(job: WireJob, *rows: Row) -> list[tuple[str, bytes]]:
    """What the task reports."""
    batches = writer(job.encode(), 7)(to_batches(rows))
    return [(row["kind"], row["body"]) for batch in batches for row in batch.to_pylist()]


def kinds(results: list[tuple[str, bytes]]) -> list[str]:
    assert {kind for kind, _ in results} == {"report"}
    return [json.loads(body)["type"] for _, body in results]


def test_rows_are_staged_in_the_order_of_their_senders(job: WireJob, tmp_path: Path) -> None:
    report = Row(0, TO_DRIVER, 0, 0, 9, Kind.REPORT, b'{"x": 1}')
    results = written(job, rows_of(2, 1, 50), rows_of(1, 8, 30, 40), report, rows_of(1, 3, 10, 20))
    assert ("report", b'{"x": 1}') in results
    ((kind, body),) = [result for result in results if result[0] != "report"]
    assert kind == f"staged:{TO_SINK}"
    staged = StagedFile(*json.loads(body))
    assert staged.rows == 5
    assert list((tmp_path / "out").glob("part-*")) == []

    committer = committer_of(job.plan, new_checkpoint(tmp_path))
    committer.publish(7, [staged])
    (part,) = (tmp_path / "out").glob("part-*")
    found = [json.loads(line)["window_end"] for line in part.read_text().splitlines()]
    assert found == [10, 20, 30, 40, 50]


def test_a_task_without_rows_reports_only(job: WireJob) -> None:
    assert kinds(written(job)) == ["writer"]
    report = Row(0, TO_DRIVER, 0, 0, 0, Kind.REPORT, b'{"type": "actor"}')
    assert kinds(written(job, report)) == ["actor", "writer"]


def test_a_task_that_fails_leaves_nothing_and_says_where(job: WireJob, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file stands where the directory goes")
    with pytest.raises(CarriedError, match="out"):
        written(job, rows_of(1, 1, 10))


def test_a_job_comes_back_equal(job: WireJob) -> None:
    other: Any = job.encode()
    assert isinstance(other, str)
    assert writer(other, 1) is not None
