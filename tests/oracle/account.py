"""The watermark filter and the accounting of one table (S1, S2, S6, S7, S10, S11).

Each split is judged alone, in its own order; the loop in `Filter.judge` is the design's, word
for word. A row has one reason, the first that applies of malformed, null_time, future,
behind_merged, late.

Only ``on-periodic`` (S10) and the future guard (S11) ask when a row was read: they are told the
epochs of each split, `Epoch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from oracle.decode import BadRow, Row, Table, Values, json_lines, read_split, value_at
from oracle.key_watermarks import KeyWatermarks, PerKey
from oracle.source_watermark import Histogram, SourceWatermark

Where: TypeAlias = Callable[[Values], "bool | None"]
Strategy: TypeAlias = Callable[[Values], "int | None"]
Files: TypeAlias = "Sequence[bytes] | Sequence[Mapping[str, Any]]"
"""A split: the bytes of its files in order, or simply its rows."""

HOUR_US = 3_600_000_000


@dataclass(frozen=True)
class WatermarkOn:
    """A watermark declaration: ``WATERMARK FOR column AS strategy``.

    ``column`` may be nested (``a.b``). ``strategy`` gives the row's candidate in the column's
    unit, or None. ``unit_us`` is the microseconds in one unit of the column (1000 for BIGINT
    milliseconds, 0: not a time, no guard); ``skew_us`` is the future guard (0: off).
    ``periodic_us``: the watermark advances at the ends of epochs only, at most once in so long (0:
    with every row). ``per``: keys have watermarks of their own. ``before`` is a column that
    accepted rows get: the watermark before the row.
    """

    column: str
    strategy: Strategy | SourceWatermark
    skew_us: int = HOUR_US
    unit_us: int = 1
    operator: str = "WatermarkFilter"
    periodic_us: int = 0
    before: str = ""
    per: PerKey | None = None


@dataclass(frozen=True)
class Epoch:
    """An epoch of a split: it took the rows up to offset ``end`` (exclusive) at ``time_us``."""

    end: int
    time_us: int


@dataclass(frozen=True)
class LedgerRow:
    """A row that was late or quarantined; times are in the column's unit."""

    table: str
    split: str
    offset: int
    event_time: int | None
    watermark: int | None
    lateness: int | None
    operator: str
    reason: str


@dataclass
class Counts:
    """``read = used + filtered + late + quarantined``."""

    read: int = 0
    used: int = 0
    filtered: int = 0
    late: int = 0
    quarantined: int = 0

    def add(self, other: Counts) -> None:
        self.read += other.read
        self.used += other.used
        self.filtered += other.filtered
        self.late += other.late
        self.quarantined += other.quarantined


@dataclass
class Judgement:
    """All that is known of one account when its splits have been read."""

    rows: list[Row] = field(default_factory=list)  # accepted by the filter, WHERE not applied
    ledger: list[LedgerRow] = field(default_factory=list)
    splits: dict[str, Counts] = field(default_factory=dict)
    watermarks: dict[str, dict[str, int | None]] = field(default_factory=dict)  # split, column
    lived: bool = False
    reached: int | None = None

    @property
    def counts(self) -> Counts:
        """The counts of all splits together."""
        total = Counts()
        for counts in self.splits.values():
            total.add(counts)
        return total

    def merged_watermark(self, column: str) -> int | None:
        """The minimum over the splits; None while one of them has not spoken.

        Of splits that come and go: how far they were at most (see `oracle.living`).
        """
        if self.lived:
            return self.reached
        known = [of_split[column] for of_split in self.watermarks.values()]
        if not known or None in known:
            return None
        return min(value for value in known if value is not None)


def judge(
    table: Table,
    splits: Mapping[str, Files],
    watermarks: Sequence[WatermarkOn],
    *,
    now_us: int,
    wheres: Sequence[Where | None] = (),
    floors: Mapping[str, Sequence[tuple[int, int]]] | None = None,
    epochs: Mapping[str, Sequence[Epoch]] | None = None,
    broker_us: Mapping[str, Mapping[int, int]] | None = None,
) -> Judgement:
    """Reads every split of ``table`` through ``watermarks`` (stacked: the first is lowest).

    ``now_us`` is the epoch's recorded time. ``wheres`` has the WHERE of every query on the
    source (None: none); without any query all accepted rows are used. ``floors`` comes from the
    epoch log where a split was idle or joined late (S6): from row ``offset`` on, the split starts
    from the merged watermark ``floor`` as its own; it is for a single watermark. ``epochs`` are
    those of each split in order; rows behind the last of them are of an epoch at ``now_us``, which
    has not ended. ``broker_us`` is when the broker appended a row, by split and offset, where it
    says so.
    """
    judgement = Judgement()
    for split in sorted(splits):
        reading = Reading(judgement, table, split, splits[split], watermarks, wheres)
        floors_left = sorted((floors or {}).get(split, ()))
        epochs_left = list((epochs or {}).get(split, ()))
        appended_us = (broker_us or {}).get(split, {})
        for row in reading.rows:
            while epochs_left and epochs_left[0].end <= row.offset:
                _end_epoch(reading.filters, epochs_left.pop(0))
            epoch_us = epochs_left[0].time_us if epochs_left else now_us
            while floors_left and floors_left[0][0] <= row.offset:
                reading.filters[0].start_from(floors_left.pop(0)[1])
            reading.judge(row, appended_us.get(row.offset, epoch_us))
        for epoch in epochs_left:
            _end_epoch(reading.filters, epoch)
        reading.end()
    return judgement


class Reading:
    """One split on its way into a ``judgement``: its ``rows``, which are judged one by one."""

    def __init__(
        self,
        judgement: Judgement,
        table: Table,
        split: str,
        files: Files,
        watermarks: Sequence[WatermarkOn],
        wheres: Sequence[Where | None],
    ) -> None:
        self.filters = [Filter(table.name, on) for on in watermarks]
        self.rows = read_split(table, split, _as_files(files))
        self._judgement = judgement
        self._table = table.name
        self._split = split
        self._wheres = wheres
        self._counts = judgement.splits[split] = Counts()

    def judge(self, row: Row | BadRow, known_us: int) -> None:
        """``known_us``: the time against which the row may be in the future."""
        counts = self._counts
        counts.read += 1
        rejected = _judge_row(self._table, row, self.filters, known_us)
        if rejected is not None:
            self._judgement.ledger.append(rejected)
            if rejected.reason in ("behind_merged", "late"):
                counts.late += 1
            else:
                counts.quarantined += 1
            return
        assert isinstance(row, Row)
        self._judgement.rows.append(row)
        passed = (where is None or where(row.values) is True for where in self._wheres)
        if not self._wheres or any(passed):
            counts.used += 1
        else:
            counts.filtered += 1

    def end(self) -> None:
        """Notes where the split's watermarks are now."""
        self._judgement.watermarks[self._split] = {f.on.column: f.watermark for f in self.filters}


def _as_files(files: Files) -> list[bytes]:
    if any(isinstance(file, Mapping) for file in files):
        return [json_lines(row for row in files if isinstance(row, Mapping))]
    return [file for file in files if isinstance(file, bytes)]


def _end_epoch(filters: Iterable[Filter], epoch: Epoch) -> None:
    for filter_ in filters:
        filter_.end_epoch(epoch.time_us)


def _judge_row(
    table: str, row: Row | BadRow, filters: Iterable[Filter], known_us: int
) -> LedgerRow | None:
    """``known_us``: the time against which the row may be in the future."""
    if isinstance(row, BadRow):
        return LedgerRow(table, row.split, row.offset, None, None, None, "decode", "malformed")
    for filter_ in filters:
        rejected = filter_.judge(row, known_us)
        if rejected is not None:
            return rejected
    return None


class Filter:
    """One watermark filter on one split."""

    def __init__(self, table: str, on: WatermarkOn) -> None:
        self.table = table
        self.on = on
        self.watermark: int | None = None
        self.floor: int | None = None
        self.pending: int | None = None  # what the watermark will be, on-periodic
        self.advanced_us: int | None = None
        self.histogram: Histogram | None = None
        if isinstance(on.strategy, SourceWatermark):
            self.histogram = Histogram(on.strategy, on.unit_us)
        self.keys = None if on.per is None else KeyWatermarks(on.per)

    def start_from(self, floor: int) -> None:
        """The split comes back behind a merged watermark that went on without it (S6)."""
        self.floor = floor
        if self.watermark is None or self.watermark < floor:
            self.watermark = floor

    def end_epoch(self, time_us: int) -> None:
        """The barrier: on-periodic, the watermark may advance to what is pending."""
        if self.pending is None or not _above(self.pending, self.watermark):
            return
        if self.advanced_us is None or self.advanced_us + self.on.periodic_us <= time_us:
            self.watermark, self.pending = self.pending, None
            self.advanced_us = time_us

    def judge(self, row: Row, known_us: int) -> LedgerRow | None:
        """None if the row passes, which may raise the watermark; else its line in the ledger."""
        time = value_at(row.values, self.on.column)
        if time is None:
            return self._rejected(row, None, "null_time")
        guarded = self.on.skew_us > 0 and self.on.unit_us > 0
        if guarded and time * self.on.unit_us > known_us + self.on.skew_us:
            return self._rejected(row, time, "future")
        # A late row is disorder, too: it is counted before it is judged.
        behind = None if self.histogram is None else self.histogram.candidate_behind(time)
        if self.keys is not None:
            return self._judge_by_key(row, time, self.keys)
        if self.floor is not None and time < self.floor:
            return self._rejected(row, time, "behind_merged")
        if self.watermark is not None and time < self.watermark:
            return self._rejected(row, time, "late")
        strategy = self.on.strategy
        candidate = behind if isinstance(strategy, SourceWatermark) else strategy(row.values)
        if self.on.before:
            row.values[self.on.before] = self.watermark
        if candidate is not None and _above(candidate, self.watermark):
            if self.on.periodic_us == 0:
                self.watermark = candidate
            elif _above(candidate, self.pending):
                self.pending = candidate
        return None

    def _judge_by_key(self, row: Row, time: int, keys: KeyWatermarks) -> LedgerRow | None:
        own, bound = keys.of(row.values), self._before(row)
        if bound is not None and time < bound:
            by_own = own is not None and time < own
            by_own = by_own and not (self.floor is not None and time < self.floor)
            return self._rejected(row, time, "late" if by_own else "behind_merged")
        assert not isinstance(self.on.strategy, SourceWatermark)
        candidate = self.on.strategy(row.values)
        if self.on.before:
            row.values[self.on.before] = bound
        if candidate is not None:
            lowest = keys.count(row.values, candidate)
            if lowest is not None and _above(lowest, self.watermark):
                self.watermark = lowest
        return None

    def _before(self, row: Row) -> int | None:
        """The watermark that judges the row."""
        own = None if self.keys is None else self.keys.of(row.values)
        return max((mark for mark in (own, self.watermark) if mark is not None), default=None)

    def _rejected(self, row: Row, time: int | None, reason: str) -> LedgerRow:
        lateness = None
        watermark = self._before(row)
        if time is not None and watermark is not None:
            lateness = watermark - time
        return LedgerRow(
            self.table,
            row.split,
            row.offset,
            time,
            watermark,
            lateness,
            self.on.operator,
            reason,
        )


def _above(candidate: int, watermark: int | None) -> bool:
    return watermark is None or candidate > watermark
