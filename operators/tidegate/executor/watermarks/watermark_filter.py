"""WatermarkFilter: one watermark per split, from the row order of that split alone (S2).

For each row in split order:

    NULL time              quarantined (`null_time`); moves nothing
    too far in the future  quarantined (`future`, S11); moves nothing
    time < watermark       late; its candidate is not looked at
    otherwise              passes; a candidate above the watermark becomes the watermark

Contract. Chunks in are of one split, in its order, with the hidden columns of a source. Out come
the accepted rows (the incoming table without copying when nothing is refused), with the watermark
before each row as one more column where the node asks for it; then the refused ones for the ledger
with the watermark *before* the row, then the watermark if it rose. At the barrier the state is
written and the watermark repeated with the split's status, also without rows and before any
candidate (value None); a FINISHED split's is `END`. Watermarks of other columns, from a filter
below, pass; one of the same column is a promise about the same rows, and the greater one counts.

Times are int64 in the column's unit (S12). `judge` decides them vectorised. Data never reaches
`END`: candidates are held at `END` - 1. The strategy is evaluated by DuckDB and converted to the
column's unit: a timestamp of the other kind and a DATE convert, a BIGINT for a timestamp column is
milliseconds (FLIP-66), a fraction is rounded up (``c < 1.5`` and ``c < 2`` are one for integers).
A strategy that fails on a row counts as NULL for it. SOURCE_WATERMARK() is `adaptive`'s.

``on-periodic`` (S10): rows are judged by the watermark as it was at the last barrier. What it would
have become is pending until a barrier that lies ``periodic_us`` or more of recorded time behind the
one at which it last rose. Candidates of rows that are late by then do not count.

A row is in the future (S11) when its time is too far ahead of `BROKER_TIME`, or, where that is
missing or NULL, of the epoch's recorded time.

``per``: keys have watermarks of their own, and rows are judged by them and by the split's, which
is the least of these (`judge_keys`). A late row that its key's watermark would let pass has the
reason `behind_merged`: others are ahead of it.

``floor`` (S6): the merged watermark that a split took over when it joined or came back from
idleness. The effective watermark is the greater of floor and the split's own; a late row below the
floor has the reason `behind_merged`.

Source: RFC "WatermarkFilter" (seed 000), "On checkpoint", "On any initialization" (seed 001).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

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
    saturating_difference,
    times_column,
)
from tidegate.executor.evaluate import needed, try_sql
from tidegate.executor.watermarks.adaptive import Disorder
from tidegate.executor.watermarks.judge import NONE, judge
from tidegate.executor.watermarks.key_watermarks import KeyWatermarks
from tidegate.executor.watermarks.saved import save, saved
from tidegate.executor.watermarks.strategy import candidate_sql
from tidegate.plan.nodes import WatermarkFilter
from tidegate.state import StateTable
from tidegate.types import (
    BROKER_TIME,
    END,
    OFFSET,
    RECORD,
    Barrier,
    Chunk,
    Column,
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
_FAR = 2**61
"""Microseconds: 73,000 years."""
_REASONS = pa.array(
    [Reason.NULL_TIME, Reason.FUTURE, Reason.BEHIND_MERGED, Reason.LATE], pa.string()
)


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
        self._node = node
        self._table = table
        self._split = split
        self._engine = engine
        self._table_state = state
        self._keep_record = keep_record
        self._type = node.column_of(node.column).type
        self._candidate = candidate_sql(node.strategy, self._type, node.unit_us)
        moves_it = node.strategy.columns == {node.column} and node.strategy.type == self._type
        self._shift = node.strategy.shift_us if moves_it else None
        self.state = saved(state, split)
        self._disorder: Disorder | None = None
        if node.adaptive is not None:
            self._disorder = Disorder(node.adaptive, node.unit_us, self.state)
        self._keys = KeyWatermarks(node.per, self.state) if node.per is not None else None
        self._before = _column_of(self._type, engine) if node.before else None
        self._status = Status.ACTIVE
        self._below: int | None = None  # a stacked filter's watermark of the same column
        self._epoch_us: int | None = None

    def begin_epoch(self, time_us: int) -> None:
        """Gives the epoch's recorded time, before any of its rows (S6, S11)."""
        self._epoch_us = time_us

    def take_over(self, merged: int | None) -> None:
        """Starts from a merged watermark that went on without this split (S6): the new floor."""
        self.state.floor = _greater(self.state.floor, merged)

    def take_counts(self) -> Counts:
        """What was counted since the last call."""
        taken, self.counts = self.counts, Counts()
        return taken

    def snapshot(self) -> FilterState:
        """All that a restart needs, as of now."""
        if self._disorder is not None:
            self._disorder.save(self.state)
        if self._keys is not None:
            self._keys.save(self.state)
        return dataclasses.replace(self.state)

    @property
    def watermark(self) -> int | None:
        """The effective watermark: of the split's own candidates or taken over."""
        return self.state.effective

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        data = chunk.data
        if data.num_rows == 0:
            return
        self._status = Status.ACTIVE  # whoever has rows speaks for them
        before = self.watermark
        times, valid = event_times(data.column(self._node.column))
        judged = self._judge(data, times, valid)
        refused = judged.late | ~valid | judged.future
        accepted = self._passed_on(data, judged)
        if refused.any():
            accepted = accepted.filter(pa.array(~refused))
            self._saw(times[~refused])
            if accepted.num_rows:
                yield Chunk(accepted, chunk.split)
            yield self._reject(data, np.flatnonzero(refused), judged)
        else:
            self._saw(times)
            yield Chunk(accepted, chunk.split)
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
        if self._node.clock:
            self._tick(barrier.time_us)
        if self._node.periodic_us:
            self._advance(barrier.time_us)
        save(self._table_state, self._split, self.snapshot())
        yield self._watermark()
        yield barrier

    def _judge(self, data: pa.Table, times: Int64s, valid: Bools) -> _Judged:
        """Decides the rows and moves the watermark; rows that are not eligible move nothing."""
        future = valid & self._is_future(data, times)
        eligible = valid & ~future
        candidates, has = self._candidates(data, times, eligible)
        # A row that is not eligible stands at the end of time: it is never late.
        judged = times if eligible.all() else np.where(eligible, times, INT64_MAX)
        floor = INT64_MIN if self.state.floor is None else self.state.floor
        if self._keys is not None:
            told = self._keys.judge(data, judged, candidates, has, self.watermark)
            self.state.watermark = self._keys.watermark
            behind = told.of_split | (told.late & (times < floor))
            return _Judged(times, valid, future, told.before, told.late, behind)
        if self._node.periodic_us:
            before = np.full(len(times), NONE if self.watermark is None else self.watermark)
            late = judged < before
        else:
            before, late, _ = judge(judged, candidates, has, self.watermark)
        counted = has & ~late
        if counted.any():
            self._offer(int(candidates[counted].max()))
        return _Judged(times, valid, future, before, late, late & (times < floor))

    def _is_future(self, data: pa.Table, times: Int64s) -> Bools:
        """Which of the times are too far ahead (S11)."""
        skew, unit = self._node.skew_us_max, self._node.unit_us
        if not skew or not unit:
            return np.zeros(len(times), dtype=np.bool_)
        # time * unit > now + skew, turned around so that nothing overflows.
        bound: int | Int64s = INT64_MAX
        if self._epoch_us is not None:
            bound = max(INT64_MIN, min(INT64_MAX, (self._epoch_us + skew) // unit))
        if BROKER_TIME in data.column_names:
            broker_us, known = event_times(data.column(BROKER_TIME))
            latest = (np.minimum(broker_us, INT64_MAX - skew) + skew) // unit
            bound = np.where(known, latest, bound)
        return times > bound

    def _candidates(self, data: pa.Table, times: Int64s, eligible: Bools) -> tuple[Int64s, Bools]:
        """Each row's candidate in the column's unit, and which eligible rows have one."""
        strategy = self._node.strategy
        if self._disorder is not None:
            return self._adaptive(self._disorder, times, eligible)
        if strategy.is_column and strategy.columns == {self._node.column}:
            candidates, has = times, eligible
        elif self._shift is not None and _far_from_the_ends(times, self._shift):
            candidates, has = times + self._shift, eligible
        else:
            result = try_sql(self._engine, [self._candidate], needed(data, [strategy]))
            candidates, has = event_times(result.column(0))
            has = has & eligible
        return np.minimum(candidates, END - 1), has

    def _adaptive(self, disorder: Disorder, times: Int64s, eligible: Bools) -> tuple[Int64s, Bools]:
        measured = eligible
        if self._type.startswith("TIMESTAMP"):
            # No delay can be measured from infinity: it moves nothing.
            measured = eligible & (times > -INT64_MAX) & (times < INT64_MAX)
        if measured.all():
            candidates, has = disorder.candidates(times)
        else:
            candidates, has = np.full(len(times), NONE), np.zeros(len(times), dtype=np.bool_)
            candidates[measured], has[measured] = disorder.candidates(times[measured])
        return np.minimum(candidates, END - 1), has

    def _offer(self, candidate: int) -> None:
        """The highest candidate of some rows: the watermark, or what it may become."""
        if self._node.periodic_us:
            self.state.pending = _greater(self.state.pending, candidate)
        else:
            self.state.watermark = _greater(self.state.watermark, candidate)

    def _tick(self, time_us: int) -> None:
        """The clock's own candidate: later rows have later times (S4)."""
        moment = pa.array([time_us], pa.timestamp("us", tz="UTC"))
        row = pa.table({self._node.column: moment})
        candidates, has = self._candidates(row, np.array([time_us]), np.array([True]))
        if has.all():
            self._offer(int(candidates[0]))

    def _advance(self, time_us: int) -> None:
        """on-periodic: the watermark becomes what is pending, if that is time (S10)."""
        state, pending, known = self.state, self.state.pending, self.watermark
        if pending is None or (known is not None and pending <= known):
            return
        if state.advanced_us is None or time_us - state.advanced_us >= self._node.periodic_us:
            state.watermark, state.pending, state.advanced_us = pending, None, time_us

    def _passed_on(self, data: pa.Table, judged: _Judged) -> pa.Table:
        """The columns of ``data`` that go on, and the watermark before each row if it is asked."""
        if not self._keep_record:
            ended = [name for name in (RECORD, BROKER_TIME) if name in data.column_names]
            data = data.drop_columns(ended) if ended else data
        if self._before is None:
            return data
        marked = judged.before != NONE
        data = data.append_column(self._node.before, self._before(judged.before, marked))
        names = [column.name for column in self.schema]
        hidden = [name for name in hidden_columns(data) if name not in names]
        return data.select([*names, *hidden])

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
    behind: Bools  # late, and below the floor, or not by its own key


def _far_from_the_ends(times: Int64s, shift: int) -> bool:
    """Whether the sums are what the engine would say: no overflow, no infinity."""
    return abs(shift) < _FAR and int(times.min()) > -_FAR and int(times.max()) < _FAR


def _greater(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return right if left is None else left
    return max(left, right)


def _column_of(type_: str, engine: Engine) -> Callable[[Int64s, Bools], pa.Array]:
    """What makes event times a column of the DuckDB type ``type_``."""
    kind = engine.arrow_schema((Column("c", type_),)).field(0).type
    # A watermark may lie below what its column can say, and above it before rows that are late.
    most = 10**kind.precision - 1 if pa.types.is_decimal(kind) else INT64_MAX

    def column(times: Int64s, valid: Bools) -> pa.Array:
        return times_column(times.clip(-most, most), valid, kind)

    return column
