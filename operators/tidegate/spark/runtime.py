"""Runs a job on Spark: one query, from the first offset to the last commit.

source (all tables) ─► group by route ─► stage 1 ─► … ─► stage d ─► writer ─► driver commits
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.clock import SystemClock
from tidegate.connectors.registry import connector_of
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.commit import Committer
from tidegate.epochs.entry import Entry
from tidegate.epochs.job import WireJob
from tidegate.epochs.listener import Listener, Log
from tidegate.epochs.task_reports import unpacked
from tidegate.errors import RunError, StoreError, TidegateError
from tidegate.plan.fragments import Plan
from tidegate.refusals import refusals_told
from tidegate.reports.metrics.profile import COMMIT, DRIVER, RUN, Profile
from tidegate.spark.errors import WorkerLostError, explained, worker_was_late
from tidegate.spark.exchange.columns import SPARK_SCHEMA
from tidegate.spark.sinks.writer import WRITER_SCHEMA, writer
from tidegate.spark.source.data_source import FORMAT, TidegateSource
from tidegate.spark.stages.processor import StageProcessor
from tidegate.spark.stop import Stop

SPARK_LOG = "log/spark.log"
"""In a checkpoint that is a directory: what the JVM prints."""
_STARTS_MAX = 5
"""Of a query whose Python workers do not come in time: Spark waits ten seconds for one, which is
little on a machine with other work."""
_POLL_S = 1
"""How often the driver looks for signals, and at its lease, while the query runs."""


def all_bounded(plan: Plan) -> bool:
    """Whether the job ends by itself: every table is bounded."""
    return all(connector_of(table).is_bounded(table) for table in plan.tables)


@dataclass(slots=True)
class Query:
    """A job's query. ``last`` is the newest entry: what the callback of Spark's thread and the
    driver's main one share, beside the error that ended it."""

    job: WireJob
    committer: Committer
    last: Entry
    listeners: Sequence[Listener]
    profile: Profile
    stop: Stop
    log: Log
    _error: TidegateError | None = None

    def run(self, spark: SparkSession, interval_s: float) -> Entry:
        """Runs it until it ends or is stopped; gives the newest entry. Raises a TidegateError when
        it fails, not before it was started again where no Python worker came in time, and where
        one died in an epoch: that is run again carefully (see `tidegate.careful`)."""
        first = self.last.epoch
        for start in count(1):
            try:
                return self._run_once(spark, interval_s)
            except WorkerLostError as error:
                epoch = Checkpoint(self.job.checkpoint).planned_epoch()
                if epoch == self.job.careful_epoch or self.stop.requested:
                    raise
                self.log(
                    f"{error.message} in epoch {epoch} ({error.detail}): the epoch is run again,"
                    " and rows that kill a worker are left out"
                )
                self.job = replace(self.job, careful_epoch=epoch)
            except RunError as error:
                late = worker_was_late(str(error.__cause__)) and self.last.epoch == first
                if not late or start >= _STARTS_MAX or self.stop.requested:
                    raise
                self.log(
                    "no Python worker of Spark's came within its ten seconds (is the machine"
                    f" busy?): the query is started again, {start} of {_STARTS_MAX - 1} times"
                )
        raise AssertionError("it counts on")

    def _run_once(self, spark: SparkSession, interval_s: float) -> Entry:
        try:
            query = self._start(spark, interval_s)
        except Py4JJavaError as error:
            raise self._explained(error) from error
        try:
            for listener in self.listeners:
                listener.started()
            self._watch(query)
        except StreamingQueryException as error:
            if not self.stop.at_once:
                raise self._explained(error) from error
        finally:
            if query.isActive:
                query.stop()
            for listener in self.listeners:
                listener.stopped()
        return self.last

    def _watch(self, query: StreamingQuery) -> None:
        stopping = False
        while not query.awaitTermination(_POLL_S):
            progress = query.lastProgress
            if progress is not None:
                self.profile.on_batch(progress.batchId, progress.durationMs)
            # Found out now, not when an epoch has been run in vain; a store that is away just now
            # is asked again when it matters.
            with suppress(StoreError):
                self.committer.check_lease()
            waiting = not query.status["isTriggerActive"]  # a question to the JVM
            for listener in self.listeners:
                listener.on_tick(waiting)
            if self.stop.at_once:
                self.log("stopping at once: the epoch in progress will be run again")
                break
            if self.stop.requested and not stopping:
                stopping = True
                for listener in self.listeners:
                    listener.stopping()
                self.log("stopping behind the epoch in progress (a second signal stops at once)")
                Path(self.job.stop_mark).touch()
            elif stopping and waiting:
                break  # whatever trigger comes now finds nothing planned

    def _start(self, spark: SparkSession, interval_s: float) -> StreamingQuery:
        job, text = self.job, self.job.encode()
        spark.dataSource.register(TidegateSource)
        rows: DataFrame = spark.readStream.format(FORMAT).option("job", text).load()
        for depth in range(1, job.plan.depth + 1):
            rows = rows.groupBy("route").transformWithState(
                StageProcessor(text, depth), SPARK_SCHEMA, "append", "None"
            )

        def commit_epoch(batch: DataFrame, batch_id: int) -> None:
            try:
                with refusals_told():
                    self._commit(batch, batch_id + 1, text)
            except TidegateError as error:
                self._error = error
                raise

        stream = rows.writeStream.foreachBatch(commit_epoch)
        stream = stream.option("checkpointLocation", Checkpoint(job.checkpoint).spark)
        stream = stream.queryName(job.plan.job.name)
        if job.available_now or all_bounded(job.plan):
            stream = stream.trigger(availableNow=True)
        else:
            stream = stream.trigger(processingTime=f"{max(interval_s, 0.01)} seconds")
        return stream.start()

    def _commit(self, batch: DataFrame, epoch: int, job_text: str) -> None:
        clock = SystemClock()
        began_s = clock.monotonic_s()
        task = writer(job_text, epoch, self.committer.begin(epoch))
        results = batch.mapInArrow(task, WRITER_SCHEMA).collect()
        ran_s = clock.monotonic_s()
        entry = self.committer.commit([unpacked(bytes(row.report)) for row in results])
        self.profile.add(DRIVER, RUN, ran_s - began_s)
        self.profile.add(DRIVER, COMMIT, clock.monotonic_s() - ran_s)
        self.last = entry
        for listener in self.listeners:
            listener.on_epoch(entry)

    def _explained(self, error: Exception) -> TidegateError:
        """The error behind Spark's: the driver's own, else what its text says."""
        if self._error is not None:
            return self._error
        store = Checkpoint(self.job.checkpoint).store
        log = store.where(SPARK_LOG) if store.is_local and store.exists(SPARK_LOG) else ""
        places = [tempfile.gettempdir(), *([store.uri] if store.is_local else [])]
        return explained(str(error), log, places)


class ExecutorCount(Listener):
    """Asks Spark how many executors there are; it counts its driver, which runs tasks where there
    are no others."""

    def __init__(self, spark: SparkSession, set_count: Callable[[int], None]) -> None:
        self._context: Any = spark.sparkContext
        self._set_count = set_count

    def on_tick(self, waiting: bool = False) -> None:
        del waiting
        known: int = self._context._jsc.sc().getExecutorMemoryStatus().size()
        master = self._context.master
        local = master == "local" or master.startswith("local[")
        self._set_count(known if local else known - 1)
