"""How much memory and disk an engine may take: a share of what its container, or machine, has.

DuckDB alone would take four fifths of the machine, in each of a host's processes, and knows nothing
of the JVM beside them. What a task has is an equal part of what the JVM's heap leaves; of that half
is the engine's, the rest Arrow's, numpy's and the clients'. What a query holds beyond goes to disk,
where its operators can, and else fails, which costs the row and not the process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

MEMORY_BYTES_MIN: Final = 256 << 20
"""What an engine needs for a chunk, whatever its share is."""
_ENGINES_PER_TASK: Final = 2
"""A task may have two processes: of the stage that it is in, and of the writers behind it."""
_DISK_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """What a job says of its hosts: how many ``tasks`` run on one at once, and the ``heap_bytes``
    of the JVM that is there. None of the others: it follows from the host."""

    tasks: int = 1
    heap_bytes: int = 0
    memory_bytes: int | None = None
    temp_bytes: int | None = None

    def memory(self, host_bytes: int) -> int:
        """Of an engine, on a host with ``host_bytes``."""
        if self.memory_bytes is not None:
            return self.memory_bytes
        left = max(0, host_bytes - self.heap_bytes)
        return max(MEMORY_BYTES_MIN, left // (self.tasks * _ENGINES_PER_TASK))

    def settings(self) -> Iterator[str]:
        """For an engine of this process."""
        yield f"SET memory_limit = '{self.memory(host_memory()) >> 10}KiB'"
        place = local_directory()
        # Made when something is put there, and removed with the engine.
        name = str(Path(place, f"tidegate-engine-{uuid4().hex}")).replace("'", "''")
        yield f"SET temp_directory = '{name}'"
        size = self.temp_bytes
        if size is None:
            size = int(_free(place) * _DISK_SHARE) // (self.tasks * _ENGINES_PER_TASK)
        yield f"SET max_temp_directory_size = '{size >> 10}KiB'"


UNSHARED: Final = Limits()
"""Of a process that has its host for itself."""


def host_memory(cgroups: Path = Path("/sys/fs/cgroup"), proc: Path = Path("/proc")) -> int:
    """What this process' container, or else the machine, has, in bytes."""
    bounds = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            root, name = cgroups, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = cgroups / "memory", "memory.limit_in_bytes"
        else:
            continue
        # A container sees its own group as the root; groups above bound it as well.
        group = root / path.strip("/")
        for place in (group, *group.parents[: len(group.relative_to(root).parts)]):
            bounds += _number(place / name)
    return min(bounds)


def _number(file: Path) -> list[int]:
    try:
        return [int(file.read_text())]
    except (OSError, ValueError):  # there is no such group here, or no bound: "max"
        return []


def local_directory() -> str:
    """Spark's own, where a pod has a volume, else the system's."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0] or tempfile.gettempdir()


def _free(place: str) -> int:
    try:
        return shutil.disk_usage(place).free
    except OSError:
        return 0
