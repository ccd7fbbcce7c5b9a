"""Late or on time where each key of a split has a watermark of its own: S2's loop over arrays.

    for each row:
        bound = max(the split's watermark, that of the row's key if the key counts)
        late = time < bound
        if not late and candidate > the key's watermark: the key's watermark = candidate
        if greatest - first >= span: the split's = max(itself, least watermark of keys that count)

``greatest`` and ``first`` are the highest and the first candidate that moved a key. A key *counts*
while its watermark is at most ``span`` below the greatest: one that has been silent for so long
holds nobody back, and its rows are judged by the split's watermark alone. Until candidates span as
much, the split has no watermark: a key may come that nobody has heard of. What a key that does
not count had reached makes no difference to anything, so it may be forgotten.

Shapes: one-dimensional arrays of equal length, int64 in the column's unit; ``codes`` number the
keys from 0. `NONE` is "no watermark". No row goes through Python: which rows are late is guessed
(none is), what follows from the guess is computed for all rows at once, and shows which rows are
late. All is exact up to the first row whose guess was wrong and mattered, so a few rounds settle
nearly all data; rows that still differ then are walked one by one, over integers.

A key's watermark is a prefix maximum over its rows. The split's is the least over *stays*: a key
stays at one watermark from one of its rows to its next, or until the greatest has left it behind.
The least stay at each row is found by `least_covering`.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tidegate.executor.columns import INT64_MAX, Bools, Int64s, moved, saturating_difference
from tidegate.executor.watermarks.judge import NONE

_BLOCK_ROWS: Final = 65_536
_ROUNDS: Final = 6
_WALK_ROWS: Final = 4_096
"""So many rows are walked where the guesses do not settle, before they are tried again."""


@dataclass(slots=True)
class Known:
    """What a split knows: the watermark of each key by its code, and its own."""

    keys: Int64s = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    watermark: int | None = None
    first: int | None = None

    @property
    def greatest(self) -> int:
        """The highest watermark of a key; `NONE` if there is none. It never falls: it counts."""
        return int(self.keys.max()) if len(self.keys) else NONE

    def counting(self, span: int) -> Bools:
        """Which keys count."""
        least = _lower(np.array([self.greatest]), span)
        counting: Bools = (self.keys != NONE) & (self.keys >= least)
        return counting

    def grow(self, count: int) -> None:
        """Makes room for keys that were not known: there are ``count`` now."""
        new = np.full(count - len(self.keys), NONE, dtype=np.int64)
        self.keys = np.concatenate([self.keys, new])


@dataclass(frozen=True, slots=True)
class Judged:
    """For each row the watermark by which it was judged, and whether it is late; ``of_split``
    where that is not because of its own key."""

    before: Int64s
    late: Bools
    of_split: Bools


def judge_keys(
    times: Int64s, candidates: Int64s, has: Bools, codes: Int64s, known: Known, span: int
) -> Judged:
    """Judges the next rows of a split and moves what is ``known``; ``has``: where there is a
    candidate. ``span`` is more than 0."""
    assert span > 0, "a key that is silent for no time at all"
    offered = np.where(has, candidates, NONE)
    before, own = np.empty_like(times), np.empty_like(times)
    row = 0
    while row < len(times):
        stop = min(row + _BLOCK_ROWS, len(times))
        block = _Block(times[row:stop], offered[row:stop], codes[row:stop], known, span)
        found = block.settled()
        if found is None:
            stop = min(row + _WALK_ROWS, len(times))
            walk = _walk(times[row:stop], offered[row:stop], codes[row:stop], known, span)
            before[row:stop], own[row:stop] = walk
        else:
            before[row:stop], own[row:stop] = found.bounds, found.own
            block.leave(known, found)
        row = stop
    late = times < before
    return Judged(before, late, late & (times >= own))


def least_covering(starts: Int64s, stops: Int64s, values: Int64s, rows: int) -> Int64s:
    """The least of the ``values`` whose ``[start, stop)`` has the row, for each of ``rows``.

    INT64_MAX where none has. An interval is covered by two of the greatest power of two that fits
    in it; what is least over those is handed down from the greater powers to the smaller.
    """
    levels = np.frexp((stops - starts).astype(np.float64))[1] - 1
    count = int(levels.max(initial=0)) + 1
    least = np.full((count, rows), INT64_MAX, dtype=np.int64)
    for places in (starts, stops - (1 << levels)):
        np.minimum.at(least, (levels, places), values)
    for level in range(count - 1, 0, -1):
        half = 1 << (level - 1)
        upper, lower = least[level], least[level - 1]
        np.minimum(lower, upper, out=lower)
        np.minimum(lower[half:], upper[:-half], out=lower[half:])
    found: Int64s = least[0]
    return found


@dataclass(frozen=True, slots=True)
class _Followed:
    """What follows from a guess, row by row but for ``reached``, which is by key, then row.

    ``bounds`` and ``own``: what judges the row, and the part of it that is its key's. ``highest``:
    what the key had reached before it, counting or not; ``reached``, and of the ``split``: behind
    it. ``first``: the first candidate of all.
    """

    bounds: Int64s
    own: Int64s
    highest: Int64s
    reached: Int64s
    split: Int64s
    first: int | None


class _Block:
    """The next rows of a split, and what follows for them from a guess of which are late."""

    def __init__(
        self, times: Int64s, offered: Int64s, codes: Int64s, known: Known, span: int
    ) -> None:
        self._times = times
        self._offered = offered
        self._known = known
        self._span = span
        self._order = np.argsort(codes, kind="stable")
        ordered = codes[self._order]
        self._starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        self._ends = np.r_[self._starts[1:], len(times)]
        self._codes = ordered[self._starts]
        self._segment = np.repeat(np.arange(len(self._starts)), self._ends - self._starts)
        self._initial = known.keys[self._codes]
        others = known.keys.copy()
        others[self._codes] = NONE
        self._others = others[others != NONE]
        self._greatest = known.greatest
        self._before = NONE if known.watermark is None else known.watermark

    def settled(self) -> _Followed | None:
        """Guesses until the guess is what comes of it; None if that never is so."""
        counted = np.ones(len(self._times), dtype=np.bool_)
        for _ in range(_ROUNDS):
            found = self._follow(np.where(counted, self._offered, NONE))
            on_time = self._times >= found.bounds
            # A candidate that is no higher than what the key had reached moves nothing.
            if not ((on_time != counted) & (self._offered > found.highest)).any():
                return found
            counted = on_time
        return None

    def leave(self, known: Known, found: _Followed) -> None:
        """Writes what is known behind the rows."""
        known.keys[self._codes] = found.reached[self._ends - 1]
        last = int(found.split[-1])
        known.watermark = None if last == NONE else last
        known.first = found.first

    def _follow(self, offered: Int64s) -> _Followed:
        """What follows if these candidates count."""
        reached, highest = self._of_keys(offered)
        first = self._known.first
        if first is None:
            (some,) = np.nonzero(offered != NONE)
            first = int(offered[some[0]]) if len(some) else None
        greatest = np.maximum.accumulate(np.r_[self._greatest, offered])
        least = _lower(greatest, self._span)  # of keys that count
        split = self._of_split(reached, greatest[1:], int(least[-1]), first)
        own = np.where(highest >= least[:-1], highest, NONE)
        bounds = np.maximum(own, np.r_[self._before, split[:-1]])
        return _Followed(bounds, own, highest, reached, split, first)

    def _of_keys(self, offered: Int64s) -> tuple[Int64s, Int64s]:
        """The watermark of its key behind each row (by key, then row), and before it (by row)."""
        values = offered[self._order]
        values[self._starts] = np.maximum(values[self._starts], self._initial)
        reached = _running_by_segment(values, self._segment)
        before = np.empty_like(reached)
        before[1:] = reached[:-1]
        before[self._starts] = self._initial
        highest = np.empty_like(before)
        highest[self._order] = before
        return reached, highest

    def _of_split(
        self, reached: Int64s, greatest: Int64s, least_last: int, first: int | None
    ) -> Int64s:
        """The split's watermark behind each row; ``least_last``: that of keys that count then."""
        rows = len(greatest)
        if first is None:
            return np.full(rows, self._before)
        loud = saturating_difference(greatest, np.full(rows, first)) >= self._span
        # A stay begins at a row of its key, or before the block, and ends at the key's next row.
        stops = np.empty_like(self._order)
        stops[:-1] = self._order[1:]
        stops[self._ends - 1] = rows
        held = self._others[self._others >= least_last]
        fading = self._others[self._others < least_last]
        # Of keys without a row here that count to the end, the least is all that matters.
        least_held = held.min(keepdims=True) if len(held) else held
        values = np.concatenate([reached, self._initial, fading, least_held])
        starts = np.zeros(len(values), dtype=np.int64)
        starts[:rows] = self._order
        ends = np.full(len(values), rows, dtype=np.int64)
        ends[:rows] = stops
        ends[rows : rows + len(self._codes)] = self._order[self._starts]
        # It is over when the greatest is more than the span above it, too.
        left = np.searchsorted(greatest, moved(values, self._span), side="right")
        ends = np.minimum(ends, left)
        real = (values != NONE) & (ends > starts)
        least = least_covering(starts[real], ends[real], values[real], rows)
        least_loud = np.where(loud & (least != INT64_MAX), least, NONE)
        split: Int64s = np.maximum.accumulate(np.r_[self._before, least_loud])[1:]
        return split


def _running_by_segment(values: Int64s, segment: Int64s) -> Int64s:
    """The prefix maximum within each segment; segments are numbered in order from 0."""
    some = values[values != NONE]
    if not len(some):
        return values
    least, segments = int(some.min()), int(segment[-1]) + 1
    width = int(some.max()) - least + 2
    if width * segments >= INT64_MAX:
        distinct, ranks = np.unique(values, return_inverse=True)
        by_rank = _running_by_segment(ranks.astype(np.int64), segment)
        found: Int64s = distinct[by_rank]
        return found
    # Each segment's values are above all of the one before; 0 is NONE.
    raised = np.where(values == NONE, 0, values - (least - 1)) + segment * width
    running = np.maximum.accumulate(raised) - segment * width
    return np.where(running == 0, NONE, running + (least - 1))


def _walk(
    times: Int64s, offered: Int64s, codes: Int64s, known: Known, span: int
) -> tuple[Int64s, Int64s]:
    """The loop itself: each row's bound, and the part of it that is its key's; moves ``known``."""
    keys = known.keys.tolist()
    counting = np.flatnonzero(known.counting(span)).tolist()
    heap = [(keys[code], code) for code in counting]
    heapq.heapify(heap)
    greatest, first = known.greatest, known.first
    split = NONE if known.watermark is None else known.watermark
    bounds, owned = [], []
    for time, candidate, code in zip(times.tolist(), offered.tolist(), codes.tolist(), strict=True):
        own = keys[code]
        if own < greatest - span:
            own = NONE
        bound = max(own, split)
        bounds.append(bound)
        owned.append(own)
        if time < bound or candidate <= keys[code]:
            continue
        keys[code] = candidate
        heapq.heappush(heap, (candidate, code))
        first = candidate if first is None else first
        greatest = max(greatest, candidate)
        while heap[0][0] < greatest - span or heap[0][0] != keys[heap[0][1]]:
            heapq.heappop(heap)
        if greatest - first >= span:
            split = max(split, heap[0][0])
    known.keys = np.array(keys, dtype=np.int64)
    known.watermark = None if split == NONE else split
    known.first = first
    return np.array(bounds, dtype=np.int64), np.array(owned, dtype=np.int64)


def _lower(values: Int64s, span: int) -> Int64s:
    """``values - span``, held above `NONE`; `NONE` stays."""
    lower = np.maximum(moved(values, -span), NONE + 1)
    return np.where(values == NONE, NONE, lower)
