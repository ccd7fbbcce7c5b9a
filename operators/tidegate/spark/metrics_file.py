"""A job's metrics as of its newest epoch, as a file that Prometheus' node exporter can pick up.

All but the profile comes from the entry of the epoch: it says what is committed and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

from tidegate import metrics
from tidegate.clock import Clock
from tidegate.errors import StoreError
from tidegate.metrics import Metric
from tidegate.plan.fragments import Plan
from tidegate.spark.checkpoint import Entry
from tidegate.spark.profile import Profile
from tidegate.store.base import Store
from tidegate.types import Status, column_named, decimal_scale

Family = CounterMetricFamily | GaugeMetricFamily
Sample = tuple[tuple[str, ...], float]

_FATES = ("used", "filtered", "late", "quarantined")


NAME: Final = "metrics.prom"
AWAY_S: Final = 10.0
"""How often it is written into a store that is not local: nobody looks more often."""


class MetricsFile:
    """Writes the file anew, whole: for each epoch, or every `AWAY_S` and at the end of the run.

    ``profile`` is that of the run.
    """

    def __init__(self, plan: Plan, store: Store, profile: Profile, clock: Clock) -> None:
        self._plan = plan
        self._store = store
        self._profile = profile
        self._clock = clock
        self._written_s = -AWAY_S
        self._waiting: Entry | None = None

    def on_epoch(self, entry: Entry) -> None:
        """An epoch was committed."""
        self._waiting = entry
        self.on_tick()

    def on_tick(self) -> None:
        """Time has passed."""
        if self._store.is_local or self._clock.monotonic_s() >= self._written_s + AWAY_S:
            self.flush()

    def flush(self) -> None:
        """Writes what has not been written. A store that takes no file does not end the job."""
        entry, self._waiting = self._waiting, None  # at once: two threads of the driver come here
        if entry is None:
            return
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Epoch(self._plan, entry, self._profile))
        self._written_s = self._clock.monotonic_s()
        with suppress(OSError, StoreError):
            self._store.write(NAME, generate_latest(registry))


class _Epoch:
    """The metrics of one epoch, as prometheus-client collects them."""

    def __init__(self, plan: Plan, entry: Entry, profile: Profile) -> None:
        self._plan = plan
        self._entry = entry
        self._profile = profile

    def collect(self) -> Iterator[Family]:
        entry = self._entry
        yield _family(metrics.EPOCH, [((), entry.epoch)])
        yield _family(metrics.EPOCH_TIME, [((), entry.time_us / 1e6)])
        yield _family(metrics.LEDGER_ROWS, [((), entry.ledger_rows)])
        yield _family(metrics.ROWS, self._rows())
        yield _family(metrics.SPLIT_WATERMARK, self._watermarks())
        yield _family(metrics.SPLIT_STATUS, self._statuses())
        yield _family(metrics.PHASE, self._profile.seconds().items())

    def _rows(self) -> Iterator[Sample]:
        for account, splits in self._entry.counts.items():
            for split, counts in splits.items():
                for fate in _FATES:
                    yield (account, split, fate), counts[fate]

    def _watermarks(self) -> Iterator[Sample]:
        filters = {node.id: node for node in self._plan.watermark_filters()}
        for filter_id, splits in self._entry.filters.items():
            node = filters[filter_id]
            unit = _unit(column_named(node.schema, node.column).type)
            for split, state in splits.items():
                if state["watermark"] is not None:
                    yield (node.account, node.column, split), state["watermark"] / unit

    def _statuses(self) -> Iterator[Sample]:
        for table, splits in self._entry.statuses.items():
            for split, status in splits.items():
                for each in Status:
                    yield (table, split, each.name.lower()), float(each == status)


def _unit(kind: str) -> float:
    """How many steps of a 64-bit event time of type ``kind`` make one that people know."""
    if kind == "BIGINT":
        return 1
    scale = decimal_scale(kind)
    return 1e6 if scale is None else 10.0**scale


def _family(metric: Metric, samples: Iterable[Sample]) -> Family:
    kind = CounterMetricFamily if metric.is_counter else GaugeMetricFamily
    family: Family = kind(metric.name, metric.help, labels=metric.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family
