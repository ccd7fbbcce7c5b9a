"""Cumulate: windows that share a start and grow step by step; `windows` has the contract.

Windows ``[start, start + step)``, ``[start, start + 2 * step)`` … up to ``size``, a multiple of
``step``; starts are congruent to ``offset`` modulo ``size`` (Flink's CUMULATE, whose `max size`
this is). A time is in those that end behind it.

Watermarks (S4): ``W(window_start)`` is the largest start that is not above w, ``W(window_end)`` the
smallest end above it.
"""

from __future__ import annotations

import numpy as np

from tidegate.executor.columns import Bools, Int64s
from tidegate.executor.windows.fixed_windows import Assigned, WindowExecutor, floors, raised


class CumulateExecutor(WindowExecutor):
    """The windows of each row that have not ended before it."""

    def assign(self, times: Int64s, valid: Bools) -> Assigned:
        starts, past = floors(times, self._size, self._offset)
        begun = past // self._pane  # steps that have ended before each time
        counts = np.where(valid, self._size // self._pane - begun, 1)
        rows = np.repeat(np.arange(len(times), dtype=np.int64), counts)
        firsts = np.cumsum(counts) - counts
        nth = np.arange(len(rows), dtype=np.int64) - firsts[rows]
        ends = raised(starts[rows], (begun[rows] + nth + 1) * self._pane)
        return Assigned(rows, starts[rows], ends, valid[rows])
