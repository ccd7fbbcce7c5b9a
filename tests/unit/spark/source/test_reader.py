from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kits.spark import add_rows, job_in
from tidegate.clock import ManualClock
from tidegate.connectors.registry import sink_committer
from tidegate.epochs.checkpoint import Checkpoint, Entry
from tidegate.epochs.job import WireJob
from tidegate.epochs.ledger import ledger_table, read_ledger
from tidegate.epochs.offsets import Offset
from tidegate.epochs.planner import Planner
from tidegate.epochs.targets import TO_DRIVER, TO_LEDGER
from tidegate.ports import StagedFile
from tidegate.spark.exchange.wire import AlignedBarrier, Kind, Row, decode
from tidegate.spark.source.reader import run_reader_task
from tidegate.types import Chunk, Status, Watermark


def rows_of_first_epoch(job: WireJob) -> list[Row]:
    planner = Planner(job, ManualClock(1_000))
    tasks = planner.tasks(Offset(), planner.next_offset(Offset()))
    return [row for task in tasks for row in run_reader_task(job, task)]


def reports(rows: list[Row]) -> list[dict[str, Any]]:
    return [json.loads(row.body) for row in rows if row.fragment == TO_DRIVER]


def test_a_task_reads_filters_and_reports(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 10), (2, 20), (3, 11), "no json", (-4, 21))
    job = job_in(tmp_path)
    rows = rows_of_first_epoch(job)
    (report,) = reports(rows)
    assert report["epoch"] == 1
    assert report["time_us"] == 1_000
    assert report["next_offsets"] == {"a": 5}
    assert report["statuses"] == {"a": Status.FINISHED}
    (split,) = report["splits"]
    assert split["counts"]["read"] == 5
    assert split["counts"]["late"] == 1
    assert split["counts"]["quarantined"] == 1
    (state,) = split["filters"].values()
    assert state["watermark"] == 16

    ledger = [decode(row.kind, row.body) for row in rows if row.fragment == TO_LEDGER]
    chunks = [message for message in ledger if isinstance(message, Chunk)]
    found = [reason for chunk in chunks for reason in chunk.data.column("reason").to_pylist()]
    assert sorted(found) == ["late", "malformed"]


MANY = 30_000


def many_late(directory: Path) -> None:
    """A row, and `MANY` that are late behind it: a megabyte for the ledger."""
    late = ((n, n % 7) for n in range(1, MANY + 1))
    add_rows(directory, "a", "0.json", (1, 1_000), "no json", *late)


def test_many_late_rows_are_staged_by_who_finds_them(tmp_path: Path) -> None:
    many_late(tmp_path)
    job = job_in(tmp_path)
    rows = rows_of_first_epoch(job)
    (report,) = reports(rows)
    assert [row for row in rows if row.fragment == TO_LEDGER] == []
    staged = [StagedFile(*file) for file in report["ledger"]]
    assert sum(file.rows for file in staged) == MANY + 1
    told = {
        reason: counted["rows"]
        for operators in report["rejected"].values()
        for reasons in operators.values()
        for reason, counted in reasons.items()
    }
    assert told == {"late": MANY, "malformed": 1}

    checkpoint = Checkpoint(job.checkpoint)
    committer = sink_committer(ledger_table(checkpoint), checkpoint.staging(TO_LEDGER))
    checkpoint.write_entry(Entry(1, 0))
    committer.publish(1, staged)
    found = read_ledger(checkpoint)["rows"]
    assert [row["offset"] for row in found] == list(range(1, MANY + 2))
    assert [row["reason"] for row in found] == ["malformed"] + ["late"] * MANY


def test_rows_that_a_copy_needs_travel(tmp_path: Path) -> None:
    many_late(tmp_path)
    rows = rows_of_first_epoch(job_in(tmp_path, copied=True))
    (report,) = reports(rows)
    assert "ledger" not in report
    ledger = [decode(row.kind, row.body) for row in rows if row.fragment == TO_LEDGER]
    assert sum(m.data.num_rows for m in ledger if isinstance(m, Chunk)) == MANY + 1


def test_a_task_that_fails_leaves_nothing_staged(tmp_path: Path) -> None:
    many_late(tmp_path)
    job = job_in(tmp_path)
    planner = Planner(job, ManualClock(1_000))
    (task,) = planner.tasks(Offset(), planner.next_offset(Offset()))
    running: Any = run_reader_task(job, task)
    while next(running).fragment != TO_DRIVER:
        pass
    staging = Path(f"{job.checkpoint}/ledger")
    assert len(list(staging.rglob("*.parquet"))) == 1
    with pytest.raises(RuntimeError, match="the JVM hung up"):
        running.throw(RuntimeError("the JVM hung up"))
    assert list(staging.rglob("*.parquet")) == []


def test_every_receiver_gets_watermark_and_barrier_behind_its_rows(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", *((n, n) for n in range(1, 90)))
    add_rows(tmp_path, "b", "0.json", (1, 1))
    job = job_in(tmp_path)
    rows = rows_of_first_epoch(job)
    for vnode in range(job.plan.vnodes):
        for instance in (0, 1):
            sent = [
                r for r in rows if r.fragment >= 0 and (r.vnode, r.upstream) == (vnode, instance)
            ]
            assert [r.seq for r in sent] == sorted(r.seq for r in sent)
            messages = [decode(r.kind, r.body) for r in sent]
            assert isinstance(messages[-1], AlignedBarrier)
            assert messages[-1].peers == (0, 1)
            assert isinstance(messages[-2], Watermark)
            assert messages[-2].status is Status.FINISHED
            kinds = [r.kind for r in sent]
            assert kinds.count(Kind.BARRIER) == 1
            assert kinds == sorted(kinds, key=[Kind.CHUNK, Kind.WATERMARK, Kind.BARRIER].index)
    assert any(r.kind is Kind.CHUNK and r.fragment >= 0 for r in rows)


@pytest.mark.parametrize("pushdown", [True, False])
def test_the_filter_is_where_the_plan_says(pushdown: bool, tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 10), (2, 20), (3, 11))
    (report,) = reports(rows_of_first_epoch(job_in(tmp_path, pushdown=pushdown)))
    filters = [split["filters"] for split in report["splits"]]
    assert any(filters) is pushdown
