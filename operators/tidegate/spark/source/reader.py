"""A reader task in a worker of Spark's: what its fragments send, as rows on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from tidegate.epochs.job import WireJob
from tidegate.epochs.planner import ReaderTask
from tidegate.epochs.reading import read_task
from tidegate.epochs.worker import Worker
from tidegate.executor.actor import Emission
from tidegate.phases import PHASES
from tidegate.spark.exchange.outbox import Outbox
from tidegate.spark.exchange.wire import Row
from tidegate.spark.launch.heap import HEAP


def run_reader_task(job: WireJob, task: ReaderTask) -> Iterator[Row]:
    """Reads the task's splits through their fragments; gives all that goes on from there."""
    PHASES.start()
    HEAP.on_task()
    plan = job.plan
    outboxes = {
        work.fragment: Outbox(plan, plan.fragments[work.fragment], task.index, work.peers)
        for work in task.fragments
    }
    with closing(read_task(Worker.of(job), task)) as reading:
        for fragment, sent in reading:
            outbox = outboxes[fragment]
            if isinstance(sent, Emission):
                yield from outbox.send(sent)
            else:
                yield outbox.report(sent)
