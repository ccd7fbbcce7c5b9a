"""The driver of a job: from a plan and a checkpoint to an exit.

It opens the job (see `epochs.opening`), starts Spark and runs the query; metrics, probes and what
looks after Kubernetes' pods listen.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from tidegate.clock import Clock
from tidegate.connectors.secrets import hidden, without_secrets
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.commit import is_finished
from tidegate.epochs.entry import Entry
from tidegate.epochs.lease import EXPIRY_S, RENEWAL_S
from tidegate.epochs.listener import Listener, Log
from tidegate.epochs.losses import Losses
from tidegate.epochs.opening import OpenJob
from tidegate.epochs.temporary import checkpoint_at
from tidegate.errors import RunError
from tidegate.plan.fragments import Plan
from tidegate.refusals import refusals_told
from tidegate.reports.metrics.exporter import exporting
from tidegate.reports.metrics.health import Health
from tidegate.reports.metrics.job_metrics import JobMetrics
from tidegate.reports.metrics.metrics_file import MetricsFile
from tidegate.reports.metrics.profile import Profile
from tidegate.reports.warnings import warnings_of
from tidegate.spark.kubernetes.reaper import reaper_in
from tidegate.spark.kubernetes.settings import is_kubernetes
from tidegate.spark.launch.gateway import overruled
from tidegate.spark.launch.given import Given
from tidegate.spark.launch.own_spark import spark_for
from tidegate.spark.run_options import RunOptions
from tidegate.spark.runtime import ExecutorCount, Query, all_bounded
from tidegate.spark.stop import Stop


@dataclass(slots=True)
class Driver:
    """One run of ``plan``, on a Spark of its own, which ends with it, unless one is ``given``."""

    plan: Plan
    options: RunOptions
    clock: Clock
    log: Log
    listeners: tuple[Listener, ...] = ()
    stop: Stop = field(default_factory=Stop)
    given: Given | None = None
    _is_up: bool = False

    def __post_init__(self) -> None:
        log = self.log
        self.log = lambda line: log(hidden(line))

    def run(self) -> Entry:
        """Runs until it ends, or a stop is requested; gives the last epoch's entry."""
        at = checkpoint_at(self.options.checkpoint, self.plan, self.log)
        with without_secrets(), at as place, refusals_told():
            return self._run_in(place)

    def _run_in(self, place: Checkpoint) -> Entry:
        # A pod in place of one on a dead node is started before that one's lease is over.
        patience_s = EXPIRY_S + RENEWAL_S if is_kubernetes(self.options.master) else 0.0
        around = (self.clock, self.log, patience_s)
        with (
            OpenJob(self.plan, place, self.options, *around) as job,
            tempfile.TemporaryDirectory(prefix="tidegate-run-") as scratch,
        ):
            if job.is_finished:
                job.say_finished()
                return job.last
            last = self._run(job, Path(scratch))
            for warning in warnings_of(place, job.manifest, last):
                self.log(f"warning: {warning}")
        ended = not all_bounded(self.plan) or is_finished(self.plan, last)
        if not (ended or self.stop.requested):
            raise RunError(
                "the job ended before all of its tables were read to their ends",
                hint="run it again: it goes on from the checkpoint",
            )
        return last

    def _run(self, job: OpenJob, scratch: Path) -> Entry:
        self._say_overruled(job.parallelism)
        wire = job.begin(scratch / "stop")
        health, profile = Health(self.clock), Profile()
        metrics = JobMetrics(self.plan, profile, self.clock, job.last, job.manifest)
        file = MetricsFile(metrics, job.checkpoint.store, self.clock)
        listeners = [health, profile, metrics, file, Losses(job.last, self.log), *self.listeners]
        address = self.options.metrics
        with exporting(address, metrics, health) as port:
            if address is not None:
                self.log(f"metrics: http://{address.host or '0.0.0.0'}:{port}/metrics")
            with self._stopped_early(), self._spark(job, scratch) as spark:
                self._is_up = True
                if self.stop.requested:
                    return job.last
                self.stop.reinstall()  # PySpark has taken SIGINT
                tasks, master = job.parallelism, self.options.master
                self.log(f"Spark {spark.version} is up: {master}, {tasks} parallel tasks")
                if address is not None:
                    listeners.append(ExecutorCount(spark, metrics.set_executors))
                if self.given is None and is_kubernetes(master):
                    pod = os.environ["POD_NAMESPACE"], os.environ["POD_NAME"]
                    application = spark.sparkContext.applicationId
                    listeners.append(reaper_in(*pod, application, self.clock, self.log))
                query = Query(
                    wire, job.committer, job.last, listeners, profile, self.stop, self.log
                )
                last = query.run(spark, self.options.interval_s)
                job.committer.tidy()
                return last
        return job.last

    @contextmanager
    def _stopped_early(self) -> Iterator[None]:
        """A signal to the whole process group ends the JVM too, which may be starting just now:
        that is a stop, and no error."""
        try:
            yield
        except (Py4JError, OSError, RunError):
            if self._is_up or not self.stop.requested:
                raise
            self.log("stopped before Spark was up")

    def _spark(self, job: OpenJob, scratch: Path) -> AbstractContextManager[SparkSession]:
        tasks = job.parallelism
        if self.given is not None:
            own = dict(self.options.spark)
            return nullcontext(self.given.session(tasks, job.checkpoint.store, own))
        name = self.plan.job.name
        return spark_for(name, self.options, job.checkpoint, tasks, scratch, self.log)

    def _say_overruled(self, parallelism: int) -> None:
        """What was asked for and is not done. ``parallelism`` is the checkpoint's."""
        if parallelism != self.options.parallelism:
            self.log(
                f"running {parallelism} parallel tasks, as the checkpoint has it, though"
                f" tidegate.parallelism is {self.options.parallelism} (tidegate rescale changes it)"
            )
        master = self.options.master if self.given is None else None
        for line in overruled(self.options.spark, parallelism, master):
            self.log(line)
