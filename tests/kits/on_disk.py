"""A small job without Spark whose checkpoint and output are files, as those of a job on Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pytest

from kits.executor import ENGINE
from kits.spark import add_rows, plan_in
from tidegate.clock import ManualClock
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.job import WireJob
from tidegate.epochs.ledger import ledger_files, read_parquet
from tidegate.epochs.opening import connector_committer
from tidegate.epochs.worker import staging_writer
from tidegate.failpoints import watched
from tidegate.plan.fragments import Plan
from tidegate.plan.tables import Table
from tidegate.ports import SinkCommitter, SinkWriter
from tidegate.simulator.local import ONCE, Local
from tidegate.simulator.outputs import Outputs
from tidegate.simulator.states import States

METADATA: Final = b'{"id":"94298251-ed85-4870-8d06-195b057f9437"}'


class Files(Outputs):
    """What a job writes, by its connectors."""

    def __init__(self, plan: Plan, checkpoint: Checkpoint) -> None:
        super().__init__()
        self._plan = plan
        self._checkpoint = checkpoint

    @cached_property
    def _job(self) -> WireJob:
        sinks = self._checkpoint.read_job().sinks.items()
        remembered = tuple((target, tuple(sorted(kept.items()))) for target, kept in sinks)
        return WireJob(self._plan, self._checkpoint.uri, None, 1, True, remembered=remembered)

    def writer(self, target: int, epoch: int, writer: str, known: int = 0) -> SinkWriter:
        return staging_writer(self._job, target, epoch, writer, known)

    def committer(self, target: int, table: Table, staging: str) -> SinkCommitter:
        return connector_committer(target, table, staging)


class OnDisk:
    """A job that counts rows by window, in epochs of three rows, with rows that are late,
    malformed and filtered. What it was told, ``lines``, is of its last run.

    ``place``: where its checkpoint is, if not in ``directory``."""

    def __init__(self, directory: Path, place: str = "") -> None:
        self.directory = directory
        add_rows(directory, "a", "0.json", (1, 1), (2, 12), (0, 13), (3, 3), (4, 25), "bad")
        add_rows(directory, "b", "0.json", (5, 2), (6, 14), (7, 15), (8, 1), (9, 31))
        self.plan = plan_in(directory)
        self.checkpoint = Checkpoint(place or str(directory / "checkpoint"))
        self.states = States()
        self.lines: list[str] = []
        for folder in ("offsets", "commits"):
            self.checkpoint.store.below(f"spark/{folder}").prepare()
        self.checkpoint.store.write("spark/metadata", METADATA)

    def run(self) -> None:
        """To its end, or on to it."""
        self.lines = []
        local = Local(
            self.plan,
            options=replace(ONCE, rows_max=3),
            clock=ManualClock(7_000_000),
            engine=ENGINE,
            log=self.lines.append,
        )
        local.store, local.states = self.checkpoint.store, self.states
        local.outputs = Files(self.plan, self.checkpoint)
        local.run()

    def die(self, point: str, epoch: int) -> None:
        """Runs up to a point of an epoch (see `tidegate.failpoints`)."""

        def dies(name: str, at: int) -> None:
            if (name, at) == (point, epoch):
                raise RuntimeError(point)

        with watched(dies), pytest.raises(RuntimeError, match=point):
            self.run()

    def path(self, name: str) -> Path:
        """A file of the checkpoint."""
        return self.directory / "checkpoint" / name

    def results(self) -> Any:
        """All that it has given, and what its last entry knows. Epochs may be planned otherwise."""
        files = (self.directory / "out").glob("part-*")
        output = sorted(line for path in files for line in path.read_text().splitlines())
        names = ledger_files(self.checkpoint, 0, 2**62)
        tables = [read_parquet(self.checkpoint, name).to_pylist() for name in names]
        ledger = sorted((row for rows in tables for row in rows), key=str)
        last = self.checkpoint.entry(self.checkpoint.last_epoch())
        assert last is not None
        states = last.filters.states["orders.t"].items()
        watermarks = {split: (each.watermark, each.event_time_max) for split, each in states}
        known = watermarks, last.splits.next_offsets, last.splits.statuses
        counts = last.accounts.counts, last.accounts.ledger_rows
        return output, ledger, known, counts

    def files(self) -> dict[Path, bytes]:
        """All that it and its job have on the disk."""
        found = (path for path in self.directory.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in found}


def restorer(job: OnDisk) -> Callable[[], None]:
    """What makes ``job`` be again as it is now."""
    files, saved = job.files(), dict(job.states._saved)

    def restore() -> None:
        now = {path for path in job.directory.rglob("*") if path.is_file()}
        for path in now - files.keys():
            path.unlink()
        for path, data in files.items():
            if path not in now or path.read_bytes() != data:
                path.write_bytes(data)
        job.states = States()
        job.states._saved = dict(saved)

    return restore
