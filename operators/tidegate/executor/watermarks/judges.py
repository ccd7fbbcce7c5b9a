"""Who holds the watermark of a split: judges rows by it, and says when it advances (S2, S10).

`key_watermarks` has one more, for keys that have watermarks of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from tidegate.executor.columns import Bools, Int64s
from tidegate.executor.watermarks.judge import NONE, judge
from tidegate.executor.watermarks.judge_keys import Judged
from tidegate.executor.watermarks.strategy import Rows
from tidegate.types import FilterState, Pending, higher


class Judge(ABC):
    """``watermark`` is what the split's own rows have reached; ``known`` what rows are judged by,
    which may be a floor above it (S6)."""

    def __init__(self, watermark: int | None) -> None:
        self.watermark = watermark

    @abstractmethod
    def judge(self, rows: Rows, candidates: Int64s, has: Bools, known: int | None) -> Judged:
        """Judges the next rows, which have these candidates; ``has``: where there is one."""

    def offer(self, candidate: int | None) -> None:
        """Takes a candidate that counts."""
        self.watermark = higher(self.watermark, candidate)

    def end_epoch(self, time_us: int, known: int | None) -> None:
        """The epoch with this recorded time ends."""
        del time_us, known

    def snapshot(self) -> FilterState:
        """What it needs for a restart."""
        return FilterState(self.watermark)


class OnEvent(Judge):
    """The watermark advances with every row."""

    def judge(self, rows: Rows, candidates: Int64s, has: Bools, known: int | None) -> Judged:
        before, late, _ = judge(rows.judged, candidates, has, known)
        return _judged(self, before, late, candidates, has)


class OnPeriodic(Judge):
    """The watermark advances at a barrier, ``interval_us`` or more behind the one of the last time.

    Rows are judged by the watermark as it was at the last barrier.
    """

    def __init__(self, interval_us: int, watermark: int | None, state: Pending) -> None:
        super().__init__(watermark)
        self._interval_us = interval_us
        self._pending, self._advanced_us = state.pending, state.advanced_us

    def judge(self, rows: Rows, candidates: Int64s, has: Bools, known: int | None) -> Judged:
        before = np.full(len(rows.times), NONE if known is None else known)
        return _judged(self, before, rows.judged < before, candidates, has)

    def offer(self, candidate: int | None) -> None:
        self._pending = higher(self._pending, candidate)

    def end_epoch(self, time_us: int, known: int | None) -> None:
        pending, last_us = self._pending, self._advanced_us
        if pending is None or (known is not None and pending <= known):
            return
        if last_us is None or time_us - last_us >= self._interval_us:
            self.watermark, self._pending, self._advanced_us = pending, None, time_us

    def snapshot(self) -> FilterState:
        return FilterState(self.watermark, periodic=Pending(self._pending, self._advanced_us))


def _judged(judge: Judge, before: Int64s, late: Bools, candidates: Int64s, has: Bools) -> Judged:
    """By one watermark for all rows of the split; the candidates of late ones do not count."""
    counted = has & ~late
    if counted.any():
        judge.offer(int(candidates[counted].max()))
    return Judged(before, late, np.zeros_like(late))
