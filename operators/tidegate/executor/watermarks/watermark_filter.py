"""WatermarkFilter: one watermark per split, from the row order of that split alone (S2).

For each row in split order:

    NULL time              quarantined (`null_time`); moves nothing
    too far in the future  quarantined (`future`, S11); moves nothing
    time < watermark       late; its candidate is not looked at
    otherwise              passes; a candidate above the watermark becomes the watermark

A delete of a changing table (S13) has no time, and passes; it moves nothing. Of such a table the
rows leave with the watermark before each of them, as `BEFORE`.

Contract. Chunks in are of one split, in its order, with the hidden columns of a source. Out come
the accepted rows (the incoming table without copying when nothing is refused), with the watermark
before each row as one more column where the node asks for it; then the refused ones for the ledger
with the watermark *before* the row, then the watermark if it rose. At the barrier the state is
written and the watermark repeated with the split's status, also without rows and before any
candidate (value None); a FINISHED split's is `END`. Watermarks of other columns, from a filter
below, pass; one of the same column is a promise about the same rows, and the greater one counts.

Times are int64 in the column's unit (S12). What a row offers is the strategy's to say: `Fixed` or
`Clock` (`strategy`), or `Disorder` (`adaptive`). Who holds the watermark, judges the rows by it
and lets it advance is `OnEvent` or `OnPeriodic` (`judges`), or for ``per`` `KeyWatermarks`: then a
late row that its key's watermark would let pass has the reason `behind_merged`, since others are
ahead of it. Each has its state, frozen, as a part of `FilterState`.

A row is in the future (S11) when its time is too far ahead of `BROKER_TIME`, or, where that is
missing or NULL, of the epoch's recorded time.

``floor`` (S6): the merged watermark that a split took over when it joined or came back from
idleness. The effective watermark is the greater of floor and the split's own; a late row below the
floor has the reason `behind_merged`.

Source: RFC "WatermarkFilter" (seed 000), "On checkpoint", "On any initialization" (seed 001).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import Executor
from tidegate.executor.columns import (
    INT64_MAX,
    INT64_MIN,
    Bools,
    Int64s,
    event_times,
    hidden_columns,
    ledger_rows,
    moved,
    puts,
    saturating_difference,
    times_column,
)
from tidegate.executor.watermarks.adaptive import Disorder
from tidegate.executor.watermarks.judge import NONE
from tidegate.executor.watermarks.judges import Judge, OnEvent, OnPeriodic
from tidegate.executor.watermarks.key_watermarks import KeyWatermarks
from tidegate.executor.watermarks.saved import save, saved
from tidegate.executor.watermarks.strategy import Clock, Fixed, Rows, Strategy
from tidegate.plan.nodes import WatermarkFilter
from tidegate.reasons import Reason
from tidegate.state import StateTable
from tidegate.types import (
    BEFORE,
    BROKER_TIME,
    END,
    OFFSET,
    OP,
    RECORD,
    Barrier,
    Chunk,
    Column,
    Counts,
    FilterState,
    Message,
    Rejected,
    SplitStatus,
    Status,
    Watermark,
    higher,
)

OPERATOR: Final = "watermark_filter"
REASONS: Final = (Reason.LATE, Reason.BEHIND_MERGED, Reason.FUTURE, Reason.NULL_TIME)
ACCEPTED: Final = -1


@dataclass(frozen=True, slots=True)
class Judgement:
    """Of each row its time, the watermark before it, and the place in `REASONS` of why it is
    refused, or `ACCEPTED`."""

    times: Int64s
    before: Int64s
    reasons: npt.NDArray[np.int8]


class WatermarkFilterExecutor(Executor):
    """The filter of one split. ``state`` may be shared with other splits of the same filter.

    ``keep_record`` leaves `RECORD` and `BROKER_TIME` on accepted rows, for a filter stacked on this
    one.
    """

    def __init__(
        self,
        node: WatermarkFilter,
        table: str,
        split: str,
        engine: Engine,
        state: StateTable,
        *,
        keep_record: bool = False,
    ) -> None:
        self.schema = node.schema
        self.counts = Counts()
        """Since the caller began new ones."""
        self.node = node
        self._table = table
        self._split = split
        self._table_state = state
        self._keep_record = keep_record
        self._type = node.column_of(node.column).type
        column = (Column("c", self._type),)
        self._kind = engine.arrow_schema(column).field(0).type if node.before else None
        known = saved(state, split)
        self._strategy = _strategy_of(node, engine, known)
        self._judge = _judge_of(node, known)
        self._floor, self._event_time_max = known.floor, known.event_time_max
        self._status = Status.ACTIVE
        self._below: int | None = None  # a stacked filter's watermark of the same column
        self._epoch_us: int | None = None

    def begin_epoch(self, time_us: int) -> None:
        """Gives the epoch's recorded time, before any of its rows (S6, S11)."""
        self._epoch_us = time_us

    def take_over(self, merged: int | None) -> None:
        """Starts from a merged watermark that went on without this split (S6): the new floor."""
        self._floor = higher(self._floor, merged)

    def snapshot(self) -> FilterState:
        """All that a restart needs, as of now."""
        return replace(
            self._judge.snapshot(),
            floor=self._floor,
            event_time_max=self._event_time_max,
            measured=self._strategy.snapshot(),
        )

    @property
    def watermark(self) -> int | None:
        """The effective watermark: of the split's own candidates or taken over."""
        return higher(self._judge.watermark, self._floor)

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        data = chunk.data
        if data.num_rows == 0:
            return
        self._status = Status.ACTIVE  # whoever has rows speaks for them
        before = self.watermark
        judged = self.judge(data)
        refused = judged.reasons != ACCEPTED
        passing = self._passed_on(data, judged.before)
        if refused.any():
            passing = passing.filter(pa.array(~refused))
        if passing.num_rows:
            yield Chunk(passing, chunk.split)
        if refused.any():
            yield self._reject(data, np.flatnonzero(refused), judged)
        if self.watermark != before:
            yield self._watermark()

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        if watermark.column != self.node.column:
            yield watermark
        elif watermark.value is not None and watermark.value != END:
            self._below = higher(self._below, watermark.value)  # spoken with the next of ours

    def on_split_status(self, status: SplitStatus) -> Iterator[Message]:
        self._status = status.status
        yield status

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        self._judge.offer(self._strategy.at_barrier(barrier.time_us))
        self._judge.end_epoch(barrier.time_us, self.watermark)
        save(self._table_state, self._split, self.snapshot())
        yield self._watermark()
        yield barrier

    def judge(self, data: pa.Table) -> Judgement:
        """Decides the next rows and moves the watermark; who is not eligible moves nothing."""
        times, valid = event_times(data.column(self.node.column))
        untimed = ~puts(data) if OP in data.column_names else None
        if untimed is not None:
            valid = valid & ~untimed
        rows = Rows(data, times, valid & ~self._is_future(data, times))
        judged = self._judge.judge(rows, *self._strategy.candidates(rows), self.watermark)
        floor = INT64_MIN if self._floor is None else self._floor
        behind = judged.of_split | (judged.late & (times < floor))
        reasons = np.full(len(times), ACCEPTED, dtype=np.int8)
        for reason, refused in enumerate((judged.late, behind, ~rows.eligible, ~valid)):
            reasons[refused] = reason
        accepted = reasons == ACCEPTED
        if untimed is not None:
            reasons[untimed] = ACCEPTED
        if accepted.any():
            highest = int((times if accepted.all() else times[accepted]).max())
            self._event_time_max = higher(self._event_time_max, highest)
        return Judgement(times, judged.before, reasons)

    def _is_future(self, data: pa.Table, times: Int64s) -> Bools:
        """Which of the times are too far ahead (S11)."""
        skew, unit = self.node.skew_us_max, self.node.unit_us
        if not skew or not unit:
            return np.zeros(len(times), dtype=np.bool_)
        # time * unit > now + skew, turned around so that nothing overflows.
        bound: int | Int64s = INT64_MAX
        if self._epoch_us is not None:
            bound = max(INT64_MIN, min(INT64_MAX, (self._epoch_us + skew) // unit))
        if BROKER_TIME in data.column_names:
            broker_us, known = event_times(data.column(BROKER_TIME))
            bound = np.where(known, moved(broker_us, skew) // unit, bound)
        return times > bound

    def _passed_on(self, data: pa.Table, before: Int64s) -> pa.Table:
        """The columns of ``data`` that go on, and the watermark before each row if it is asked."""
        if not self._keep_record:
            ended = [name for name in (RECORD, BROKER_TIME) if name in data.column_names]
            data = data.drop_columns(ended) if ended else data
        if OP in data.column_names:
            data = data.append_column(f"{BEFORE}{self.node.column}", pa.array(before))
        if not self.node.before:
            return data
        data = data.append_column(self.node.before, watermarks_column(before, self._kind))
        names = [column.name for column in self.schema]
        hidden = [name for name in hidden_columns(data) if name not in names]
        return data.select([*names, *hidden])

    def _watermark(self) -> Watermark:
        value = END if self._status is Status.FINISHED else higher(self.watermark, self._below)
        return Watermark(self.node.column, value, self._status)

    def _reject(self, data: pa.Table, rows: npt.NDArray[np.intp], judged: Judgement) -> Rejected:
        """The refused ``rows`` for the ledger; counts them."""
        times, before, reasons = judged.times[rows], judged.before[rows], judged.reasons[rows]
        late = int((reasons < REASONS.index(Reason.FUTURE)).sum())
        self.counts.late += late
        self.counts.quarantined += len(rows) - late
        untimed, unmarked = reasons == REASONS.index(Reason.NULL_TIME), before == NONE
        picked = data.select([name for name in (OFFSET, RECORD) if name in data.column_names])
        return Rejected(
            ledger_rows(
                picked.take(pa.array(rows)),
                account=self.node.account,
                table=self._table,
                split=self._split,
                operator=OPERATOR,
                reasons=pa.array(REASONS, pa.string()).take(pa.array(reasons)),
                event_time=pa.array(times, mask=untimed),
                watermark=pa.array(before, mask=unmarked),
                lateness=pa.array(saturating_difference(before, times), mask=unmarked | untimed),
                time_type=self._type,
            )
        )


def _strategy_of(node: WatermarkFilter, engine: Engine, state: FilterState) -> Strategy:
    if node.adaptive is not None:
        has_infinity = node.column_of(node.column).type.startswith("TIMESTAMP")
        return Disorder(node.adaptive, node.unit_us, state.measured, has_infinity=has_infinity)
    return Clock(node, engine) if node.clock else Fixed(node, engine)


def _judge_of(node: WatermarkFilter, state: FilterState) -> Judge:
    if node.per is not None:
        return KeyWatermarks(node.per, state.watermark, state.per_key)
    if node.periodic_us:
        return OnPeriodic(node.periodic_us, state.watermark, state.periodic)
    return OnEvent(state.watermark)


def watermarks_column(before: Int64s, kind: pa.DataType) -> pa.Array:
    """Watermarks before rows as a column of the time's type; NULL where there is none."""
    # A watermark may lie below what its column can say, and above it before rows that are late.
    most = 10**kind.precision - 1 if pa.types.is_decimal(kind) else INT64_MAX
    return times_column(before.clip(-most, most), before != NONE, kind)
