"""The Python front door (design §4): a PySpark user's session, and SQL on it.

    spark = SparkSession.builder.config(map=tidegate.builder_settings()).getOrCreate()
    session = tidegate.Session(spark, checkpoint="out/checkpoints")
    session.sql("CREATE TABLE orders (…) WITH (…)")
    job = session.sql("CREATE SINK revenue AS SELECT … EMIT ON WINDOW CLOSE WITH (…)")
    job.await_termination()

A call takes what a file takes (`frontend.compile_call`). Declarations stay in the session; all that
runs of one call is one job, one Spark query, in a thread of its own; jobs of a session run beside
each other on its one Spark.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from tidegate.clock import SystemClock
from tidegate.connectors.registry import connector_of
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.directories import directory_of
from tidegate.epochs.entry import Entry
from tidegate.epochs.listener import Listener
from tidegate.errors import OptionsError, RunError, TidegateError
from tidegate.frontend import Catalog, compile_call
from tidegate.frontend.statements.answers import Answer
from tidegate.plan.fragments import Plan, cut
from tidegate.plan.nodes import Job as JobPlan
from tidegate.policy import policy
from tidegate.reports.ledger import read_ledger
from tidegate.reports.progress import Progress
from tidegate.reports.status import read_status
from tidegate.reports.watermarks import read_watermarks
from tidegate.reports.why import reason_of, reasons
from tidegate.settings import resolve
from tidegate.spark.driver import Driver
from tidegate.spark.launch.given import Given, Spark, builder_settings
from tidegate.spark.run_options import RunOptions
from tidegate.spark.stop import Stop

__all__ = ["Answers", "Job", "Session", "builder_settings"]

Log = Callable[[str], None]

_LEAVE_S: Final = 10.0
"""How long the end of a program waits for that of epochs, and then of jobs."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a call's EXPLAIN, SHOW and DESCRIBE say, in their order; nothing where it has none.

    ``notes`` tell of the plans that it wrote (COMPILE PLAN).
    """

    each: tuple[Answer, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([*(answer.text() for answer in self.each), *self.notes])

    def __repr__(self) -> str:
        return str(self)

    @property
    def documents(self) -> list[dict[str, Any]]:
        """For programs, as ``tidegate run --json`` prints them."""
        return [answer.document() for answer in self.each]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of all of them, fit for ``spark.createDataFrame``; a plan has one a line."""
        return [
            row if isinstance(row, dict) else {name: row}
            for document in self.documents
            for name, content in document.items()
            if isinstance(content, list)
            for row in content
        ]


class _Heard(Listener):
    """What is known of a run: that its query runs, or has ended, and its newest epoch."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.last: Entry | None = None

    def started(self) -> None:
        self.begun.set()

    def on_epoch(self, entry: Entry) -> None:
        self.last = entry


class Job:
    """A job that a call has started: what runs of its statements, as one Spark query.

    ``name`` is that of the query, ``checkpoint`` where it keeps what it knows, by which the command
    line can be asked as well; ``answers`` are the call's.
    """

    def __init__(
        self, plan: Plan, options: RunOptions, spark: Spark, log: Log, answers: Answers
    ) -> None:
        assert options.checkpoint is not None
        self.name: Final = plan.job.name
        self.checkpoint: Final = options.checkpoint
        self.answers: Final = answers
        self._plan = plan
        self._options = options
        self._given = Given(spark)
        self._log = log
        self._stop = Stop()
        self._progress = Progress(plan, SystemClock())
        self._heard = _Heard()
        self._error: TidegateError | None = None
        self._thread = threading.Thread(target=self._run, name=f"tidegate {self.name}", daemon=True)

    def __repr__(self) -> str:
        state = "running" if self.is_active else "failed" if self._error else "ended"
        return f"<Job {self.name}: {state}, checkpoint {self.checkpoint}>"

    @property
    def is_active(self) -> bool:
        """Whether it runs."""
        return self._thread.is_alive()

    @property
    def last_progress(self) -> dict[str, Any] | None:
        """The newest epoch of this run: its number, watermark, lag and account; None before it."""
        entry = self._heard.last
        return None if entry is None else self._progress.document(entry)

    def exception(self) -> TidegateError | None:
        """What it failed by, if it did."""
        return None if self.is_active else self._error

    def await_termination(self, timeout_s: float | None = None) -> bool:
        """Waits for its end; whether it has ended. Raises what it failed by.

        A job whose tables are all bounded ends by itself, and one that was started with
        ``available_now``.
        """
        self._thread.join(timeout_s)
        if self.is_active:
            return False
        if self._error is not None:
            raise self._error
        return True

    def stop(self, *, at_once: bool = False, timeout_s: float | None = None) -> bool:
        """Ends it behind the epoch in progress, and waits for that; whether it has ended.

        ``at_once``: without that epoch, which the next run reads again. The same SQL with the same
        checkpoint goes on from where it stopped.
        """
        while not (self._stop.at_once if at_once else self._stop.requested):
            self._stop.request()
        if self.is_active:
            self._thread.join(timeout_s)
        return not self.is_active

    def status(self) -> dict[str, Any]:
        """How it stands: the document of ``tidegate status``."""
        return read_status(Checkpoint(self.checkpoint), SystemClock())

    def watermarks(self) -> dict[str, Any]:
        """How far every split is: the document of ``tidegate watermarks``."""
        return read_watermarks(Checkpoint(self.checkpoint))

    def ledger(self) -> dict[str, Any]:
        """Its late and quarantined rows, and its account: the document of ``tidegate ledger``."""
        return read_ledger(Checkpoint(self.checkpoint))

    def why(self, split: str | None = None, offset: int | None = None) -> list[str]:
        """In sentences: what holds it back; or why a row is in the ledger, for each time it is."""
        if split is None or offset is None:
            return list(reasons(self.status()))
        rows = self.ledger()["rows"]
        return [reason_of(row) for row in rows if (row["split"], row["offset"]) == (split, offset)]

    def start(self) -> None:
        """Starts it; back when its query runs, or it has ended. Raises what it failed by by then.

        `Session.sql` has done so.
        """
        self._thread.start()
        self._heard.begun.wait()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        surroundings = (SystemClock(), self._log, (self._heard,), self._stop, self._given)
        try:
            self._heard.last = Driver(self._plan, self._options, *surroundings).run()
        except TidegateError as error:
            self._error = error
        except BaseException as error:  # whoever waits is told, and not this thread's stderr
            self._error = RunError(f"internal error: {type(error).__name__}: {error}")
            self._error.__cause__ = error
        finally:
            self._heard.begun.set()


class Session:
    """SQL on a PySpark user's ``spark``, which stays the user's: it is not stopped with this.

    ``checkpoint`` is a directory or URI below which each job has its own, called after the job;
    without it they are temporary, and a job begins anew with each call; so are those of jobs that
    only print and were given no name. Temporary ones go when the session is closed. ``settings``
    are those of ``--set``: they win over SET. ``log`` takes what the command line says on stderr;
    by itself the logger ``tidegate``. Calls may come from any thread; one starts after the other.

    Raises OptionsError for a Spark that no job can run on: it says what to write in the builder.
    """

    def __init__(
        self,
        spark: Spark,
        checkpoint: str | os.PathLike[str] | None = None,
        settings: Mapping[str, object] | None = None,
        *,
        log: Log | None = None,
    ) -> None:
        Given(spark).check()
        self.spark: Final = spark
        self._checkpoint = None if checkpoint is None else os.fspath(checkpoint)
        if self._checkpoint is not None and not self._checkpoint.strip():
            raise OptionsError(
                "the session's checkpoint is an empty text",
                hint="name a directory or a URI; leave it out for temporary ones",
            )
        if self._checkpoint is not None:
            policy().check_path(f"the session's checkpoint {self._checkpoint}", self._checkpoint)
        self._settings = {name: _text(value) for name, value in (settings or {}).items()}
        self._log = log or logging.getLogger("tidegate").info
        self._catalog = Catalog()
        self._calls = 0
        self._jobs: list[Job] = []
        self._temporary: list[str] = []
        self._calling = threading.RLock()
        self._closed = False
        atexit.register(self._leave)

    @property
    def jobs(self) -> list[Job]:
        """The jobs that were started, in their order."""
        return list(self._jobs)

    def sql(
        self,
        text: str,
        *,
        name: str | None = None,
        available_now: bool = False,
        takeover: bool = False,
    ) -> Job | Answers:
        """What ``text`` says, as a file would. A `Job` if something of it runs, else `Answers`.

        ``name`` is the job's, and its checkpoint's; by itself ``pipeline.name``, else the names of
        its sinks. ``available_now`` and ``takeover`` are as on the command line. Raises SqlError,
        whose place is in ``sql-N`` for the N-th call, and what keeps a job from starting; then the
        session is as it was.
        """
        with self._calling:
            self._check_open()
            self._calls += 1
            called = f"sql-{self._calls}"
            compiled, known = compile_call(text, called, self._catalog, self._settings)
            answers = Answers(compiled.descriptions, tuple(plan.write() for plan in compiled.plans))
            if not compiled.job.sinks:
                self._catalog = known
                return answers
            run = {"available_now": available_now, "takeover": takeover}
            job = self._job(compiled.job, name, answers, **run)
            self._start(job)
            self._catalog = known
            return job

    def close(self) -> None:
        """Stops all jobs behind their epochs in progress. Spark goes on.

        Temporary checkpoints are removed. No call is taken any more.
        """
        self._closed = True
        jobs = self.jobs
        for job in jobs:
            job.stop(timeout_s=0)
        for job in jobs:
            job.stop()
        self._remove_temporary()
        atexit.unregister(self._leave)

    def _leave(self) -> None:
        """The program ends: Spark would end in the middle of an epoch, with long traces."""
        self._closed = True
        clock = SystemClock()
        for at_once in (False, True):
            active = [job for job in self.jobs if job.is_active]
            for job in active:
                job.stop(at_once=at_once, timeout_s=0)
            end_s = clock.monotonic_s() + _LEAVE_S
            for job in active:
                job.stop(timeout_s=max(0.0, end_s - clock.monotonic_s()))
        self._remove_temporary()

    def _start(self, job: Job) -> None:
        """Starts it. It is known before, so that whatever ends this call leaves none behind."""
        self._jobs.append(job)
        try:
            self._check_open()  # `close`, in another thread, has seen this job, or is seen here
            job.start()
        except BaseException:
            try:
                job.stop(at_once=True, timeout_s=_LEAVE_S)
            finally:
                if not job.is_active:  # else `close` waits for it
                    self._jobs.remove(job)
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise OptionsError("this session has been closed", hint="make another one")

    def _remove_temporary(self) -> None:
        """Removes what no job works in."""
        used = {job.checkpoint for job in self.jobs if job.is_active}
        for path in set(self._temporary) - used:
            shutil.rmtree(path, ignore_errors=True)
            self._temporary.remove(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _job(self, job: JobPlan, name: str | None, answers: Answers, **run: bool) -> Job:
        job = replace(job, name=_name_of(job) if name is None else name)
        settings, spark = resolve(dict(job.settings), os.environ)
        directory = directory_of(job.name)
        if self._checkpoint is None or (name is None and _only_prints(job)):
            checkpoint = tempfile.mkdtemp(prefix=f"tidegate-{directory}-")
            self._temporary.append(checkpoint)
            self._log(f"checkpoint of {job.name}: {checkpoint} (temporary)")
        else:
            checkpoint = f"{self._checkpoint.rstrip('/')}/{directory}"
        if any(each.is_active and each.checkpoint == checkpoint for each in self._jobs):
            raise OptionsError(
                f"job '{job.name}' is running in this session",
                hint="stop it first, or give this one another name: sql(…, name='…')",
            )
        master = Given(self.spark).master
        options = RunOptions.of(settings, spark, checkpoint=checkpoint, master=master, **run)
        plan = cut(job, settings.vnodes, settings.pushdown)
        return Job(plan, options, self.spark, self._log, answers)


def _name_of(job: JobPlan) -> str:
    named = dict(job.settings).get("pipeline.name")
    return named or "-".join(sink.table.name for sink in job.sinks)


def _only_prints(job: JobPlan) -> bool:
    return all(connector_of(sink.table).is_shown for sink in job.sinks)


def _text(value: object) -> str:
    """As it is written after SET: Python's True is true."""
    return str(value).lower() if isinstance(value, bool) else str(value)
