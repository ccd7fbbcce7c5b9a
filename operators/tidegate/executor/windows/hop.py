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
        self._offset = node.offset % node.slide
        # How far the start of each window of a time lies before the last start.
        self._back = np.arange(node.size - node.slide, -1, -node.slide, dtype=np.int64)

    def assign(self, times: Int64s, valid: Bools) -> Assigned:
        lasts, _ = floors(times, self._pane, self._offset)
        count = len(self._back)
        last, back = np.repeat(lasts, count), np.tile(self._back, len(lasts))
        starts = np.where(last < LOWEST + back, LOWEST, last - back)
        ends = raised(last, self._size - back)
        rows = np.repeat(np.arange(len(times), dtype=np.int64), count)
        if valid.all():
            return Assigned(rows, starts, ends, np.ones(len(rows), dtype=np.bool_))
        first = np.tile(self._back == self._back[0], len(lasts))
        kept = valid[rows] | first
        return Assigned(rows[kept], starts[kept], ends[kept], valid[rows[kept]])
