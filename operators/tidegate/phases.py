"""Where the time of a process goes: seconds by phase, each moment counted once.

A phase that begins within another stops that one's clock, so the phases of a task add up to its
time. Workers have one thread for an epoch's work, and one `PHASES`; what they measured goes to the
driver with their reports.

Iterators are timed item by item (`Phases.timed`): what consumes an item is not what made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from tidegate.clock import Clock, SystemClock

_T = TypeVar("_T")

OUTSIDE: Final = "outside"
"""What lies between the phases: Spark's worker loop, its serialisers, waiting for the JVM."""


class Phases:
    """The phases of one thread of work. `OUTSIDE` runs when no other does."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self.start()

    def start(self) -> None:
        """Forgets all: a task begins."""
        self._seconds: dict[str, float] = {}
        self._open = [OUTSIDE]
        self._since = self._clock.monotonic_s()

    def take(self) -> dict[str, float]:
        """Seconds by phase since `start`, or since the last call."""
        self._credit()
        taken, self._seconds = self._seconds, {}
        return taken

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """The block is of phase ``name``. It must not yield to its caller: see `timed`."""
        self._enter(name)
        try:
            yield
        finally:
            self._leave()

    def timed(self, name: str, items: Iterable[_T]) -> Iterator[_T]:
        """``items``; making each of them is of phase ``name``."""
        iterator = iter(items)
        while True:
            self._enter(name)
            try:
                item = next(iterator)
            except StopIteration:
                return
            finally:
                self._leave()
            yield item

    def _enter(self, name: str) -> None:
        self._credit()
        self._open.append(name)

    def _leave(self) -> None:
        self._credit()
        self._open.pop()

    def _credit(self) -> None:
        now, name = self._clock.monotonic_s(), self._open[-1]
        self._seconds[name] = self._seconds.get(name, 0.0) + now - self._since
        self._since = now


PHASES: Final = Phases()
"""Those of this process."""
