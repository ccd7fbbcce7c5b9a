"""A job's metrics, as prometheus-client collects them: `tidegate.metrics` is the list.

All but those that are ``live`` come from the entry of the newest epoch: they say what is committed
and nothing else, whichever driver committed it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeAlias, TypeVar

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import Metric as Family

from tidegate import metrics
from tidegate.clock import Clock
from tidegate.connectors.registry import connector_of
from tidegate.epochs.about import About
from tidegate.epochs.entry import By, Entry
from tidegate.epochs.listener import Listener
from tidegate.epochs.manifest import Manifest
from tidegate.epochs.rejections import Rejection
from tidegate.epochs.sums import summed
from tidegate.events import SINK_RETRY
from tidegate.metrics import Kind, Metric
from tidegate.plan.fragments import Plan
from tidegate.reports.metrics.profile import Profile
from tidegate.reports.warnings import KINDS, warned_of
from tidegate.reports.watermarks import holder
from tidegate.types import END, Status, column_named, decimal_scale
from tidegate.version import __version__

K = TypeVar("K")
T = TypeVar("T")
Labels: TypeAlias = tuple[str, ...]
Sample: TypeAlias = tuple[Metric, Labels, float]
Buckets: TypeAlias = tuple[Labels, Sequence[int], float]
"""Labels, how many in each bucket, their sum."""

_FATES = ("used", "filtered", "late", "quarantined")
_COMMITTED = [each for each in metrics.METRICS if not (each.live or each.bounds)]


class JobMetrics(Listener):
    """Collects them. ``profile`` is that of the run."""

    def __init__(
        self,
        plan: Plan,
        profile: Profile,
        clock: Clock,
        entry: Entry,
        manifest: Manifest | None = None,
    ) -> None:
        self._plan = plan
        self._profile = profile
        self._clock = clock
        self._entry = entry
        self._start_s = clock.now_us() / 1e6
        self._about = About.of(plan)
        # What an older release has written of the job may say less.
        self._manifest = replace(manifest or Manifest.of(plan, 0, {}), about=self._about)
        self._filters = {node.id: node for node in plan.declared_filters()}
        self._tables = plan.accounts()
        read = {table.name: connector_of(table).read_options(table) for table in plan.tables}
        self._groups = {name: options.alignment_group for name, options in read.items()}
        self._durations = [0] * (len(metrics.EPOCH_DURATION.bounds) + 1)
        self._duration_s = 0.0
        self._executors: int | None = None

    def on_epoch(self, entry: Entry) -> None:
        took_s = max(0, entry.ended_us - entry.time_us) / 1e6
        self._durations[bisect_left(metrics.EPOCH_DURATION.bounds, took_s)] += 1
        self._duration_s += took_s
        self._entry = entry

    def set_executors(self, count: int) -> None:
        self._executors = count

    def collect(self) -> Iterator[Family]:
        """All of them."""
        yield from self.committed(self._entry)
        told = (metrics.START, metrics.SPLIT_WATERMARK_LAG, metrics.WATERMARK_LAG)
        yield from _families(told, self._live(self._entry))
        durations: list[Buckets] = [((), self._durations, self._duration_s)]
        yield _histogram(metrics.EPOCH_DURATION, durations)

    def committed(self, entry: Entry) -> Iterator[Family]:
        """Those that the entry tells, and where the run's time went."""
        yield from _families(_COMMITTED, self._samples(entry))
        late: dict[Labels, Rejection] = {}
        for (account, operator, _), rejection in entry.accounts.rejections():
            if any(rejection.buckets):
                late[account, operator] = late.get((account, operator), Rejection()) + rejection
        found = [(labels, each.buckets, each.seconds) for labels, each in late.items()]
        yield _histogram(metrics.LATENESS, found)

    def _samples(self, entry: Entry) -> Iterator[Sample]:
        yield metrics.INFO, (__version__, self._plan.job.name), 1
        yield metrics.EPOCH, (), entry.epoch
        yield metrics.EPOCH_TIME, (), entry.time_us / 1e6
        yield metrics.EPOCH_COMMITTED, (), entry.ended_us / 1e6
        for phase, seconds in self._profile.seconds().items():
            yield metrics.PHASE, phase, seconds
        for kind, size in entry.work.memory.items():
            yield metrics.WORKER_MEMORY, (kind,), size
        for (account, split), counts in _flat(entry.accounts.counts):
            for fate in _FATES:
                yield metrics.ROWS, (account, split, fate), getattr(counts, fate)
        yield metrics.LEDGER_ROWS, (), entry.accounts.ledger_rows
        for labels, rejection in entry.accounts.rejections():
            yield metrics.REJECTED_ROWS, labels, rejection.rows
        warned = Counter(each.kind for each in warned_of(self._manifest, entry))
        for each in KINDS:
            yield metrics.WARNINGS, (each,), warned[each]
        yield from self._watermarks(entry)
        yield from self._splits(entry)
        yield from self._state(entry)
        yield from self._sinks(entry)

    def _live(self, entry: Entry) -> Iterator[Sample]:
        now_s = self._clock.now_us() / 1e6
        yield metrics.START, (), self._start_s
        if self._executors is not None:
            yield metrics.EXECUTORS, (), self._executors
        for node in self._filters.values():
            if not node.unit_us:
                continue
            second, labels = 1e6 / node.unit_us, (node.account, node.column)
            for split, state in entry.filters.states.get(node.id, {}).items():
                if (value := state.effective) is not None:
                    yield metrics.SPLIT_WATERMARK_LAG, (*labels, split), now_s - value / second
            if (value := entry.filters.merged.get(node.id)) is not None:
                yield metrics.WATERMARK_LAG, labels, now_s - value / second

    def _watermarks(self, entry: Entry) -> Iterator[Sample]:
        groups: dict[str, list[float]] = {}
        for node in self._filters.values():
            unit = unit_of(column_named(node.schema, node.column).type)
            labels = (node.account, node.column)
            table = self._tables[node.account]
            statuses = entry.splits.statuses.get(table, {})
            states = entry.filters.states.get(node.id, {})
            known = {split: state.effective for split, state in states.items()}
            if (merged := entry.filters.merged.get(node.id)) is not None:
                yield metrics.WATERMARK, labels, merged / unit
            for split, state in states.items():
                if (value := state.effective) is not None:
                    yield metrics.SPLIT_WATERMARK, (*labels, split), value / unit
                if node.per is not None:
                    yield metrics.KEYS, (*labels, split), state.per_key.key_count
            holders, _ = holder(statuses, {split: known.get(split) for split in statuses})
            for split in statuses:
                yield metrics.HOLDS_BACK, (*labels, split), float(split in holders)
            active = [
                value * node.unit_us / 1e6
                for split, value in known.items()
                if value is not None and statuses.get(split) is Status.ACTIVE
            ]
            if node.unit_us and active:
                yield metrics.DRIFT, labels, max(active) - min(active)
                if group := self._groups[table]:
                    groups.setdefault(group, []).extend(active)
        for group, times in groups.items():
            yield metrics.ALIGNMENT_DRIFT, (group,), max(times) - min(times)

    def _splits(self, entry: Entry) -> Iterator[Sample]:
        for (table, split), status in _flat(entry.splits.statuses):
            for each in Status:
                name = each.name.lower()
                yield metrics.SPLIT_STATUS, (table, split, name), float(each == status)
            lost = entry.splits.lost.get(table, {}).get(split, ())
            yield metrics.LOST_ROWS, (table, split), sum(end - first for first, end in lost)
        for labels, lag in _flat(entry.splits.lags()):
            yield metrics.SPLIT_LAG, labels, lag
        for labels, size in _flat(entry.splits.bytes):
            yield metrics.BYTES, labels, size

    def _state(self, entry: Entry) -> Iterator[Sample]:
        for (fragment, operator), kept in _flat(entry.work.state):
            labels = (str(fragment), operator)
            yield metrics.STATE_ROWS, labels, kept.rows
            yield metrics.STATE_BYTES, labels, kept.bytes
            yield metrics.STATE_RUNS, labels, kept.runs
            if kind := self._about.closing[fragment].get(operator):  # its buckets are windows
                yield metrics.OPEN_WINDOWS, labels, kept.buckets
                if kept.oldest < END - 1:  # else of groups without a time
                    yield metrics.OLDEST_WINDOW, labels, kept.oldest / unit_of(kind)
        for fragment, sent in entry.work.sent.items():
            yield metrics.EXCHANGE_MESSAGES, (str(fragment),), sent.messages
            yield metrics.EXCHANGE_BYTES, (str(fragment),), sent.bytes

    def _sinks(self, entry: Entry) -> Iterator[Sample]:
        # Several queries may write into one table.
        sunk = entry.sinks.sunk.items()
        by_sink = summed({self._about.sinks[target]: each} for target, each in sunk)
        kinds = (metrics.SINK_COMMITS, metrics.SINK_ROWS, metrics.SINK_BYTES)
        for name, told in by_sink.items():
            for metric, value in zip(kinds, told, strict=True):
                yield metric, (name,), value
        yield metrics.SINK_RETRIES, (), entry.work.events.get(SINK_RETRY, 0)


def unit_of(kind: str) -> float:
    """How many steps of a 64-bit event time of type ``kind`` make one that people know."""
    if kind == "BIGINT":
        return 1
    scale = decimal_scale(kind)
    return 1e6 if scale is None else 10.0**scale


def _flat(values: By[K, T]) -> Iterator[tuple[tuple[K, str], T]]:
    for outer, inner in values.items():
        for name, value in inner.items():
            yield (outer, name), value


def _families(told: Iterable[Metric], samples: Iterable[Sample]) -> Iterator[Family]:
    """The families of the metrics that are ``told`` in any case, and of those with samples."""
    # Filters that stand on each other may have one column: the upper one's is the table's.
    found: dict[Metric, dict[Labels, float]] = {metric: {} for metric in told}
    for metric, labels, value in samples:
        found.setdefault(metric, {})[labels] = value
    for metric, values in found.items():
        kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
        family: CounterMetricFamily | GaugeMetricFamily = kind(
            metric.name, metric.help, labels=metric.labels
        )
        for labels, value in values.items():
            family.add_metric(labels, value)
        yield family


def _histogram(metric: Metric, samples: Iterable[Buckets]) -> Family:
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    bounds = [*(str(bound) for bound in metric.bounds), "+Inf"]
    for labels, counts, total in samples:
        family.add_metric(labels, list(zip(bounds, accumulate(counts), strict=True)), total)
    return family
