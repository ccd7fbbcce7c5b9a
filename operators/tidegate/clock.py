"""The only place that reads wall time (style rule 4; held by tests/tidy).

Operators never ask a clock: they get the epoch's recorded time with its `Barrier` (S6). What asks
is the planner that records an epoch's time, the lease, and progress shown to people.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """Wall time in microseconds since the Unix epoch, and a monotonic time for durations."""

    def now_us(self) -> int: ...

    def monotonic_s(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clock."""

    def now_us(self) -> int:
        return time.time_ns() // 1000

    def monotonic_s(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass(slots=True)
class ManualClock:
    """A clock that moves only when told to: for tests and the simulator."""

    time_us: int = 0

    def now_us(self) -> int:
        return self.time_us

    def monotonic_s(self) -> float:
        return self.time_us / 1e6

    def sleep(self, seconds: float) -> None:
        self.time_us += int(seconds * 1e6)
