"""What the tests of a rescale share: a stopped job, and what stands for Spark in it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkStageInfo

from kits.entries import an_entry
from kits.spark import a_manifest, new_checkpoint
from tidegate.clock import ManualClock
from tidegate.epochs.offsets import Offset
from tidegate.errors import TidegateError
from tidegate.ports import Position
from tidegate.spark.rescale import rescale
from tidegate.spark.run_options import RunOptions
from tidegate.types import Status

NOW_US = 1_000
KEPT: dict[str, Any] = {"ledger_rows": 2, "counts": {"orders": {"a": {"read": 5}}}}
"""Of the last entry: what goes on."""


def offset_text(epoch: int, time_us: int) -> str:
    """An offset of the job, as Spark keeps it."""
    tables: dict[str, dict[str, tuple[Position, Status]]] = {
        "orders": {"a": (["0.json", 5], Status.ACTIVE)}
    }
    return json.dumps(Offset(epoch, time_us, tables).to_json())


OFFSET = offset_text(1, 900)


class FakeSpark:
    """What of a session is used here: its version, jobs to be cancelled, and how far they are."""

    version = "4.2.0"

    def __init__(self) -> None:
        self.sparkContext = self
        self.cancelled = False
        self.pid = 0
        self.jobs: list[int] = []
        self.tasks = {3: SparkStageInfo(3, 0, "write", 4, 0, 1, 0)}

    def statusTracker(self) -> FakeSpark:  # noqa: N802
        return self

    def getActiveJobsIds(self) -> list[int]:  # noqa: N802
        return self.jobs

    def getActiveStageIds(self) -> list[int]:  # noqa: N802
        return [3, 4]

    def getStageInfo(self, stage: int) -> SparkStageInfo | None:  # noqa: N802
        return self.tasks.get(stage)  # of one that has ended just now, nothing

    def cancelAllJobs(self) -> None:  # noqa: N802
        self.cancelled = True


class World:
    """A stopped job of two parallel tasks and four vnodes, and Spark's part of a rescale."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.checkpoint = new_checkpoint(directory)
        self.checkpoint.write_job(a_manifest("orders"))
        self.moved: list[tuple[str, int]] = []
        self.spark = FakeSpark()
        self.repartition: Callable[[Any, str, int], None] = self.commit

    def write(self, name: str, text: str) -> Path:
        path = Path(self.checkpoint.uri) / "spark" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def add_epoch(self, *, committed: bool = True, partitions: str = "2") -> None:
        settings = {"batchTimestampMs": 7, "conf": {"spark.sql.shuffle.partitions": partitions}}
        self.write("offsets/0", f"v1\n{json.dumps(settings)}\n{OFFSET}")
        staged, phases = {"-3": [["path", 0, 5, 100]]}, {"source": {"read": 1.5}}
        entry = an_entry(1, 900, ended_us=950, staged=staged, phases=phases, **KEPT)
        self.checkpoint.write_entry(entry)
        for stage in range(2):
            self.write(f"state/{stage}/_metadata/v2/0", "v2\n{}")
        if committed:
            self.write("commits/0", "v1\n{}")

    def commit(self, spark: Any, location: str, partitions: int) -> None:
        del spark
        self.moved.append((location, partitions))
        self.write("commits/1", "v1\n{}")

    def rescale(self, parallelism: int, **options: Any) -> list[str]:
        lines: list[str] = []
        wanted = RunOptions(parallelism=parallelism, **options)
        rescale(self.checkpoint, wanted, ManualClock(NOW_US), lines.append)
        return lines

    def refused(self, kind: type[TidegateError], words: str, parallelism: int = 4) -> TidegateError:
        """The same must fail, and leave nothing behind but what was there."""
        before = self.files()
        with pytest.raises(kind, match=words) as caught:
            self.rescale(parallelism)
        assert self.files() == before
        return caught.value

    def files(self) -> dict[str, bytes]:
        """All files of the checkpoint but for those that name processes."""
        root = Path(self.checkpoint.uri)
        found = {str(p.relative_to(root)): p for p in root.rglob("*") if p.is_file()}
        processes = ("lease/", "rescales/mover")
        return {n: p.read_bytes() for n, p in found.items() if not n.startswith(processes)}


@contextmanager
def process() -> Iterator[int]:
    """A process that runs, in the place of Spark's."""
    with subprocess.Popen(["sleep", "600"]) as running:
        try:
            yield running.pid
        finally:
            running.kill()
