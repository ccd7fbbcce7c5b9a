from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kits.spark import add_rows, job_in
from tidegate.clock import ManualClock
from tidegate.epochs.job import WireJob
from tidegate.epochs.offsets import Offset
from tidegate.epochs.planner import Planner
from tidegate.epochs.targets import TO_DRIVER, TO_LEDGER
from tidegate.epochs.task_reports import SourceReport, TaskReport, unpacked
from tidegate.spark.exchange.wire import AlignedBarrier, Kind, Row, decode
from tidegate.spark.source.reader import run_reader_task
from tidegate.types import Chunk, Status, Watermark


def rows_of_first_epoch(job: WireJob) -> list[Row]:
    planner = Planner(job, ManualClock(1_000))
    tasks = planner.tasks(Offset(), planner.next_offset(Offset()))
    return [row for task in tasks for row in run_reader_task(job, task)]


def reports(rows: list[Row]) -> list[TaskReport]:
    return [unpacked(row.body) for row in rows if row.fragment == TO_DRIVER]


@pytest.mark.slow
def test_reports_and_rows_for_the_ledger_have_their_own_ways(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 10), (2, 20), (3, 11), "no json", (-4, 21))
    rows = rows_of_first_epoch(job_in(tmp_path))
    (report,) = reports(rows)
    assert isinstance(report, SourceReport)
    assert (report.next_offsets, report.fragment) == ({"a": 5}, 0)
    ledger = [decode(row.kind, row.body) for row in rows if row.fragment == TO_LEDGER]
    assert [m.data.num_rows for m in ledger if isinstance(m, Chunk)] == [2]


@pytest.mark.slow
def test_a_task_that_fails_leaves_nothing_staged(tmp_path: Path) -> None:
    late = ((n, n % 7) for n in range(1, 30_000))
    add_rows(tmp_path, "a", "0.json", (1, 1_000), *late)
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
