"""The StateTable port: what a stateful operator may keep between epochs (design §2 "State").

A table belongs to one operator of one fragment on one vnode. It holds two kinds of things:

- *values*: a few small named blobs (the last merged watermark, a counter);
- *runs*: Arrow tables appended to a *bucket*. A bucket is a 64-bit integer that orders by event
  time (a window's end, the start of a slice of time), so that what a watermark has passed is one
  range. A run is never rewritten in place: an epoch writes only what is new, and a closed bucket
  is read once and deleted as part of a range. `compact` merges the runs of a bucket when there
  are many, size-tiered, so that a bucket of n epochs is rewritten O(log n) times, not n times.

Adapters: `MemoryStateTable` here (tests, simulator) and Spark's state store in ``tidegate.spark``.
Writes become durable with the epoch's barrier, never before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import pyarrow as pa

RUNS_PER_LEVEL = 8
"""Runs of one size tier that `compact` lets gather before it merges them into the next tier."""


class StateTable(Protocol):
    """State of one operator on one vnode. Buckets are scanned in ascending order."""

    def get(self, name: str) -> bytes | None:
        """The value called ``name``, or None."""

    def put(self, name: str, value: bytes) -> None:
        """Sets the value called ``name``."""

    def delete(self, name: str) -> None:
        """Forgets the value called ``name``; nothing happens when there is none."""

    def append(self, bucket: int, run: pa.Table, level: int = 0) -> None:
        """Appends ``run`` to ``bucket``. A run's level is its size tier (see `compact`)."""

    def buckets(self) -> list[int]:
        """The buckets that hold runs, ascending. Cheap: an index, no run is read."""

    def levels(self, bucket: int) -> list[int]:
        """The level of each run of ``bucket``, in order of appending. Cheap, as `buckets`."""

    def read(self, bucket: int, below: int | None = None) -> list[pa.Table]:
        """The runs of ``bucket`` as appended; with ``below`` only those of a lower level."""

    def replace(self, bucket: int, below: int, run: pa.Table) -> None:
        """Puts ``run``, at level ``below``, in the place of the runs of lower levels."""

    def delete_until(self, bound: int) -> None:
        """Range delete: forgets every bucket below ``bound``."""

    def delete_bucket(self, bucket: int) -> None:
        """Forgets one bucket."""


def get_int(table: StateTable, name: str, default: int) -> int:
    """The number called ``name``, or ``default``."""
    found = table.get(name)
    return default if found is None else int(found)


def put_int(table: StateTable, name: str, value: int) -> None:
    """Sets the number called ``name``."""
    table.put(name, str(value).encode())


def scan_until(table: StateTable, bound: int) -> Iterator[tuple[int, list[pa.Table]]]:
    """The buckets below ``bound`` with their runs, ascending."""
    for bucket in table.buckets():
        if bucket >= bound:
            return
        yield bucket, table.read(bucket)


def compact(table: StateTable, bucket: int, merge: Callable[[list[pa.Table]], pa.Table]) -> None:
    """Merges the lowest size tiers of ``bucket`` while they are full. ``merge`` is associative."""
    levels = table.levels(bucket)
    full = 0
    while levels.count(full) >= RUNS_PER_LEVEL - (1 if full else 0):
        full += 1  # merging the tiers below adds the run that fills this one
    if full:
        table.replace(bucket, full, merge(table.read(bucket, below=full)))


class MemoryStateTable:
    """A StateTable in memory; `snapshot` stands for a checkpoint."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._runs: dict[int, list[tuple[int, pa.Table]]] = {}

    def get(self, name: str) -> bytes | None:
        return self._values.get(name)

    def put(self, name: str, value: bytes) -> None:
        self._values[name] = value

    def delete(self, name: str) -> None:
        self._values.pop(name, None)

    def append(self, bucket: int, run: pa.Table, level: int = 0) -> None:
        self._runs.setdefault(bucket, []).append((level, run))

    def buckets(self) -> list[int]:
        return sorted(self._runs)

    def levels(self, bucket: int) -> list[int]:
        return [level for level, _ in self._runs.get(bucket, ())]

    def read(self, bucket: int, below: int | None = None) -> list[pa.Table]:
        runs = self._runs.get(bucket, ())
        return [run for level, run in runs if below is None or level < below]

    def replace(self, bucket: int, below: int, run: pa.Table) -> None:
        kept = [(level, old) for level, old in self._runs[bucket] if level >= below]
        self._runs[bucket] = [*kept, (below, run)]

    def delete_until(self, bound: int) -> None:
        for bucket in [b for b in self._runs if b < bound]:
            del self._runs[bucket]

    def delete_bucket(self, bucket: int) -> None:
        self._runs.pop(bucket, None)

    def snapshot(self) -> MemoryStateTable:
        """A copy that later writes do not touch (Arrow tables are immutable: shared)."""
        copy = MemoryStateTable()
        copy._values = dict(self._values)
        copy._runs = {bucket: list(runs) for bucket, runs in self._runs.items()}
        return copy

    @property
    def rows(self) -> int:
        """Rows held in runs: for tests of the bound on state."""
        return sum(run.num_rows for runs in self._runs.values() for _, run in runs)
