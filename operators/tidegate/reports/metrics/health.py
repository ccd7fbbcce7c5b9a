"""Whether a job runs, and whether it gets on: what probes ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tidegate.clock import Clock
from tidegate.epochs.entry import Entry
from tidegate.epochs.listener import Listener

STALLED_S: Final = 300.0
"""An epoch that takes longer does not get on. Brokers or a store that are away for long do that
too: a job waits for them, and is then not ready."""
DEAD_S: Final = 900.0
"""The driver's main thread has hung for so long: no store or broker is waited for that long."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``why`` is a sentence for people."""

    good: bool
    why: str


class Health(Listener):
    """Asked by others, in any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._beat_s = clock.monotonic_s()
        self._progress_s = self._beat_s
        self._phase = "starting"

    def started(self) -> None:
        self._phase = "running"
        self._progress_s = self._beat_s = self._clock.monotonic_s()

    def stopping(self) -> None:
        self._phase = "stopping"

    def on_tick(self, waiting: bool = False) -> None:
        self._beat_s = self._clock.monotonic_s()
        if waiting:
            self._progress_s = self._beat_s

    def on_epoch(self, entry: Entry) -> None:
        del entry
        self._progress_s = self._clock.monotonic_s()

    def alive(self) -> Verdict:
        """Whether it is worth waiting for."""
        silent_s = self._clock.monotonic_s() - self._beat_s
        if self._phase == "running" and silent_s >= DEAD_S:
            return Verdict(False, f"the driver has hung for {silent_s:.0f} s")
        return Verdict(True, self._phase)

    def ready(self) -> Verdict:
        """Whether epochs progress, or there is nothing to read."""
        still_s = self._clock.monotonic_s() - self._progress_s
        if self._phase != "running":
            return Verdict(False, self._phase)
        if still_s >= STALLED_S:
            return Verdict(False, f"no epoch was committed for {still_s:.0f} s")
        return Verdict(True, self._phase)
