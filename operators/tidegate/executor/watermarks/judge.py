"""Late or on time: the row loop of S2 over whole arrays.

    for each row:
        late = time < watermark
        if not late and candidate > watermark: watermark = candidate

Shapes: one-dimensional arrays of equal length, int64 in the column's unit; ``has_candidate`` says
where the candidate is not NULL. `NONE` stands for "no watermark yet" in arrays: nothing is below
it.

While no candidate exceeds its row's time, a late row's candidate is below the watermark anyway, and
the watermark before each row is an exclusive prefix maximum. Otherwise a late row may carry a
candidate that must not count (an *offender*). Up to and including the first offender the prefix
maximum is still exact; so the rows are taken in blocks that double while there is none and restart
behind one. Where offenders are dense that would be a few numpy calls for each, so a short block
with an offender near its start is walked row by row, over integers, never over user rows.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidegate.executor.columns import INT64_MIN, Bools, Int64s

NONE: Final = INT64_MIN
"""The watermark before the first candidate, in arrays."""

_BLOCK_ROWS_MIN = 256
_DENSE_ROWS = 64  # an offender this near makes the walk cheaper than another restart


def judge(
    times: Int64s, candidates: Int64s, has_candidate: Bools, watermark: int | None
) -> tuple[Int64s, Bools, int | None]:
    """The watermark before each row (`NONE`: none), which rows are late, the last watermark."""
    start = NONE if watermark is None else watermark
    offered = np.where(has_candidate, candidates, NONE)
    if bool((offered <= times).all()):
        running = _running(offered, start)
        before = running[:-1]
        late = times < before
    else:
        before, late, running = _judge_blocks(times, offered, start)
    after = int(running[-1])
    return before, late, None if after == NONE else after


def _running(offered: Int64s, start: int) -> Int64s:
    """Prefix maximum: one longer than ``offered``, beginning with ``start``."""
    result = np.empty(len(offered) + 1, dtype=np.int64)
    result[0] = start
    result[1:] = offered
    return np.maximum.accumulate(result, out=result)


def _judge_blocks(times: Int64s, offered: Int64s, start: int) -> tuple[Int64s, Bools, Int64s]:
    before = np.empty(len(times), dtype=np.int64)
    late = np.empty(len(times), dtype=np.bool_)
    watermark, row, size = start, 0, _BLOCK_ROWS_MIN
    while row < len(times):
        stop = min(row + size, len(times))
        running = _running(offered[row:stop], watermark)
        below = times[row:stop] < running[:-1]
        offending = np.flatnonzero(below & (running[1:] > running[:-1]))
        if len(offending) == 0:
            taken, size = stop - row, size * 2
            watermark = int(running[taken])
        elif offending[0] >= _DENSE_ROWS:
            taken, size = int(offending[0]) + 1, _BLOCK_ROWS_MIN
            watermark = int(running[taken - 1])  # the offender's own candidate does not count
        else:
            stop = min(row + _BLOCK_ROWS_MIN, len(times))
            taken, size = stop - row, _BLOCK_ROWS_MIN
            running, below, watermark = _walk(times[row:stop], offered[row:stop], watermark)
        before[row : row + taken] = running[:taken]
        late[row : row + taken] = below[:taken]
        row += taken
    return before, late, np.array([watermark], dtype=np.int64)


def _walk(times: Int64s, offered: Int64s, watermark: int) -> tuple[Int64s, Bools, int]:
    """The loop itself: the watermark before each row, late rows, the last watermark."""
    before, late = [], []
    for time, candidate in zip(times.tolist(), offered.tolist(), strict=True):
        before.append(watermark)
        late.append(time < watermark)
        if time >= watermark and candidate > watermark:
            watermark = candidate
    return np.array(before, dtype=np.int64), np.array(late, dtype=np.bool_), watermark
