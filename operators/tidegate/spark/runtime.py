"""Runs a job on Spark: one query, from the first offset to the last commit.

source (all tables) ─► group by route ─► stage 1 ─► … ─► stage d ─► writer ─► driver commits
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.clock import SystemClock
from tidegate.connectors.registry import is_bounded
from tidegate.epochs.checkpoint import Checkpoint, Entry
from tidegate.epochs.commit import Committer
from tidegate.epochs.job import WireJob
from tidegate.errors import StoreError, TidegateError
from tidegate.plan.fragments import Plan
from tidegate.reports.metrics.health import Health
from tidegate.reports.metrics.profile import COMMIT, DRIVER, RUN, Profile
from tidegate.spark.errors import explained
from tidegate.spark.exchange.columns import SPARK_SCHEMA
from tidegate.spark.sinks.writer import WRITER_SCHEMA, writer
from tidegate.spark.source.data_source import FORMAT, TidegateSource
from tidegate.spark.stages.processor import StageProcessor
from tidegate.spark.stop import Stop

_POLL_S = 1
"""How often the driver looks for signals, and at its lease, while the query runs."""


@dataclass(slots=True)
class RunState:
    """What the driver's callback and its main thread share."""

    health: Health
    error: TidegateError | None = None
    epochs: int = 0
    last: Entry | None = None
    listeners: list[Callable[[Entry], None]] = field(default_factory=list)
    ticks: list[Callable[[], None]] = field(default_factory=list)  # about once a second
    starts: list[Callable[[], None]] = field(default_factory=list)  # once, when the query runs
    profile: Profile = field(default_factory=Profile)


def all_bounded(plan: Plan) -> bool:
    """Whether the job ends by itself: every table is bounded."""
    return all(is_bounded(table) for table in plan.tables)


def run_query(
    spark: SparkSession,
    job: WireJob,
    committer: Committer,
    state: RunState,
    interval_s: float,
    stop: Stop,
    log: Callable[[str], None],
) -> None:
    """Runs the job's query until it ends or is stopped. Raises a TidegateError when it fails."""
    try:
        query = _start(spark, job, committer, state, interval_s)
    except Py4JJavaError as error:
        raise _explained(error, state) from error
    told = False
    state.health.running()
    for begins in state.starts:
        begins()
    try:
        while not query.awaitTermination(_POLL_S):
            state.health.beat(waiting=not query.status["isTriggerActive"])
            progress = query.lastProgress
            if progress is not None:
                state.profile.on_batch(progress.batchId, progress.durationMs)
            # Found out now, not when an epoch has been run in vain; a store that is away just now
            # is asked again when it matters.
            with suppress(StoreError):
                committer.check_lease()
            for tick in state.ticks:
                tick()
            if stop.at_once:
                log("stopping at once: the epoch in progress will be run again")
                break
            if stop.requested and not told:
                told = True
                state.health.stopping()
                log("stopping behind the epoch in progress (a second signal stops at once)")
                Path(job.stop_mark).touch()
            elif told and not query.status["isTriggerActive"]:
                break  # whatever trigger comes now finds nothing planned
    except StreamingQueryException as error:
        if not stop.at_once:
            raise _explained(error, state) from error
    finally:
        if query.isActive:
            query.stop()


def _start(
    spark: SparkSession, job: WireJob, committer: Committer, state: RunState, interval_s: float
) -> StreamingQuery:
    text, clock = job.encode(), SystemClock()
    spark.dataSource.register(TidegateSource)
    rows: DataFrame = spark.readStream.format(FORMAT).option("job", text).load()
    for depth in range(1, job.plan.depth + 1):
        rows = rows.groupBy("route").transformWithState(
            StageProcessor(text, depth), SPARK_SCHEMA, "append", "None"
        )

    def commit_epoch(batch: DataFrame, batch_id: int) -> None:
        try:
            began_s = clock.monotonic_s()
            written = committer.begin(batch_id + 1)
            task = writer(text, batch_id + 1, written)
            results = batch.mapInArrow(task, WRITER_SCHEMA).collect()
            ran_s = clock.monotonic_s()
            entry = committer.commit((row.kind, bytes(row.body)) for row in results)
            state.profile.add(DRIVER, RUN, ran_s - began_s)
            state.profile.add(DRIVER, COMMIT, clock.monotonic_s() - ran_s)
            state.epochs += 1
            state.last = entry
            state.health.progress()
            for listener in state.listeners:
                listener(entry)
        except TidegateError as error:
            state.error = error
            raise

    stream = rows.writeStream.foreachBatch(commit_epoch)
    stream = stream.option("checkpointLocation", Checkpoint(job.checkpoint).spark)
    stream = stream.queryName(job.plan.job.name)
    if job.available_now or all_bounded(job.plan):
        stream = stream.trigger(availableNow=True)
    else:
        stream = stream.trigger(processingTime=f"{max(interval_s, 0.01)} seconds")
    return stream.start()


def executors_of(spark: SparkSession) -> int:
    """Asks Spark; it counts its driver, which runs tasks where there are no others."""
    context: Any = spark.sparkContext
    known: int = context._jsc.sc().getExecutorMemoryStatus().size()
    local = context.master == "local" or context.master.startswith("local[")
    return known if local else known - 1


def _explained(error: Exception, state: RunState) -> TidegateError:
    """The error behind Spark's: the driver's own, else what its text says."""
    if state.error is not None:
        return state.error
    return explained(str(error))


@contextmanager
def stopped_after(spark: SparkSession) -> Iterator[SparkSession]:
    """Stops Spark behind the block."""
    try:
        yield spark
    finally:
        spark.stop()
