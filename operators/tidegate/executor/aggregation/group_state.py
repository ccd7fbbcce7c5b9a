"""The state of an aggregation: partials of groups by the time that closes them.

A bucket is one value of the closing key (a NULL key's is `NULL_BUCKET`), or 0 where nothing closes
groups. An epoch appends one run to each bucket that it touches; buckets with many runs are merged.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import held_back
from tidegate.executor.buffers.time_runs import NULL_BUCKET, append_runs
from tidegate.executor.columns import Int64s, event_times
from tidegate.state import StateTable
from tidegate.types import Watermark


class GroupState:
    """Partials in ``state``; ``merge`` is SQL that makes one of several a group, of ``rows_``.

    ``key`` is the closing key; empty: groups stay.
    """

    def __init__(self, state: StateTable, key: str, engine: Engine, merge: str) -> None:
        self.table = state
        self._key = key
        self._engine = engine
        self._merge = merge

    def merged(self, partials: list[pa.Table]) -> pa.Table:
        """One partial a group."""
        return self._engine.query(self._merge, {"rows_": pa.concat_tables(partials)})

    def add(self, data: pa.Table) -> None:
        """Appends partials, one run per bucket."""
        buckets = buckets_of(data, self._key)
        if (buckets[1:] < buckets[:-1]).any():
            order = np.argsort(buckets, kind="stable")
            data, buckets = data.take(pa.array(order)), buckets[order]
        append_runs(self.table, data, buckets, self.merged)


def buckets_of(data: pa.Table, key: str) -> Int64s:
    """The bucket of each row, by the closing ``key``."""
    if not key:
        return np.zeros(data.num_rows, dtype=np.int64)
    times, valid = event_times(data.column(key))
    return np.minimum(np.where(valid, times, NULL_BUCKET), NULL_BUCKET)


def with_derived(watermark: Watermark, derived: tuple[tuple[str, int], ...]) -> Iterator[Watermark]:
    """The closing key's watermark, then those derived from it: (column, distance)."""
    yield watermark
    for column, distance in derived:
        yield Watermark(column, held_back(watermark.value, distance), watermark.status)
