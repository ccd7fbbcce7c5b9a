"""Nodes that give rows windows: fixed ones by a row's own time, and sessions (S4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tidegate.plan.nodes import Node, Unary


@dataclass(frozen=True, slots=True)
class Window(Unary):
    """Adds ``window_start`` and ``window_end`` of the type of ``time_column``, in its unit.

    A row stands in the output once for each window that has its time. ``size`` is the length of
    the longest window; ``offset`` moves all of them against the Unix epoch. ``with_time`` adds
    ``window_time`` too, the last millisecond of the window (Flink), of a timestamp.
    """

    row_wise: ClassVar[bool] = True

    time_column: str
    size: int
    offset: int = 0
    with_time: bool = False

    @property
    def pane(self) -> int:
        """Times in one pane ``[offset + n * pane, offset + (n + 1) * pane)`` share all windows."""
        return self.size

    @property
    def repeats(self) -> bool:
        return self.pane < self.size

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        return (wanted | {self.time_column},)

    @property
    def bounds(self) -> str:
        """The size of windows, and how far apart they begin or end, as EXPLAIN has it."""
        return self.span(self.time_column, self.size)

    @property
    def title(self) -> str:
        time = ", with window_time" * self.with_time
        return f"{type(self).__name__} {self.time_column} by {self.bounds}{time}"


@dataclass(frozen=True, slots=True)
class Tumble(Window):
    """One window for each time: ``[start, start + size)``, starts congruent to ``offset``."""


@dataclass(frozen=True, slots=True)
class Hop(Window):
    """Windows ``[start, start + size)``, starts congruent to ``offset`` modulo ``slide``.

    ``size`` is a multiple of ``slide``; a time is in ``size / slide`` of them.
    """

    slide: int = field(kw_only=True)

    @property
    def pane(self) -> int:
        return self.slide

    @property
    def bounds(self) -> str:
        size, slide = (self.span(self.time_column, each) for each in (self.size, self.slide))
        return f"{size} every {slide}"


@dataclass(frozen=True, slots=True)
class Cumulate(Window):
    """Windows ``[start, start + n * step)`` up to ``size``, starts congruent modulo ``size``.

    ``size`` is a multiple of ``step``.
    """

    step: int = field(kw_only=True)

    @property
    def pane(self) -> int:
        return self.step

    @property
    def bounds(self) -> str:
        size, step = (self.span(self.time_column, each) for each in (self.size, self.step))
        return f"{step} up to {size}"


@dataclass(frozen=True, slots=True)
class Session(Unary):
    """Adds ``window_start`` and ``window_end`` of sessions, for each value of ``keys`` its own.

    A session is ``[first, last + gap)``: its rows are less than ``gap`` apart, and a row exactly
    one gap later begins the next one (S4). ``with_time`` as of `Window`.
    """

    stateful: ClassVar[bool] = True

    time_column: str
    keys: tuple[str, ...]
    gap: int
    with_time: bool = False

    @property
    def waits_for(self) -> tuple[tuple[Node, str], ...]:
        return ((self.input, self.time_column),)

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        return (wanted | {self.time_column, *self.keys},)
