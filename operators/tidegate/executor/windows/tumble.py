"""Tumble: windows that follow each other; `windows` has the contract.

Window ``[start, start + size)``; starts are congruent to ``offset`` modulo ``size`` counted from
the Unix epoch, also before it (floor, not truncation).

Watermarks (S4): ``W(window_start) = tumble_start(w)``, ``W(window_end) = tumble_end(w)``; with
30 minutes 10:40 gives 10:40, 10:30 and 11:00 (RFC "Watermark derivation").
"""

from __future__ import annotations

from tidegate.executor.columns import Bools, Int64s
from tidegate.executor.windows.fixed_windows import Assigned, WindowExecutor, floors, raised


class TumbleExecutor(WindowExecutor):
    """One window for each row."""

    def assign(self, times: Int64s, valid: Bools) -> Assigned:
        starts, _ = floors(times, self._size, self._offset)
        return Assigned(None, starts, raised(starts, self._size), valid)
