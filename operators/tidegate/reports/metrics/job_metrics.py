"""A job's metrics, as prometheus-client collects them: `tidegate.metrics` is the list.

All but those that are ``live`` come from the entry of the newest epoch: they say what is committed
and nothing else, whichever driver committed it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import Metric as Family

from tidegate import metrics
from tidegate.clock import Clock
from tidegate.connectors.registry import connector_of
from tidegate.epochs.about import closing_type
from tidegate.epochs.entry import By, Entry
from tidegate.epochs.listener import Listener
from tidegate.epochs.rejections import Rejection
from tidegate.epochs.sums import summed
from tidegate.epochs.targets import sink_tables
from tidegate.events import SINK_RETRY
from tidegate.metrics import Kind, Metric
from tidegate.plan.fragments import Plan
from tidegate.reports.metrics.profile import Profile
from tidegate.reports.watermarks import holder
from tidegate.types import END, Status, column_named, decimal_scale
from tidegate.version import __version__

Sample = tuple[tuple[str, ...], float]
Buckets = tuple[tuple[str, ...], list[int], float]
"""Labels, how many in each bucket, their sum."""

_FATES = ("used", "filtered", "late", "quarantined")


class JobMetrics(Listener):
    """Collects them. ``profile`` is that of the run."""

    def __init__(self, plan: Plan, profile: Profile, clock: Clock, entry: Entry) -> None:
        self._plan = plan
        self._profile = profile
        self._clock = clock
        self._entry = entry
        self._start_s = clock.now_us() / 1e6
        self._filters = {node.id: node for node in plan.declared_filters()}
        self._tables = plan.accounts()
        self._sink_tables = sink_tables(plan.job)
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
        yield from self._live(self._entry)

    def committed(self, entry: Entry) -> Iterator[Family]:
        """Those that the entry tells, and where the run's time went."""
        yield _family(metrics.INFO, [((__version__, self._plan.job.name), 1)])
        yield _family(metrics.EPOCH, [((), entry.epoch)])
        yield _family(metrics.EPOCH_TIME, [((), entry.time_us / 1e6)])
        yield _family(metrics.EPOCH_COMMITTED, [((), entry.ended_us / 1e6)])
        yield _family(metrics.PHASE, self._profile.seconds().items())
        yield _family(
            metrics.WORKER_MEMORY, [((k,), size) for k, size in entry.work.memory.items()]
        )
        yield from self._rows(entry)
        yield from self._watermarks(entry)
        yield from self._splits(entry)
        yield from self._state(entry)
        yield from self._sinks(entry)

    def _live(self, entry: Entry) -> Iterator[Family]:
        now_s = self._clock.now_us() / 1e6
        yield _family(metrics.START, [((), self._start_s)])
        durations: list[Buckets] = [((), self._durations, self._duration_s)]
        yield _histogram(metrics.EPOCH_DURATION, durations)
        lags, merged = list[Sample](), list[Sample]()
        for node in self._filters.values():
            if not node.unit_us:
                continue
            second = 1e6 / node.unit_us
            lags += [
                ((node.account, node.column, split), now_s - value / second)
                for split, state in entry.filters.states.get(node.id, {}).items()
                if (value := state.effective) is not None
            ]
            if (value := entry.filters.merged.get(node.id)) is not None:
                merged.append(((node.account, node.column), now_s - value / second))
        yield _family(metrics.SPLIT_WATERMARK_LAG, lags)
        yield _family(metrics.WATERMARK_LAG, merged)
        if self._executors is not None:
            yield _family(metrics.EXECUTORS, [((), self._executors)])

    def _rows(self, entry: Entry) -> Iterator[Family]:
        yield _family(
            metrics.ROWS,
            (
                ((account, split, fate), getattr(counts, fate))
                for account, splits in entry.accounts.counts.items()
                for split, counts in splits.items()
                for fate in _FATES
            ),
        )
        yield _family(metrics.LEDGER_ROWS, [((), entry.accounts.ledger_rows)])
        rejected = [
            ((account, operator, reason), counted)
            for account, operators in entry.accounts.rejected.items()
            for operator, reasons in operators.items()
            for reason, counted in reasons.items()
        ]
        yield _family(
            metrics.REJECTED_ROWS, [(labels, rejection.rows) for labels, rejection in rejected]
        )
        late: dict[tuple[str, ...], Rejection] = {}
        for (account, operator, _), rejection in rejected:
            if any(rejection.buckets):
                late[account, operator] = late.get((account, operator), Rejection()) + rejection
        found = [
            (labels, list(rejection.buckets), rejection.seconds)
            for labels, rejection in late.items()
        ]
        yield _histogram(metrics.LATENESS, found)

    def _watermarks(self, entry: Entry) -> Iterator[Family]:
        splits, merged, holds, drifts, keys = (list[Sample]() for _ in range(5))
        groups: dict[str, list[float]] = {}
        for node in self._filters.values():
            unit = unit_of(column_named(node.schema, node.column).type)
            labels = (node.account, node.column)
            table = self._tables[node.account]
            statuses = entry.splits.statuses.get(table, {})
            states = entry.filters.states.get(node.id, {})
            known = {split: state.effective for split, state in states.items()}
            splits += [((*labels, s), v / unit) for s, v in known.items() if v is not None]
            if (value := entry.filters.merged.get(node.id)) is not None:
                merged.append((labels, value / unit))
            if node.per is not None:
                keys += [((*labels, s), state.per_key.key_count) for s, state in states.items()]
            holders, _ = holder(statuses, {s: known.get(s) for s in statuses})
            holds += [((*labels, split), float(split in holders)) for split in statuses]
            active = [
                value * node.unit_us / 1e6
                for split, value in known.items()
                if value is not None and statuses.get(split) is Status.ACTIVE
            ]
            if node.unit_us and active:
                drifts.append((labels, max(active) - min(active)))
                if group := self._groups[table]:
                    groups.setdefault(group, []).extend(active)
        yield _family(metrics.SPLIT_WATERMARK, splits)
        yield _family(metrics.WATERMARK, merged)
        yield _family(metrics.HOLDS_BACK, holds)
        yield _family(metrics.DRIFT, drifts)
        yield _family(metrics.KEYS, keys)
        aligned = [((group,), max(times) - min(times)) for group, times in groups.items()]
        yield _family(metrics.ALIGNMENT_DRIFT, aligned)

    def _splits(self, entry: Entry) -> Iterator[Family]:
        yield _family(
            metrics.SPLIT_STATUS,
            (
                ((table, split, each.name.lower()), float(each == status))
                for table, splits in entry.splits.statuses.items()
                for split, status in splits.items()
                for each in Status
            ),
        )
        yield _family(metrics.SPLIT_LAG, _by_split(entry.splits.lags()))
        yield _family(metrics.BYTES, _by_split(entry.splits.bytes))
        lost = {
            table: {
                split: sum(
                    end - first for first, end in entry.splits.lost.get(table, {}).get(split, ())
                )
                for split in splits
            }
            for table, splits in entry.splits.statuses.items()
        }
        yield _family(metrics.LOST_ROWS, _by_split(lost))

    def _state(self, entry: Entry) -> Iterator[Family]:
        kept_by = [
            ((str(fragment), operator), kept)
            for fragment, operators in entry.work.state.items()
            for operator, kept in operators.items()
        ]
        yield _family(metrics.STATE_ROWS, [(labels, kept.rows) for labels, kept in kept_by])
        yield _family(metrics.STATE_BYTES, [(labels, kept.bytes) for labels, kept in kept_by])
        yield _family(metrics.STATE_RUNS, [(labels, kept.runs) for labels, kept in kept_by])
        windows, oldest = list[Sample](), list[Sample]()
        for labels, kept in kept_by:
            if unit := self._closing_unit(*labels):
                windows.append((labels, kept.buckets))
                if kept.oldest < END - 1:  # else of groups without a time
                    oldest.append((labels, kept.oldest / unit))
        yield _family(metrics.OPEN_WINDOWS, windows)
        yield _family(metrics.OLDEST_WINDOW, oldest)
        sent = [((str(fragment),), sent) for fragment, sent in entry.work.sent.items()]
        yield _family(metrics.EXCHANGE_MESSAGES, [(labels, each.messages) for labels, each in sent])
        yield _family(metrics.EXCHANGE_BYTES, [(labels, each.bytes) for labels, each in sent])

    def _closing_unit(self, fragment: str, operator: str) -> float:
        """The unit of the closing key of an operator whose buckets are windows; else 0."""
        for node in self._plan.fragments[int(fragment)].nodes:
            if type(node).__name__ == operator and (kind := closing_type(node)) is not None:
                return unit_of(kind)
        return 0

    def _sinks(self, entry: Entry) -> Iterator[Family]:
        # Several queries may write into one table.
        sunk = entry.sinks.sunk.items()
        by_sink = summed({self._sink_tables[target].name: each} for target, each in sunk)
        kinds = (metrics.SINK_COMMITS, metrics.SINK_ROWS, metrics.SINK_BYTES)
        for place, metric in enumerate(kinds):
            yield _family(metric, [((name,), sunk[place]) for name, sunk in by_sink.items()])
        yield _family(metrics.SINK_RETRIES, [((), entry.work.events.get(SINK_RETRY, 0))])


def unit_of(kind: str) -> float:
    """How many steps of a 64-bit event time of type ``kind`` make one that people know."""
    if kind == "BIGINT":
        return 1
    scale = decimal_scale(kind)
    return 1e6 if scale is None else 10.0**scale


def _by_split(values: By[str, int]) -> Iterator[Sample]:
    for table, splits in values.items():
        for split, value in splits.items():
            yield (table, split), value


def _family(metric: Metric, samples: Iterable[Sample]) -> Family:
    kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    family: CounterMetricFamily | GaugeMetricFamily = kind(
        metric.name, metric.help, labels=metric.labels
    )
    # Filters that stand on each other may have one column: the upper one's is the table's.
    for labels, value in dict(samples).items():
        family.add_metric(labels, value)
    return family


def _histogram(metric: Metric, samples: Iterable[Buckets]) -> Family:
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    bounds = [*(str(bound) for bound in metric.bounds), "+Inf"]
    for labels, counts, total in samples:
        family.add_metric(labels, list(zip(bounds, accumulate(counts), strict=True)), total)
    return family
