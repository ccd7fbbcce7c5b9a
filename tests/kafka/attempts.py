"""Attempts of a sink's writers, in processes of their own, that stop or die where a test says.

A `Driver` is what a driver knows of one sink: it fences the sink's writers on start, and keeps the
epoch log. An `Attempt` is a task of an epoch. `here` runs one in this process, whose producers are
kept from epoch to epoch, as a worker's are; `Attempts` starts others, forked from a process that
has all imported, as Spark's workers are.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch

import pyarrow as pa

from kafka.kit import Kit
from spark.processes import wait_until
from tidegate.clock import ManualClock
from tidegate.connectors.kafka import sink, transactions
from tidegate.connectors.kafka.options import KafkaSinkOptions
from tidegate.connectors.kafka.patience import USUAL, KafkaPatience
from tidegate.connectors.kafka.sink import KafkaCommitter, KafkaWriter
from tidegate.connectors.kafka.transactions import transactional_id
from tidegate.connectors.option_types import parsed
from tidegate.errors import TidegateError
from tidegate.plan.tables import Table
from tidegate.ports import Progress, Stage, StagedFile


@dataclass(frozen=True)
class Attempt:
    """What a task gets; ``ids`` are its rows."""

    table: Table
    epoch: int
    ids: tuple[int, ...]
    remembered: dict[str, str]
    writer: str = "0"
    known: int = 0
    patience: KafkaPatience = USUAL

    def run(self) -> list[StagedFile]:
        remembered = tuple(self.remembered.items())
        stage = Stage("", self.epoch, self.writer, remembered, self.known)
        writer = KafkaWriter(self.table, stage, self.patience)
        writer.write(pa.table({"id": pa.array(self.ids, pa.int64())}))
        return writer.close()


@dataclass
class Driver:
    """A driver, of the checkpoint whose log it is given."""

    table: Table
    writers: int = 1
    kept: dict[str, str] | None = None
    log: dict[str, Any] = field(default_factory=lambda: {"entered": 0, "planned": 0, "written": {}})

    clock: ManualClock = field(default_factory=ManualClock)
    patience: KafkaPatience = USUAL

    def __post_init__(self) -> None:
        patience = self.patience
        self.committer = KafkaCommitter(self.table, "", clock=self.clock, patience=patience)
        remembered = self.committer.prepare(self.kept is None)
        self.kept = self.kept or remembered
        self.committer.bind(self.kept)

    def start(self) -> Self:
        """Takes the sink over."""
        self.remembered = self.committer.fence(self.writers, self.progress)
        return self

    def successor(self) -> Driver:
        """Another driver of the same checkpoint."""
        return replace(self, clock=ManualClock())

    def progress(self) -> Progress:
        return Progress(self.log["entered"], self.log["planned"], dict(self.log["written"]))

    def attempt(self, *ids: int, writer: str = "0") -> Attempt:
        """Of the epoch behind the last one of the log, which is planned now."""
        epoch = self.log["planned"] = self.log["entered"] + 1
        known = self.log["written"].get(writer, 0)
        return Attempt(self.table, epoch, ids, self.remembered, writer, known, self.patience)

    def enter(self, *staged: StagedFile) -> None:
        """The entry of the epoch that is planned."""
        self.log["entered"] = self.log["planned"]
        self.log["written"] |= {file.writer: self.log["entered"] for file in staged}

    def epoch(self, *ids: int, writer: str = "0") -> None:
        """A whole epoch, in this process."""
        self.committer.renew(self.log["entered"])
        staged = self.attempt(*ids, writer=writer).run()
        self.enter(*staged)
        self.committer.publish(self.log["entered"], staged)

    def id(self, writer: str = "0") -> str:
        """The transactional id of a writer, which is the name of its marker's group too."""
        assert self.kept is not None
        options = parsed(KafkaSinkOptions, self.table.options)
        return transactional_id(options, self.table.name, self.kept["identity"], writer)


def forget_producers() -> None:
    """As in a process that has just begun."""
    transactions._CACHE.clear()
    sink._PLAIN.clear()


class Running:
    """An attempt in a process of its own."""

    def __init__(self, context: Any, attempt: Attempt, failpoints: str) -> None:
        self._answer, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_serve, args=(attempt, failpoints, theirs))
        self._process.start()
        theirs.close()
        self._told = ""

    @property
    def pid(self) -> int:
        pid = self._process.pid
        assert isinstance(pid, int)
        return pid

    def wait_for_stop(self) -> None:
        """Until it stands at its failpoint."""
        wait_until(lambda: _state(self.pid) in "TZX", f"process {self.pid} stops")
        assert _state(self.pid) == "T", self.result()

    def ends(self, within_s: float) -> bool:
        """Whether it ends, or stops, in so many seconds."""
        with suppress(AssertionError):
            wait_until(lambda: _state(self.pid) in "TZX", "it ends", within_s)
            return True
        return False

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def result(self) -> str:
        """``done``, the error, or ``killed``."""
        if not self._told:
            self._process.join(100)
            assert self._process.exitcode is not None, "the attempt hangs"
            self._told = f"exit code {self._process.exitcode}"
            if self._process.exitcode == -signal.SIGKILL:
                self._told = "killed"
            elif self._answer.poll():
                self._told = str(self._answer.recv())
        return self._told

    def clean_up(self) -> None:
        if self._process.is_alive():
            self._process.kill()
        self._process.join(10)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def _serve(attempt: Attempt, failpoints: str, answer: Connection) -> None:
    os.environ["TIDEGATE_FAILPOINTS"] = failpoints
    try:
        attempt.run()
        answer.send("done")
    except TidegateError as error:
        answer.send(f"{type(error).__name__}: {error}")


class Attempts:
    """Starts attempts, and leaves none behind."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["kafka.attempts"])
        # It looks for that where the environment says, not where this process does (gh-126631):
        # what it does not find, each attempt would import anew, for more than a second.
        with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
            forkserver.ensure_running()
        self._started: list[Running] = []

    def start(self, attempt: Attempt, failpoints: str = "") -> Running:
        running = Running(self._context, attempt, failpoints)
        self._started.append(running)
        return running

    def run(self, attempt: Attempt, failpoints: str = "") -> str:
        return self.start(attempt, failpoints).result()

    def stopped(self, attempt: Attempt, at: str) -> Running:
        """Started, and standing at a failpoint."""
        running = self.start(attempt, f"{at}:{attempt.epoch}:stop")
        running.wait_for_stop()
        return running

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for running in self._started:
            running.clean_up()


def begun(kafka: Kit, name: str, copies: int = 1, **options: Any) -> Driver:
    """A driver that has an epoch behind it."""
    topic = kafka.topic(name, partitions=2, copies=copies)
    driver = Driver(kafka.sink(topic, ("id", "BIGINT"), **options)).start()
    driver.epoch(1)
    return driver


def found(kafka: Kit, driver: Driver) -> list[int]:
    return ids_of(kafka.values(driver.table.option("topic")))


def write_while(driver: Driver, disturb: Callable[[], None], first: int) -> list[int]:
    """Writes epoch after epoch until ``disturb`` has ended, and some before and behind."""
    random = Random(first)
    written: list[int] = []

    def epochs(count: int) -> None:
        for _ in range(count):
            start = first + len(written)
            ids = range(start, start + random.randint(1, 50))
            driver.epoch(*ids)
            written.extend(ids)
            if random.random() < 0.2:
                forget_producers()

    epochs(10)
    with ThreadPoolExecutor(1) as pool:
        disturbing = pool.submit(disturb)
        while not disturbing.done():
            epochs(1)
        disturbing.result()
    epochs(10)
    return written


def ids_of(values: Iterable[bytes]) -> list[int]:
    """The ids of rows that were written, sorted."""
    return sorted(int(value.split(b":")[1].rstrip(b"}")) for value in values)
