"""Which rows wait for others, by their times: those that are due, and the oldest (S4, S5).

Rows begin to wait in the order of time, those of equal time together. So what begins to wait in
one step is a bucket of its own, with times behind those of all before; where a row ends to wait,
the bucket that has its time gets a row that takes it off. A bucket goes when no row of it waits;
neighbours are merged when there are many. A partition is known here by its hash only.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.executor.buffers.keyed_rows import UInt64s
from tidegate.executor.columns import Int64s
from tidegate.state import StateTable, compact, get_int, put_int
from tidegate.types import END

BUCKETS_MAX: Final = 32
WORN: Final = 4
"""A bucket of so many times more rows than wait in it is written anew."""
_OLDEST: Final = "waiting:oldest"
_COUNTS: Final = "waiting:counts"
_TIME: Final = "time"
_HASH: Final = "hash"
_COUNT: Final = "count"


class WaitingTimes:
    """The times of the rows that wait, with the hashes of their partitions, in ``state``."""

    def __init__(self, state: StateTable) -> None:
        self._state = state
        self._counts: dict[str, int] = json.loads(state.get(_COUNTS) or b"{}")
        """How many rows of each bucket wait."""

    @property
    def oldest(self) -> int:
        """The time of the oldest row that waits, or `END`."""
        return get_int(self._state, _OLDEST, END)

    def due(self, low: int, high: int) -> UInt64s:
        """The hashes, ascending and each once, of the rows that wait at ``low`` to ``high - 1``."""
        found = []
        for bucket, following in pairwise([*self._state.buckets(), END]):
            if bucket < high and following > low:
                rows = _summed(self._state.read(bucket))
                times = rows.column(_TIME).to_numpy()
                found.append(rows.column(_HASH).to_numpy()[(times >= low) & (times < high)])
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.uint64)

    def change(self, begun: tuple[Int64s, UInt64s], ended: tuple[Int64s, UInt64s]) -> None:
        """Rows that wait from now on, and such as do so no longer: (times, hashes) of each.

        Those that have begun are behind all that ever did.
        """
        oldest = self.oldest
        if len(begun[0]):
            first = int(begun[0].min())
            oldest = min(oldest, first)
            self._append(first, *begun, 1)
        if len(ended[0]):
            names = self._state.buckets()
            places = np.searchsorted(np.array(names), ended[0], "right") - 1
            for place in np.unique(places).tolist():
                times, hashes = (column[places == place] for column in ended)
                self._append(names[place], times, hashes, -1)
            if ended[0].min() <= oldest:
                oldest = self._first()
        if len(self._state.runs) > BUCKETS_MAX:
            self._merge_neighbours()
        put_int(self._state, _OLDEST, oldest)
        self._state.put(_COUNTS, json.dumps(self._counts).encode())

    def clear(self) -> None:
        """No row waits any more."""
        self._state.delete_until(END)
        self._state.values.clear()
        self._counts = {}

    def _append(self, bucket: int, times: Int64s, hashes: UInt64s, count: int) -> None:
        """Rows of ``bucket`` begin to wait, or end: the bucket goes with the last one."""
        counts = np.full(len(times), count, np.int64)
        name = str(bucket)
        self._counts[name] = waiting = self._counts.get(name, 0) + count * len(times)
        if not waiting:
            del self._counts[name]
            self._state.delete_bucket(bucket)
            return
        self._state.append(bucket, pa.table({_TIME: times, _HASH: hashes, _COUNT: counts}))
        compact(self._state, bucket, _summed)
        if sum(run.rows for run in self._state.runs[bucket]) > WORN * waiting:
            self._write([bucket])

    def _first(self) -> int:
        """The oldest time, of which the first bucket has a row."""
        for bucket in self._state.buckets()[:1]:
            rows = _summed(self._state.read(bucket))
            return int(pc.min(rows.column(_TIME)).as_py())
        return END

    def _merge_neighbours(self) -> None:
        """Makes one of the two neighbours that have the fewest rows together."""
        names = self._state.buckets()
        sizes = [sum(run.rows for run in self._state.runs[name]) for name in names]
        _, *pair = min(
            (a + b, *both) for (a, b), both in zip(pairwise(sizes), pairwise(names), strict=True)
        )
        self._counts[str(pair[0])] += self._counts.pop(str(pair[1]))
        self._write(pair)

    def _write(self, buckets: list[int]) -> None:
        """Writes neighbours anew, as one."""
        rows = _summed([run for bucket in buckets for run in self._state.read(bucket)])
        level = max(level for bucket in buckets for level in self._state.levels(bucket))
        for bucket in buckets:
            self._state.delete_bucket(bucket)
        self._state.append(buckets[0], rows, level)


def _summed(tables: list[pa.Table]) -> pa.Table:
    """A row for each time and hash of which rows wait, with their number."""
    rows = pa.concat_tables(tables).group_by([_TIME, _HASH]).aggregate([(_COUNT, "sum")])
    rows = rows.rename_columns([_TIME, _HASH, _COUNT])
    return rows.filter(pc.not_equal(rows.column(_COUNT), 0))
