"""WatermarkFilter: one watermark per split, from the row order of that split alone (S2).

For each row in split order:

    NULL time              quarantined (`null_time`); moves nothing
    too far in the future  quarantined (`future`, S11); moves nothing
    time < watermark       late; its candidate is not looked at
    otherwise              passes; a candidate above the watermark becomes the watermark

Contract. Chunks in are of one split, in its order, with the hidden columns of a source. Out come
the accepted rows (the incoming table without copying when nothing is refused), then the refused
ones for the ledger with the watermark *before* the row, then the watermark if it rose. At the
barrier the state is written and the watermark repeated with the split's status, also without rows
and before any candidate (value None); a FINISHED split's is `END`. Watermarks of other columns,
from a filter below, pass; one of the same column is a promise about the same rows, and the greater
one counts.

Times are int64 in the column's unit (S12). `judge` decides them vectorised. Data never reaches
`END`: candidates are held at `END` - 1. The strategy is evaluated by DuckDB and converted to the
column's unit: a timestamp of the other kind and a DATE convert, a BIGINT for a timestamp column is
milliseconds (FLIP-66), a fraction is rounded up (``c < 1.5`` and ``c < 2`` are one for integers).
A strategy that fails on a row counts as NULL for it.

``floor`` (S6): the merged watermark that a split took over when it joined or came back from
idleness. The effective watermark is the greater of floor and the split's own; a late row below the
floor has the reason `behind_merged`.

Source: RFC "WatermarkFilter" (seed 000), "On checkpoint", "On any initialization" (seed 001).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.executor.base import Executor
from tidegate.executor.columns import (
    INT64_MAX,
    INT64_MIN,
    Bools,
    Int64s,
    event_times,
    ledger_rows,
    saturating_difference,
)
from tidegate.executor.engine import Engine
from tidegate.executor.evaluate import needed, try_sql
from tidegate.executor.judge import NONE, judge
from tidegate.executor.strategy import candidate_sql
from tidegate.plan.nodes import WatermarkFilter as FilterNode
from tidegate.state import StateTable
from tidegate.types import (
    END,
    OFFSET,
    RECORD,
    Barrier,
    Chunk,
    Counts,
    FilterState,
    Message,
    Reason,
    Rejected,
    SplitStatus,
    Status,
    Watermark,
)

__all__ = ["OPERATOR", "WatermarkFilter", "judge"]

OPERATOR = "watermark_filter"
_REASONS = pa.array(
    [Reason.NULL_TIME, Reason.FUTURE, Reason.BEHIND_MERGED, Reason.LATE], pa.string()
)


class WatermarkFilter(Executor):
    """The filter of one split. ``state`` may be shared with other splits of the same filter.

    ``keep_record`` leaves `RECORD` on accepted rows, for a filter stacked on this one.
    """

    def __init__(
        self,
        node: FilterNode,
        table: str,
        split: str,
        engine: Engine,
        state: StateTable,
        *,
        keep_record: bool = False,
    ) -> None:
        self.schema = node.schema
        self.counts = Counts()
        self._node = node
        self._table = table
        self._split = split
        self._engine = engine
        self._table_state = state
        self._keep_record = keep_record
        self._type = node.column_of(node.column).type
        self._candidate = candidate_sql(node.strategy, self._type, node.unit_us)
        self._name = f"filter:{split}"
        stored = state.get(self._name)
        self.state = FilterState(**json.loads(stored)) if stored else FilterState()
        self._status = Status.ACTIVE
        self._below: int | None = None  # a stacked filter's watermark of the same column
        self._future_bound = INT64_MAX

    def begin_epoch(self, time_us: int) -> None:
        """Gives the epoch's recorded time, before any of its rows (S6, S11)."""
        skew, unit = self._node.skew_us_max, self._node.unit_us
        if skew and unit:
            # time * unit > epoch + skew, turned around so that nothing overflows.
            bound = (time_us + skew) // unit
            self._future_bound = max(INT64_MIN, min(INT64_MAX, bound))

    def take_over(self, merged: int | None) -> None:
        """Starts from a merged watermark that went on without this split (S6): the new floor."""
        self.state.floor = _greater(self.state.floor, merged)

    def take_counts(self) -> Counts:
        """What was counted since the last call."""
        taken, self.counts = self.counts, Counts()
        return taken

    def snapshot(self) -> FilterState:
        """All that a restart needs, as of now."""
        return dataclasses.replace(self.state)

    @property
    def watermark(self) -> int | None:
        """The effective watermark: of the split's own candidates or taken over."""
        return _greater(self.state.watermark, self.state.floor)

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        data = chunk.data
        if data.num_rows == 0:
            return
        self._status = Status.ACTIVE  # whoever has rows speaks for them
        before = self.watermark
        times, valid = event_times(data.column(self._node.column))
        judged = self._judge(data, times, valid)
        refused = judged.late | ~valid | judged.future
        if refused.any():
            accepted = data if self._keep_record else _without_record(data)
            accepted = accepted.filter(pa.array(~refused))
            self._saw(times[~refused])
            if accepted.num_rows:
                yield Chunk(accepted, chunk.split)
            yield self._reject(data, np.flatnonzero(refused), judged)
        else:
            self._saw(times)
            yield Chunk(data if self._keep_record else _without_record(data), chunk.split)
        if self.watermark != before:
            yield self._watermark()

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        if watermark.column != self._node.column:
            yield watermark
        elif watermark.value is not None and watermark.value != END:
            self._below = _greater(self._below, watermark.value)  # spoken with the next of ours

    def on_split_status(self, status: SplitStatus) -> Iterator[Message]:
        self._status = status.status
        yield status

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        self._table_state.put(self._name, json.dumps(dataclasses.asdict(self.state)).encode())
        yield self._watermark()
        yield barrier

    def _judge(self, data: pa.Table, times: Int64s, valid: Bools) -> _Judged:
        """Decides the rows and moves the watermark; rows that are not eligible move nothing."""
        future = valid & (times > self._future_bound)
        eligible = valid & ~future
        candidates, has = self._candidates(data, times)
        has = has & eligible
        # A row that is not eligible stands at the end of time: it is never late.
        judged = times if eligible.all() else np.where(eligible, times, INT64_MAX)
        before, late, _ = judge(judged, candidates, has, self.watermark)
        floor = INT64_MIN if self.state.floor is None else self.state.floor
        counted = has & ~late
        if counted.any():
            highest = int(candidates[counted].max())
            self.state.watermark = _greater(self.state.watermark, highest)
        return _Judged(times, valid, future, before, late, late & (times < floor))

    def _candidates(self, data: pa.Table, times: Int64s) -> tuple[Int64s, Bools]:
        """Each row's candidate in the column's unit, and whether it has one."""
        strategy = self._node.strategy
        if strategy.is_column and strategy.columns == {self._node.column}:
            candidates, has = times, np.ones(len(times), dtype=np.bool_)
        else:
            result = try_sql(self._engine, [self._candidate], needed(data, [strategy]))
            candidates, has = event_times(result.column(0))
        return np.minimum(candidates, END - 1), has

    def _saw(self, accepted: Int64s) -> None:
        if len(accepted):
            highest = int(accepted.max())
            self.state.event_time_max = _greater(self.state.event_time_max, highest)

    def _watermark(self) -> Watermark:
        value = END if self._status is Status.FINISHED else _greater(self.watermark, self._below)
        return Watermark(self._node.column, value, self._status)

    def _reject(self, data: pa.Table, rows: npt.NDArray[np.intp], judged: _Judged) -> Rejected:
        """The refused ``rows`` for the ledger; counts them."""
        times = judged.times[rows]
        untimed = ~judged.valid[rows]
        codes = np.select([untimed, judged.future[rows], judged.behind[rows]], [0, 1, 2], 3)
        late = int((codes >= 2).sum())
        self.counts.late += late
        self.counts.quarantined += len(rows) - late
        before = judged.before[rows]
        unmarked = before == NONE
        picked = data.select([name for name in (OFFSET, RECORD) if name in data.column_names])
        return Rejected(
            ledger_rows(
                picked.take(pa.array(rows)),
                account=self._node.account,
                table=self._table,
                split=self._split,
                operator=OPERATOR,
                reasons=_REASONS.take(pa.array(codes)),
                event_time=pa.array(times, mask=untimed),
                watermark=pa.array(before, mask=unmarked),
                lateness=pa.array(saturating_difference(before, times), mask=unmarked | untimed),
                time_type=self._type,
            )
        )


@dataclasses.dataclass(frozen=True, slots=True)
class _Judged:
    """The rows of a chunk: their times, what is wrong with them, the watermark before each."""

    times: Int64s
    valid: Bools  # the time is not NULL
    future: Bools
    before: Int64s
    late: Bools
    behind: Bools  # late, and below the floor


def _greater(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return right if left is None else left
    return max(left, right)


def _without_record(data: pa.Table) -> pa.Table:
    return data.drop_columns([RECORD]) if RECORD in data.column_names else data
