"""UpdatingAggregate: the second phase of an aggregation whose results change (S5, emit on update).

Contract. Partials in (`aggregates.partial_schema`), changes out: ``node.schema`` and the hidden
column `OP`. At the barrier every group that got rows in the epoch says what became of it
(`group_changes`). So the changes depend on where epochs end, but the table in which they end does
not (S6).

Watermarks. A group that the watermark of the closing key has passed changes no more, so its state
goes; of that key and of those ``derived`` from it the watermark passes, as in `FinalAggregate`,
behind the epoch's changes. Without a closing key groups stay, and no watermark leaves.

Without keys there is one group, also of no rows, and one instance, which tells it at the first
barrier.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.aggregation.aggregates import partial_sql
from tidegate.executor.aggregation.group_changes import GroupChanges
from tidegate.executor.aggregation.group_state import with_derived
from tidegate.executor.base import Executor
from tidegate.executor.columns import INT64_MIN
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.physical import FinalAggregate
from tidegate.state import StateTable
from tidegate.types import OFFSET, OP, SPLIT, Barrier, Chunk, Column, Message, Watermark

_TOLD: Final = "groups:told"
"""State value: the result of no rows, of an aggregation without keys, has left."""


class UpdatingAggregateExecutor(Executor):
    """Holds groups until the watermark of the closing key, if it has one, has passed them."""

    def __init__(self, node: FinalAggregate, engine: Engine, state: StateTable) -> None:
        aggregate = node.aggregate
        self.schema = aggregate.schema
        self._key = aggregate.closing_key
        self._derived = node.derived
        self._changes = GroupChanges(aggregate, engine, state)
        self._state = state
        self._of_nothing = None if aggregate.keys else _partial_of_nothing(aggregate, engine)
        self._new: list[pa.Table] = []
        self._watermarks: dict[str, Watermark] = {}

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        if chunk.data.num_rows:
            self._new.append(chunk.data)
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        """Waits for the barrier: what came with it changes groups first."""
        self._watermarks[watermark.column] = watermark
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        closed = self._bound(self._key)
        ready = self._ready(closed)
        if self._of_nothing is not None and self._state.get(_TOLD) is None:
            self._state.put(_TOLD, b"1")
            ready = [*ready, self._of_nothing]
        if ready:
            yield from self._changes.of(ready, closed, barrier.time_us)
        self._changes.forget(closed)
        if self._key in self._watermarks:
            yield from with_derived(self._watermarks[self._key], self._derived)
        yield barrier

    def _bound(self, column: str) -> int:
        known = self._watermarks.get(column)
        return INT64_MIN if known is None or known.value is None else known.value

    def _ready(self, closed: int) -> list[pa.Table]:
        """The partials that change results now; groups below ``closed`` close."""
        del closed
        new, self._new = self._new, []
        return new


def _partial_of_nothing(node: Aggregate, engine: Engine) -> pa.Table:
    """The partial of no rows."""
    names = dict.fromkeys([*(c.name for c in node.input.schema), SPLIT, OFFSET, OP])
    types = {SPLIT: "VARCHAR", OFFSET: "BIGINT", OP: "TINYINT"} | {
        c.name: c.type for c in node.input.schema
    }
    rows = engine.empty(tuple(Column(name, types[name]) for name in names))
    return engine.query(partial_sql(node, "rows_", whole=True), {"rows_": rows})
