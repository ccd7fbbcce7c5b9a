"""One epoch's messages, from the readers to the writers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from kits.executor import ENGINE
from kits.ticks import SPLITS, ticks
from tidegate.clock import ManualClock
from tidegate.epochs.job import WireJob
from tidegate.epochs.offsets import Offset
from tidegate.epochs.planner import Planner
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.epochs.task_reports import ActorReport, SourceReport
from tidegate.epochs.worker import Worker, connector_reader
from tidegate.simulator.course import Course
from tidegate.simulator.exchange import Done, Exchange
from tidegate.simulator.outputs import Outputs
from tidegate.simulator.states import States


class Counted(Course):
    """The steps of an epoch."""

    steps = 0

    def step(self) -> None:
        self.steps += 1


@pytest.mark.slow
def test_an_epoch_of_two_tasks(tmp_path: Path) -> None:
    job = WireJob(ticks(tmp_path), str(tmp_path / "checkpoint"), None, 2, True)
    planner = Planner(job, ManualClock(7))
    end = planner.next_offset(Offset())
    worker = Worker(job, lambda: ENGINE, connector_reader, Outputs().writer, checks=True)
    states, course = States(), Counted()
    done = Exchange(worker, states, course).run(planner.tasks(Offset(), end))
    sources = [report for report in done.reports if isinstance(report, SourceReport)]
    actors = [report for report in done.reports if isinstance(report, ActorReport)]
    assert {s: n for each in sources for s, n in each.next_offsets.items()} == {
        split: len(times) for split, times in SPLITS.items()
    }
    assert len(actors) == job.plan.vnodes
    assert {report.epoch for report in done.reports} == {1}
    chunks = [chunk for writer in (0, 1) for chunk in done.chunks_of(writer, 2)]
    rows = {target: sum(t.num_rows for to, t in chunks if to == target) for target, _ in chunks}
    assert rows == {TO_SINK: 5, TO_LEDGER: 1}
    assert course.steps > len(actors) + len(sources)
    assert states.rows == 0, "all windows are closed"


def test_what_an_actor_sends_stays_in_its_order_and_goes_to_one_writer() -> None:
    one, two, three = (pa.table({"n": [n]}) for n in (1, 2, 3))
    done = Done(rows={(TO_SINK, 2): [one, two], (TO_SINK, 1): [three], (TO_LEDGER, 0): [one, two]})
    first, second = done.chunks_of(0, 2), done.chunks_of(1, 2)
    assert [(target, table.column("n").to_pylist()) for target, table in first] == [
        (TO_SINK, [1]),
        (TO_SINK, [2]),
        (TO_LEDGER, [1, 2]),
    ]
    assert [table.column("n").to_pylist() for _, table in second] == [[3]]
