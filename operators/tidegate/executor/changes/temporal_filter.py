"""TemporalFilter: rows near the present enter and leave at barriers, by recorded time (S14).

Contract. Rows in, which may be taken back (`OP`); those of one time at one instance. At a barrier
the rows leave whose time has come meanwhile; then, with `OP`, those that have come and whose
condition holds by the epoch's time, which may take back the former; then deletes of those whose
time is over. A row without a time is never there, and one
that comes when its time is over has never been. So the fold is what the condition says of the fold
of the input, at every barrier. Watermarks end here.

The present in the column's type is a function of the epoch's time and the session's zone. It never
falls here, though clocks of a zone may be set back.

State: two `TimeQueue`: of rows that wait, and of those that are there, each with what was taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import Executor
from tidegate.executor.buffers.time_queue import TimeQueue
from tidegate.executor.changes.as_changes import apart, as_changes, with_op
from tidegate.executor.changes.difference import taken_from
from tidegate.executor.columns import INT64_MAX, INT64_MIN, Bools, event_times
from tidegate.plan.temporal_filter import TemporalFilter
from tidegate.state import StateTable, get_int, put_int
from tidegate.types import Barrier, Chunk, Message, Op, Watermark

_NOW: Final = "now"
"""State value: the last present."""


class TemporalFilterExecutor(Executor):
    """One of the parallel instances; ``state`` gives the state tables by name."""

    def __init__(
        self, node: TemporalFilter, engine: Engine, state: Callable[[str], StateTable]
    ) -> None:
        self.schema = node.schema
        self._node = node
        self._engine = engine
        self._names = [column.name for column in node.schema]
        self._waiting = TimeQueue(state("waiting"), node.column)
        self._there = TimeQueue(state("there"), node.column)
        self._own = state("now")
        self._now = get_int(self._own, _NOW, INT64_MIN)
        self._type = node.column_of(node.column).type
        self._new: list[pa.Table] = []

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        self._new.append(apart(as_changes(chunk.data)))
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        del watermark
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        self._now = max(self._now, self._present(barrier))
        put_int(self._own, _NOW, self._now)
        early, late = self._bound(self._node.enters), self._bound(self._node.leaves)
        if self._node.enters is not None and early > self._waiting.cut:
            for rows in taken_from(self._engine, self._waiting, early, self._names):
                yield from self._sorted(with_op(rows, Op.INSERT), early, late)
        if self._new:
            new, self._new = pa.concat_tables(self._new), []
            yield from self._sorted(new, early, late)
        if self._node.leaves is not None and late > self._there.cut:
            for rows in taken_from(self._engine, self._there, late, self._names):
                yield Chunk(with_op(rows, Op.DELETE))
        self._waiting.persist()
        self._there.persist()
        yield barrier

    def _present(self, barrier: Barrier) -> int:
        sql = f"SELECT CAST(make_timestamptz({barrier.time_us}) AS {self._type}) AS now"
        times, _ = event_times(self._engine.query(sql).column("now"))
        return int(times[0])

    def _bound(self, distance: int | None) -> int:
        """Times below it are so far behind the present, at least; none is if nothing is said."""
        return INT64_MIN if distance is None else min(self._now - distance + 1, INT64_MAX)

    def _sorted(self, rows: pa.Table, early: int, late: int) -> Iterator[Chunk]:
        """Those of ``rows`` that are there now; keeps what enters or leaves later."""
        times, valid = event_times(rows.column(self._node.column))
        is_over = ~valid
        if self._node.leaves is not None:
            is_over |= times < late
        waits: Bools = np.zeros(len(times), np.bool_)
        if self._node.enters is not None:
            waits = ~is_over & (times >= early)
            self._waiting.add(rows.filter(pa.array(waits)))
        there = rows.filter(pa.array(~is_over & ~waits))
        if there.num_rows:
            if self._node.leaves is not None:
                self._there.add(there)
            yield Chunk(there)
