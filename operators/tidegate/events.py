"""Rare things that a process lived through, counted for the metrics.

A worker's counts go to the driver with the reports of its tasks, so none is counted twice, and
those of a task that failed are told by the next one on that worker.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

SINK_RETRY: Final = "sink_retry"
"""A sink's transaction was begun again: the other side was away, or another writer in between."""


class Events:
    """Counts by name. For one thread."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def happened(self, name: str) -> None:
        self._counts[name] += 1

    def take(self) -> dict[str, int]:
        """The counts since the last call."""
        taken, self._counts = dict(self._counts), Counter()
        return taken


EVENTS: Final = Events()
"""Those of this process."""
