"""Rows in state by their time: as runs in buckets, so that what a watermark has passed is a range.

A bucket is named by its start, a multiple of its width, which is a power of two chosen anew for
each epoch: the smallest with which the epoch's rows fall into at most `BUCKETS_MAX` buckets. So an
epoch writes its own rows in at most that many runs, wherever they lie, and narrow buckets lie
inside wide ones. No row of a bucket is below its name, so a watermark needs only the buckets below
it. Rows without a time are in `NULL_BUCKET`, which only `END` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.executor.columns import Int64s, event_times
from tidegate.state import StateTable, compact
from tidegate.types import END

BUCKETS_MAX: Final = 64
NULL_BUCKET: Final = END - 1


def append_by_time(
    state: StateTable,
    data: pa.Table,
    column: str,
    merge: Callable[[list[pa.Table]], pa.Table] = pa.concat_tables,
) -> dict[int, int]:
    """Appends the rows of ``data`` by ``column``; ``merge`` makes one run of several.

    Gives the buckets that have got rows, each with the largest time among these.
    """
    times, valid = event_times(data.column(column))
    order = np.lexsort((times, ~valid))
    data, times = data.take(pa.array(order)), times[order]
    timed = int(valid.sum())
    width = _width_bits(times[:timed])
    buckets = np.minimum((times >> width) << width, NULL_BUCKET)
    buckets[timed:] = NULL_BUCKET
    stops = append_runs(state, data, buckets, merge)
    return {bucket: int(times[stop - 1]) for bucket, stop in stops.items()}


def append_runs(
    state: StateTable, data: pa.Table, buckets: Int64s, merge: Callable[[list[pa.Table]], pa.Table]
) -> dict[int, int]:
    """Appends ``data``, the rows of each of their ``buckets`` being together, a run per bucket.

    Gives for each bucket the number behind its last row.
    """
    stops = {}
    for bucket, start, stop in stretches(buckets):
        state.append(bucket, data.slice(start, stop - start))
        compact(state, bucket, merge)
        stops[bucket] = stop
    return stops


def stretches(buckets: Int64s) -> Iterator[tuple[int, int, int]]:
    """Each bucket, of rows that are together, from which row to which."""
    steps = np.flatnonzero(buckets[1:] != buckets[:-1]) + 1
    for start, stop in pairwise([0, *steps.tolist(), len(buckets)]):
        if stop > start:
            yield int(buckets[start]), start, stop


def _width_bits(times: Int64s) -> int:
    """The smallest n so that ascending ``times`` lie in `BUCKETS_MAX` buckets 2**n wide."""
    low, high = 0, 63
    while low < high:
        middle = (low + high) // 2
        named = times >> middle
        if np.count_nonzero(named[1:] != named[:-1]) < BUCKETS_MAX:
            high = middle
        else:
            low = middle + 1
    return low
