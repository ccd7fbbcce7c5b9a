"""Where the time of a run's epochs goes: seconds by kind of task and phase, of all its epochs.

    source, stage N, writer   what their tasks measured (`tidegate.phases`), summed over the tasks
    driver                    plan, query, offset log, run, commit, commit log: one after the other

The driver's phases of an epoch add up to its duration; those of the tasks are parts of ``run``, and
tasks run side by side. What Spark measures it is asked for once a second: of jobs with shorter
epochs ``plan``, ``query`` and the logs are those of some epochs only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tidegate.epochs.entry import Entry
from tidegate.epochs.listener import Listener

DRIVER: Final = "driver"
RUN, COMMIT = "run", "commit"
_SPARKS: Final[Mapping[str, str]] = {
    "latestOffset": "plan",
    "queryPlanning": "query",
    "walCommit": "offset log",
    "commitOffsets": "commit log",
}
"""What Spark measures of an epoch, by its names; the rest of it is within `RUN` and `COMMIT`."""
_RAN: Final = "addBatch"


class Profile(Listener):
    """Sums up. Fed from two threads of the driver, each with phases of its own."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[str, str], float] = {}
        self._batch = -1

    def add(self, kind: str, phase: str, seconds: float) -> None:
        """Counts some time of a phase."""
        key = kind, phase
        self._seconds[key] = self._seconds.get(key, 0.0) + seconds

    def on_epoch(self, entry: Entry) -> None:
        """Its entry has what the tasks measured."""
        for kind, phases in entry.work.phases.items():
            for phase, seconds in phases.items():
                self.add(kind, phase, seconds)

    def on_batch(self, number: int, durations_ms: Mapping[str, int]) -> None:
        """What Spark tells of its newest batch; it may be told several times, or not at all.

        Of one that has not run yet, for want of rows, it tells the number too.
        """
        if number <= self._batch or _RAN not in durations_ms:
            return
        self._batch = number
        for theirs, phase in _SPARKS.items():
            self.add(DRIVER, phase, durations_ms.get(theirs, 0) / 1000)

    def seconds(self) -> dict[tuple[str, str], float]:
        """Seconds by (kind of task, phase)."""
        return dict(self._seconds)
