"""The watermark filter and the accounting of one table (S1, S2, S6, S7, S11).

Each split is judged alone, in its own order; the loop in `_Filter.judge` is the design's, word
for word. A row has one reason, the first that applies of malformed, null_time, future,
behind_merged, late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from oracle.decode import BadRow, Row, Table, Values, json_lines, read_split, value_at

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
    """

    column: str
    strategy: Strategy
    skew_us: int = HOUR_US
    unit_us: int = 1
    operator: str = "WatermarkFilter"


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

    @property
    def counts(self) -> Counts:
        """The counts of all splits together."""
        total = Counts()
        for counts in self.splits.values():
            total.add(counts)
        return total

    def merged_watermark(self, column: str) -> int | None:
        """The minimum over the splits; None while one of them has not spoken."""
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
) -> Judgement:
    """Reads every split of ``table`` through ``watermarks`` (stacked: the first is lowest).

    ``now_us`` is the epoch's recorded time. ``wheres`` has the WHERE of every query on the
    source (None: none); without any query all accepted rows are used. ``floors`` comes from the
    epoch log where a split was idle or joined late (S6): from row ``offset`` on, the split starts
    from the merged watermark ``floor`` as its own; it is for a single watermark.
    """
    judgement = Judgement()
    for split in sorted(splits):
        filters = [_Filter(table.name, on, now_us) for on in watermarks]
        floors_left = sorted((floors or {}).get(split, ()))
        counts = judgement.splits[split] = Counts()
        for row in read_split(table, split, _as_files(splits[split])):
            while floors_left and floors_left[0][0] <= row.offset:
                filters[0].start_from(floors_left.pop(0)[1])
            counts.read += 1
            rejected = _judge_row(table.name, row, filters)
            if rejected is not None:
                judgement.ledger.append(rejected)
                if rejected.reason in ("behind_merged", "late"):
                    counts.late += 1
                else:
                    counts.quarantined += 1
                continue
            assert isinstance(row, Row)
            judgement.rows.append(row)
            if not wheres or any(where is None or where(row.values) is True for where in wheres):
                counts.used += 1
            else:
                counts.filtered += 1
        judgement.watermarks[split] = {filter_.on.column: filter_.watermark for filter_ in filters}
    return judgement


def _as_files(files: Files) -> list[bytes]:
    if any(isinstance(file, Mapping) for file in files):
        return [json_lines(row for row in files if isinstance(row, Mapping))]
    return [file for file in files if isinstance(file, bytes)]


def _judge_row(table: str, row: Row | BadRow, filters: Iterable[_Filter]) -> LedgerRow | None:
    if isinstance(row, BadRow):
        return LedgerRow(table, row.split, row.offset, None, None, None, "decode", "malformed")
    for filter_ in filters:
        rejected = filter_.judge(row)
        if rejected is not None:
            return rejected
    return None


class _Filter:
    """One watermark filter on one split."""

    def __init__(self, table: str, on: WatermarkOn, now_us: int) -> None:
        self.table = table
        self.on = on
        self.now_us = now_us
        self.watermark: int | None = None
        self.floor: int | None = None

    def start_from(self, floor: int) -> None:
        """The split comes back behind a merged watermark that went on without it (S6)."""
        self.floor = floor
        if self.watermark is None or self.watermark < floor:
            self.watermark = floor

    def judge(self, row: Row) -> LedgerRow | None:
        """None if the row passes, which may raise the watermark; else its line in the ledger."""
        time = value_at(row.values, self.on.column)
        if time is None:
            return self._rejected(row, None, "null_time")
        guarded = self.on.skew_us > 0 and self.on.unit_us > 0
        if guarded and time * self.on.unit_us > self.now_us + self.on.skew_us:
            return self._rejected(row, time, "future")
        if self.floor is not None and time < self.floor:
            return self._rejected(row, time, "behind_merged")
        if self.watermark is not None and time < self.watermark:
            return self._rejected(row, time, "late")
        candidate = self.on.strategy(row.values)
        if candidate is not None and (self.watermark is None or candidate > self.watermark):
            self.watermark = candidate
        return None

    def _rejected(self, row: Row, time: int | None, reason: str) -> LedgerRow:
        lateness = None
        if time is not None and self.watermark is not None:
            lateness = self.watermark - time
        return LedgerRow(
            self.table,
            row.split,
            row.offset,
            time,
            self.watermark,
            lateness,
            self.on.operator,
            reason,
        )
