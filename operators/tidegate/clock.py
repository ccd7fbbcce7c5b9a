"""The only place that reads wall time (style rule 4; held by tests/tidy).

Operators never ask a clock: they get the epoch's recorded time with its `Barrier` (S6). What asks
is the planner that records an epoch's time, the lease, and progress shown to people.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Final, Protocol


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


class AwakeClock:
    """Seconds for which this process has been awake: what it slept through does not count (S8).

    A process that is stopped, or whose machine is, sees time jump when it goes on. A thread looks
    at the clock every `TICK_S`; of a longer gap only `GAP_S_MAX` are counted.
    """

    TICK_S: Final = 0.25
    GAP_S_MAX: Final = 1.0

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._awake_s = 0.0
        self._last_s = clock.monotonic_s()
        threading.Thread(target=self._run, name="awake-clock", daemon=True).start()

    def awake_s(self) -> float:
        """Up to now, since this clock was made."""
        with self._lock:
            now = self._clock.monotonic_s()
            self._awake_s += min(now - self._last_s, self.GAP_S_MAX)
            self._last_s = now
            return self._awake_s

    def _run(self) -> None:
        while True:
            self._clock.sleep(self.TICK_S)
            self.awake_s()
