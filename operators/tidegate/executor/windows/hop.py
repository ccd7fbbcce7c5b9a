"""Hop: windows of one size that begin one slide apart, and overlap; `windows` has the contract.

Window ``[start, start + size)``; starts are congruent to ``offset`` modulo ``slide``, of which
``size`` is a multiple: a time is in ``size / slide`` windows.

Watermarks (S4): ``W(window_start)`` is the smallest aligned start ``s`` with ``s + size > w``,
``W(window_end)`` is that plus the size.
"""

from __future__ import annotations

import numpy as np

from tidegate.executor.columns import Bools, Int64s
from tidegate.executor.windows.fixed_windows import LOWEST, Assigned, WindowExecutor, floors, raised
from tidegate.plan.windows import Hop


class HopExecutor(WindowExecutor):
    """As many windows for each row as slides are in a size."""

    def __init__(self, node: Hop) -> None:
        super().__init__(node)
        self._slide = node.slide
        self._offset = node.offset % node.slide
        # How far the start of each window of a time lies before the last start.
        self._back = np.arange(node.size - node.slide, -1, -node.slide, dtype=np.int64)

    def assign(self, times: Int64s, valid: Bools) -> Assigned:
        lasts, _ = floors(times, self._slide, self._offset)
        count = len(self._back)
        starts = self._starts(np.repeat(lasts, count), np.tile(self._back, len(lasts)))
        ends = raised(np.repeat(lasts, count), np.tile(self._size - self._back, len(lasts)))
        rows = np.repeat(np.arange(len(times), dtype=np.int64), count)
        if valid.all():
            return Assigned(rows, starts, ends, np.ones(len(rows), dtype=np.bool_))
        first = np.tile(self._back == self._back[0], len(lasts))
        kept = valid[rows] | first
        return Assigned(rows[kept], starts[kept], ends[kept], valid[rows[kept]])

    def next_window(self, time: int) -> tuple[int, int]:
        last, _ = floors(np.array([time], dtype=np.int64), self._slide, self._offset)
        return int(self._starts(last, self._back[:1])[0]), int(raised(last, self._slide)[0])

    @staticmethod
    def _starts(lasts: Int64s, back: Int64s) -> Int64s:
        return np.where(lasts < LOWEST + back, LOWEST, lasts - back)
