"""A job's metrics as of its newest epoch, as a file that Prometheus' node exporter can pick up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from prometheus_client import generate_latest
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from tidegate.clock import Clock
from tidegate.epochs.entry import Entry
from tidegate.epochs.listener import Listener
from tidegate.errors import StoreError
from tidegate.reports.metrics.job_metrics import JobMetrics
from tidegate.store.base import Store

NAME: Final = "metrics.prom"
AWAY_S: Final = 10.0
"""How often it is written into a store that is not local: nobody looks more often."""


@dataclass(slots=True)
class MetricsFile(Listener):
    """Writes the file anew, whole: for each epoch, or every `AWAY_S` and at the end of the run.

    Metrics that are ``live`` are left out: the file may be read when the job has long ended.
    """

    metrics: JobMetrics
    store: Store
    clock: Clock
    _written_s: float = -AWAY_S
    _waiting: Entry | None = None

    def on_epoch(self, entry: Entry) -> None:
        self._waiting = entry
        self.on_tick()

    def on_tick(self, waiting: bool = False) -> None:
        del waiting
        if self.store.is_local or self.clock.monotonic_s() >= self._written_s + AWAY_S:
            self.flush()

    def stopped(self) -> None:
        self.flush()

    def flush(self) -> None:
        """Writes what has not been written. A store that takes no file does not end the job."""
        entry, self._waiting = self._waiting, None  # at once: two threads of the driver come here
        if entry is None:
            return
        self._written_s = self.clock.monotonic_s()
        with suppress(OSError, StoreError):
            self.store.write(NAME, generate_latest(_Committed(self.metrics, entry)))


@dataclass(frozen=True, slots=True, eq=False)
class _Committed(Collector):
    metrics: JobMetrics
    entry: Entry

    def collect(self) -> Iterator[Family]:
        return self.metrics.committed(self.entry)
