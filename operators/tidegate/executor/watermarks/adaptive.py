"""SOURCE_WATERMARK(): a delay that follows the disorder that one split has shown (seed 004).

    out-of-orderness of a record   the largest event time before it less its own, at least 0
    delay behind a record          clip(quantile of the last `records` of these, its own included,
                                        + margin for the number of records seen,
                                        delay_us_min, delay_us_max)
    candidate behind a record      the largest event time so far, its own included, less the delay

Records are those that have an event time and are not too far in the future. Late ones count: a
late record is disorder, too. Whether a candidate becomes the watermark is the filter's to say (S2).

The quantile is nearest-rank over the exact values: of n of them, in ascending order, the one at
ceil(quantile * n), counted from 1. The quantile is the decimal number that it is written as, so no
rank is off by one because of binary fractions. All is integer arithmetic in the column's unit;
a delay that is no whole number of units is rounded up, so that it is never too short.

`sliding_rank` finds the value of one rank in every window at once: a wavelet matrix over the
values' ranks, walked from the highest bit down, a few numpy operations a bit for all windows
together. Values that the clip makes equal are made equal first: of nearly ordered rows one is
left. Measured on one core with chunks of 16 Ki rows and windows of 5,000, in million rows/s:

                        nearly ordered     uniform disorder
                        (10 % by 0-40 ms)  (by 0-1,000 s)
    this module         21                 2.4
    pandas, rolling     3.2                1.5     one window length only: none while it fills
    DuckDB, window      1.2                0.5
"""

from __future__ import annotations

import base64
import zlib
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from tidegate.executor.columns import (
    INT64_MAX,
    INT64_MIN,
    Bools,
    Int64s,
    saturating_difference,
)
from tidegate.executor.watermarks.strategy import Rows, Strategy
from tidegate.plan.strategies import Adaptive
from tidegate.types import END, Measured

_Int32s = npt.NDArray[np.int32]

_BLOCK_ROWS: Final = 16_384
"""So many windows at a time, if they are short: what they look at stays in the cache."""
_DENOMINATOR_MAX: Final = 10**9


class Disorder(Strategy):
    """What one split has shown of its disorder, and the candidates that follow from it.

    ``unit_us`` is the microseconds in one unit of the column, at least 1. Where ``has_infinity``,
    the greatest and the least number are no times, and move nothing. What is in ``state`` goes on:
    the candidates do not depend on where a stream is cut.
    """

    def __init__(
        self, figures: Adaptive, unit_us: int, state: Measured, *, has_infinity: bool = False
    ) -> None:
        assert unit_us > 0, "SOURCE_WATERMARK() of a column that is no time"
        quantile = Fraction(repr(figures.quantile)).limit_denominator(_DENOMINATOR_MAX)
        self._above, self._of = quantile.numerator, quantile.denominator
        self._records = figures.records
        self._least = _units(figures.delay_us_min, unit_us)
        self._most = _units(figures.delay_us_max, unit_us)
        self._counts = np.array([count for count, _ in figures.margins], dtype=np.int64)
        margins = [_units(margin, unit_us) for _, margin in figures.margins]
        self._margins = np.array([*margins, 0], dtype=np.int64)
        self._warm = max((count for count, _ in figures.margins), default=0)
        self._has_infinity = has_infinity
        self._seen = state.seen
        self._highest = INT64_MIN if state.seen_time_max is None else state.seen_time_max
        self._values = _decoded(state.disorder)
        self._written: str | None = state.disorder

    def candidates(self, rows: Rows) -> tuple[Int64s, Bools]:
        times, measured = rows.times, rows.eligible
        if self._has_infinity:
            measured = measured & (times > -INT64_MAX) & (times < INT64_MAX)
        if measured.all():
            candidates, has = self.behind(times)
        else:
            candidates, has = np.full(len(times), INT64_MIN), np.zeros(len(times), dtype=np.bool_)
            candidates[measured], has[measured] = self.behind(times[measured])
        return np.minimum(candidates, END - 1), has

    def behind(self, times: Int64s) -> tuple[Int64s, Bools]:
        """The candidate behind each of the split's next records, and whether it has one.

        It has none where the candidate would lie below all numbers of 64 bits.
        """
        if not len(times):
            return times, np.empty(0, dtype=np.bool_)
        highest = np.maximum.accumulate(times)
        np.maximum(highest, self._highest, out=highest)
        # The most that a delay can be is all that counts of a larger one.
        values = np.minimum(saturating_difference(highest, times), self._most)
        delays = self._delays(values)
        self._highest = int(highest[-1])
        self._written = None
        has = highest > INT64_MIN + delays
        return np.where(has, highest - delays, INT64_MIN), has

    def snapshot(self) -> Measured:
        if self._written is None:
            self._written = _encoded(self._values)
        return Measured(self._seen, self._highest if self._seen else None, self._written)

    def _delays(self, values: Int64s) -> Int64s:
        """The delay behind each of the next records, by their out-of-orderness."""
        seen = np.arange(self._seen + 1, self._seen + len(values) + 1, dtype=np.int64)
        margins = self._margins[np.searchsorted(self._counts, seen)]
        if self._seen >= self._warm:  # no margin is added: what the clip raises may be raised now
            values = np.maximum(values, self._least)
        known = np.concatenate([self._values, values])
        first = len(self._values)
        quantiles = np.empty(len(values), dtype=np.int64)
        size = max(_BLOCK_ROWS, 2 * self._records)
        for at in range(0, len(values), size):
            stop = min(at + size, len(values))
            # Of the values, those in the windows of this block; windows as places among them.
            begin = max(0, first + at + 1 - self._records)
            stops = np.arange(first + at + 1 - begin, first + stop + 1 - begin, dtype=np.int64)
            starts = np.maximum(stops - self._records, 0)
            ranks = np.maximum(-(-self._above * (stops - starts) // self._of), 1)
            among = known[begin : first + stop]
            quantiles[at:stop] = sliding_rank(among, starts, stops, ranks - 1)
        self._seen += len(values)
        last = known[-self._records :]
        # Whether the chunk began before or behind that point, its rows leave the same state.
        warm = self._seen >= self._warm
        self._values = np.maximum(last, self._least) if warm else last.copy()
        delays: Int64s = np.clip(quantiles + margins, self._least, self._most)
        return delays


def sliding_rank(values: Int64s, starts: Int64s, stops: Int64s, ranks: Int64s) -> Int64s:
    """For each window ``values[start:stop]`` its value of ``rank``, 0 being the smallest.

    Windows are not empty and a rank is below its window's length. Works level by level of a
    wavelet matrix, which is not kept: the ranks of the values among the distinct ones are sorted
    by their highest bit, then by the next, each time in their order otherwise; a window stays
    contiguous on the side to which its rank belongs.
    """
    distinct, places = np.unique(values, return_inverse=True)
    narrow: list[_Int32s] = [a.astype(np.int32) for a in (places, starts, stops, ranks)]
    codes, left, right, rank = narrow
    found = np.zeros(len(starts), dtype=np.int32)
    zeros = np.zeros(len(values) + 1, dtype=np.int32)  # how many there are before each place
    for bit in reversed(range((len(distinct) - 1).bit_length())):
        low = (codes >> bit) & 1 == 0
        np.cumsum(low, out=zeros[1:])
        left_low, right_low = zeros[left], zeros[right]
        inside = right_low - left_low
        goes_low = rank < inside
        left = np.where(goes_low, left_low, left - left_low + zeros[-1])
        right = np.where(goes_low, right_low, right - right_low + zeros[-1])
        rank = np.where(goes_low, rank, rank - inside)
        found |= np.where(goes_low, 0, 1 << bit).astype(np.int32)
        codes = np.concatenate([codes[low], codes[~low]])
    return distinct[found]


def _units(duration_us: int, unit_us: int) -> int:
    """A duration in whole units, rounded up."""
    return -(-duration_us // unit_us)


def _encoded(values: Int64s) -> str:
    """``values`` as text: an epoch's entry has this for each split.

    As multiples of what divides them all (times are mostly milliseconds), all first bytes, then
    all second ones: a fifth to a half of the size. 5,000 values take 25 kB at worst.
    """
    if not len(values):
        return ""
    step = max(int(np.gcd.reduce(values)), 1)
    numbers = np.concatenate([[step], values // step]).astype("<i8")
    planes = numbers.view(np.uint8).reshape(-1, 8).T
    return base64.b64encode(zlib.compress(planes.tobytes())).decode()


def _decoded(text: str) -> Int64s:
    if not text:
        return np.empty(0, dtype=np.int64)
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    numbers: Int64s = np.ascontiguousarray(planes.reshape(8, -1).T).view("<i8").ravel()
    values: Int64s = numbers[1:] * numbers[0]
    return values
