"""Drivers that overlap, and sessions that are cut off at any moment, under a seed."""

from __future__ import annotations

import itertools
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from postgres.kit import Sink
from postgres.server import Server
from tidegate.connectors.postgres.client import USUAL
from tidegate.errors import LeaseHeldError
from tidegate.ports import Progress, StagedFile
from tidegate.types import Op

_EPOCHS = 25
_KEYS = 7


@dataclass
class Log:
    """What drivers share: the lease's terms, and the entries of epochs, each written once."""

    sink: Sink
    terms: Any = field(default_factory=lambda: itertools.count(1))
    held: int = 0
    entries: list[tuple[list[StagedFile], bytes]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def lease(self) -> int:
        with self.lock:
            self.held = next(self.terms)
            return self.held

    def check(self, term: int) -> None:
        if self.held > term:
            raise LeaseHeldError("gone")

    def entry(self, epoch: int) -> list[StagedFile]:
        """The files of an epoch: those of whoever was first, there as long as they are needed."""
        with self.lock:
            if len(self.entries) < epoch:
                files = self.sink.staged(epoch, *self.rows(epoch), ops=self.ops(epoch))
                self.entries.append((files, Path(files[0].path).read_bytes()))
        files, content = self.entries[epoch - 1]
        # Another driver may be reading it: whole or not there, never half of it.
        mine = Path(f"{files[0].path}.{uuid4()}")
        mine.write_bytes(content)
        mine.replace(files[0].path)
        return files

    def progress(self) -> Progress:
        """All entered epochs; the newest alone may not be published."""
        last = len(self.entries)
        return Progress(last, last, {"0": last - 1})

    @property
    def changing(self) -> bool:
        return "key.fields" in dict(self.sink.table.options)

    def rows(self, epoch: int) -> list[tuple[str, str]]:
        """With a key: one comes or changes, and every third time one goes."""
        rows = [(str(epoch % _KEYS), str(epoch))]
        return rows if epoch % 3 or not self.changing else [*rows, (str((epoch + 3) % _KEYS), "0")]

    def ops(self, epoch: int) -> list[Op]:
        return [Op.INSERT, Op.DELETE][: len(self.rows(epoch))] if self.changing else []

    def right(self) -> list[tuple[int, int]]:
        if not self.changing:
            return sorted((epoch % _KEYS, epoch) for epoch in range(1, _EPOCHS + 1))
        now: dict[int, int] = {}
        for epoch in range(1, _EPOCHS + 1):
            now[epoch % _KEYS] = epoch
            if len(self.rows(epoch)) > 1:
                now.pop((epoch + 3) % _KEYS, None)
        return sorted(now.items())


def drive(log: Log, seed: int) -> tuple[int, bool]:
    """A driver's life: it takes the lease, publishes the last entry again, and goes on.

    Gives its term, and whether it came to the end.
    """
    chance, pause = random.Random(seed), Event()
    term = log.lease()
    try:
        committer = log.sink.committer(term, log.progress)
        last = len(log.entries)
        for epoch in range(max(1, last), _EPOCHS + 1):
            log.check(term)
            pause.wait(chance.random() * 0.05)  # it may have lost it by now
            committer.publish(epoch, log.entry(epoch))
    except LeaseHeldError:
        return term, False
    return term, True


@pytest.mark.parametrize("key", [None, ("k",)], ids=["append", "upsert"])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_epoch_is_there_once(
    server: Server,
    tmp_path: Path,
    key: tuple[str, ...] | None,
    seed: int,
) -> None:
    sink = Sink(server, tmp_path, ("k", "BIGINT"), ("n", "BIGINT"), key=key)
    sink.patience = replace(USUAL, lock_s=1)
    log, chance, done = Log(sink), random.Random(seed), Event()
    sink.committer(log.lease(), Progress(0, 0))

    def nemesis() -> None:
        name = f"tidegate-{sink.remembered['identity']}"
        cut = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE application_name = '{name}'"
        )
        with server.connect() as connection:
            while not done.wait(chance.random() * 0.2):
                connection.execute(cut.encode())

    with ThreadPoolExecutor(8) as pool:
        breaking = pool.submit(nemesis)
        running = []
        try:
            for number in range(12):
                running.append(pool.submit(drive, log, seed * 100 + number))
                Event().wait(chance.random() * 0.4)
            ended = [each.result(120) for each in running]
        finally:
            done.set()
        breaking.result(10)
    assert max(ended)[1], "nobody took the lease from the last one"
    assert sink.rows("1, 2") == log.right()


def test_the_nemesis_is_one(server: Server) -> None:
    """What it does ends a session."""
    with server.connect(application_name="victim") as victim:
        server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'victim'"
        )
        with pytest.raises(psycopg.OperationalError):
            victim.execute("SELECT 1")
