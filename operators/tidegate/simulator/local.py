"""Runs a job without Spark, in this thread: the planner and the committer, and a store in memory.

    results = Local(plan, sources).run()

Epochs, entries, staging and publication are those of a job on Spark (`tidegate.epochs`); what is
Spark's there, its two logs and the state store, is done here, in the same places of the checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa

from tidegate.clock import Clock, SystemClock
from tidegate.engine.engine import Engine, engine_of
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.listener import Log
from tidegate.epochs.offsets import Offset
from tidegate.epochs.opening import EpochOptions, OpenJob
from tidegate.epochs.parallelism import PARTITIONS
from tidegate.epochs.planner import Planner, connector_planner
from tidegate.epochs.targets import TO_LEDGER, sink_tables
from tidegate.epochs.worker import Worker, connector_reader
from tidegate.epochs.writing import write_task
from tidegate.plan.fragments import Plan
from tidegate.plan.nodes import time_zone
from tidegate.plan.tables import Table
from tidegate.ports import SourcePlanner, SourceReader
from tidegate.simulator.course import Course
from tidegate.simulator.exchange import Exchange
from tidegate.simulator.outputs import Outputs
from tidegate.simulator.states import States
from tidegate.store.base import Store
from tidegate.store.memory import MemoryStore

ONCE: Final = EpochOptions(
    parallelism=1, duration_us=0, bytes_max=None, available_now=True, takeover=True
)
"""To the end of what is there now."""
_PLANS_KEPT: Final = 100


class Source(Protocol):
    """What a table is read from, in place of its connector."""

    def planner(self, available_now: bool) -> SourcePlanner: ...

    def reader(self) -> SourceReader: ...


@dataclass(frozen=True, slots=True)
class Results:
    """What a job has given: rows by sink and of the ledger, each in its order, and its last entry,
    which has the account (S7)."""

    outputs: Mapping[str, list[pa.Table]]
    ledger: list[pa.Table]
    last: Entry


class Local:
    """A job on this machine. Tables without a source of their own are read by their connectors;
    what it writes stays here, whatever its sinks are.

    ``engine`` is this thread's if it is not given; with ``checks`` all operators are checked while
    they run (see `tidegate.executor.checked`). ``outputs``, ``states`` and the store outlive a
    `run` that raises.
    """

    def __init__(
        self,
        plan: Plan,
        sources: Mapping[str, Source] | None = None,
        options: EpochOptions = ONCE,
        *,
        clock: Clock | None = None,
        engine: Engine | None = None,
        course: Course | None = None,
        checks: bool = False,
        log: Log = lambda _: None,
    ) -> None:
        self.plan = plan
        self.outputs = Outputs()
        self.states = States()
        self._sources = sources or {}
        self._options = options
        self._clock = clock or SystemClock()
        self._engine = engine or engine_of(time_zone(plan.job), plan.job.functions)
        self._course = course or Course()
        self._checks = checks
        self._log = log
        self.store: Store = MemoryStore(self._clock)

    def run(self) -> Results:
        """Runs to the end; after a run that raised, on from its checkpoint, as another driver."""
        checkpoint = Checkpoint(self.store)
        with OpenJob(
            self.plan,
            checkpoint,
            self._options,
            self._clock,
            self._log,
            planner_of=self._planner,
            committer_of=self.outputs.committer,
        ) as job:
            last = job.last if job.is_finished else self._drive(job)
        outputs = {
            table.name: self.outputs.rows_of(target)
            for target, table in sink_tables(self.plan.job).items()
        }
        return Results(outputs, self.outputs.rows_of(TO_LEDGER), last)

    def _drive(self, job: OpenJob) -> Entry:
        """Epoch by epoch, as Spark does: the plan is kept, the epoch is run and committed, that is
        written down. One that was planned before is run as it was planned."""
        wire, last = job.begin(), job.last
        worker = Worker(wire, lambda: self._engine, self._reader, self.outputs.writer, self._checks)
        planner = Planner(wire, self._clock, job.checkpoint, self._planner)
        planned = job.checkpoint.planned_epoch()
        committed = planned if job.checkpoint.is_committed(planned) else max(planned - 1, 0)
        start = job.checkpoint.offset(committed)
        self.states.restore(committed)
        exchange = Exchange(worker, self.states, self._course)
        while True:
            if planned > start.epoch:
                end = job.checkpoint.offset(planned)
            else:
                self._course.before_plan(start.epoch + 1)
                end = planner.next_offset(start)
                if end is start:
                    if self._course.more_comes():
                        continue
                    return last
                _keep(job.checkpoint, end, wire.parallelism)
            self._course.begin_epoch(end)
            written = job.committer.begin(end.epoch)
            done = exchange.run(planner.tasks(start, end))
            for number in range(wire.parallelism):
                chunks = done.chunks_of(number, wire.parallelism)
                if chunks or not number:
                    report = write_task(worker, end.epoch, str(number), chunks, written)
                    done.reports.append(report)
            last = job.committer.commit(done.reports)
            self.states.save(end.epoch)
            job.checkpoint.write_spark_commit(end.epoch, durably=False)
            start = end

    def _planner(self, table: Table, available_now: bool) -> SourcePlanner:
        source = self._sources.get(table.name)
        if source is None:
            return connector_planner(table, available_now)
        return source.planner(available_now)

    def _reader(self, table: Table, engine: Engine) -> SourceReader:
        source = self._sources.get(table.name)
        return connector_reader(table, engine) if source is None else source.reader()


def _keep(checkpoint: Checkpoint, end: Offset, tasks: int) -> None:
    at_ms, conf = end.time_us // 1000, {PARTITIONS: str(tasks)}
    settings = {"batchWatermarkMs": 0, "batchTimestampMs": at_ms, "conf": conf}
    documents = (json.dumps(each).encode() for each in (settings, end.to_json()))
    checkpoint.write_spark_plan(end.epoch, [b"v1", *documents], durably=False)
    checkpoint.forget_spark_plan(end.epoch - _PLANS_KEPT)
