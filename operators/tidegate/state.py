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

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa

HASH_MAX = 2**64 - 1
KEYED_MERGE = "keyed:merge:"
"""The value, with a bucket behind it, of a merge that is going on there (`keyed_rows`)."""
RUNS_PER_LEVEL = 8
"""Runs of one size tier that `compact` lets gather before it merges them into the next tier."""


class Run(NamedTuple):
    """A run: its number where it is kept, its size tier, what it holds.

    A keyed run (see `executor.buffers.keyed_rows`) has its age as its level, the hashes from
    ``low`` to ``high``, and the ``digest`` of its content, if its adapter gives one.
    """

    number: int
    level: int
    rows: int = 0
    bytes: int = 0
    low: int = 0
    high: int = HASH_MAX
    digest: str = ""


class StateTable(ABC):
    """State of one operator on one vnode. Buckets are scanned in ascending order.

    An adapter keeps the runs, by a number that it gives each of them.
    """

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.runs: dict[int, list[Run]] = {}
        """By bucket."""

    def get(self, name: str) -> bytes | None:
        """The value called ``name``, or None."""
        return self.values.get(name)

    def put(self, name: str, value: bytes) -> None:
        """Sets the value called ``name``."""
        self.values[name] = value

    def append(self, bucket: int, run: pa.Table, level: int = 0) -> None:
        """Appends ``run`` to ``bucket``. A run's level is its size tier (see `compact`)."""
        number, size = self._write(run)
        self.runs.setdefault(bucket, []).append(Run(number, level, run.num_rows, size))

    def buckets(self) -> list[int]:
        """The buckets that hold runs, ascending. Cheap: an index, no run is read."""
        return sorted(self.runs)

    def levels(self, bucket: int) -> list[int]:
        """The level of each run of ``bucket``, in order of appending. Cheap, as `buckets`."""
        return [run.level for run in self.runs.get(bucket, ())]

    def read(self, bucket: int, below: int | None = None) -> list[pa.Table]:
        """The runs of ``bucket`` as appended; with ``below`` only those of a lower level."""
        runs = self.runs.get(bucket, ())
        return [self._read(run.number) for run in runs if below is None or run.level < below]

    def replace(self, bucket: int, below: int, run: pa.Table) -> None:
        """Puts ``run``, at level ``below``, in the place of the runs of lower levels."""
        runs = self.runs[bucket]
        for old in runs:
            if old.level < below:
                self._remove(old.number)
        self.runs[bucket] = [old for old in runs if old.level >= below]
        self.append(bucket, run, below)

    def delete_until(self, bound: int) -> None:
        """Range delete: forgets every bucket below ``bound``."""
        for bucket in [bucket for bucket in self.runs if bucket < bound]:
            self.delete_bucket(bucket)

    def delete_bucket(self, bucket: int) -> None:
        """Forgets one bucket."""
        self.values.pop(f"{KEYED_MERGE}{bucket}", None)
        for run in self.runs.pop(bucket, ()):
            self.forget_run(run)

    def write_run(self, run: pa.Table, age: int, low: int, high: int) -> Run:
        """Keeps a keyed run, which is of no bucket yet."""
        number, size = self._write(run)
        return Run(number, age, run.num_rows, size, low, high)

    def read_run(self, run: Run) -> pa.Table:
        """What a keyed run was written with, whatever its range is by now."""
        return self._read(run.number)

    def forget_run(self, run: Run) -> None:
        """Forgets a run, which is of no bucket any more."""
        self._remove(run.number)

    @abstractmethod
    def _write(self, run: pa.Table) -> tuple[int, int]:
        """Keeps ``run``; gives its number, which no other run has had, and its bytes."""

    @abstractmethod
    def _read(self, number: int) -> pa.Table:
        """The run of that number."""

    @abstractmethod
    def _remove(self, number: int) -> None:
        """Forgets it."""


def get_int(table: StateTable, name: str, default: int) -> int:
    """The number called ``name``, or ``default``."""
    found = table.get(name)
    return default if found is None else int(found)


def put_int(table: StateTable, name: str, value: int) -> None:
    """Sets the number called ``name``."""
    table.put(name, str(value).encode())


def take_until(table: StateTable, bound: int) -> list[pa.Table]:
    """Removes the buckets below ``bound``; gives their runs, by ascending buckets."""
    runs = [run for bucket in table.buckets() if bucket < bound for run in table.read(bucket)]
    table.delete_until(bound)
    return runs


def gathered(
    table: StateTable, buckets: Iterable[int], end: int, rows_max: int
) -> Iterator[tuple[int, list[pa.Table]]]:
    """Reads ascending ``buckets``, some at once: no more than it takes to have ``rows_max`` rows.

    Gives what the buckets are below, at last ``end``, and the runs of those not given yet.
    """
    runs, rows = [], 0
    for bucket in buckets:
        read = table.read(bucket)
        runs += read
        rows += sum(run.num_rows for run in read)
        if rows >= rows_max:
            yield bucket + 1, runs
            runs, rows = [], 0
    yield end, runs


def compact(table: StateTable, bucket: int, merge: Callable[[list[pa.Table]], pa.Table]) -> None:
    """Merges the lowest size tiers of ``bucket`` while they are full. ``merge`` is associative."""
    levels = table.levels(bucket)
    full = 0
    while levels.count(full) >= RUNS_PER_LEVEL - (1 if full else 0):
        full += 1  # merging the tiers below adds the run that fills this one
    if full:
        table.replace(bucket, full, merge(table.read(bucket, below=full)))


class MemoryStateTable(StateTable):
    """A StateTable in memory; `snapshot` stands for a checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[int, pa.Table] = {}
        self._last = 0

    def _write(self, run: pa.Table) -> tuple[int, int]:
        self._last += 1
        self._tables[self._last] = run
        return self._last, run.nbytes

    def _read(self, number: int) -> pa.Table:
        return self._tables[number]

    def _remove(self, number: int) -> None:
        del self._tables[number]

    def snapshot(self) -> MemoryStateTable:
        """A copy that later writes do not touch (Arrow tables are immutable: shared)."""
        copy = MemoryStateTable()
        copy.values = dict(self.values)
        copy.runs = {bucket: list(runs) for bucket, runs in self.runs.items()}
        copy._tables, copy._last = dict(self._tables), self._last
        return copy

    @property
    def rows(self) -> int:
        """Rows held in runs: for tests of the bound on state."""
        return sum(table.num_rows for table in self._tables.values())
