"""UpdatingAggregate: the second phase of an aggregation whose results change (S5, emit on update).

Contract. Partials in (`aggregates.partial_schema`), changes out: ``node.schema`` and the hidden
column `OP`. At the barrier every group that got rows in the epoch says what became of it
(`group_changes`). So the changes depend on where epochs end, but the table in which they end does
not (S6).

Watermarks. A group that the watermark of the closing key has passed changes no more, so its state
goes; of that key and of those ``derived`` from it the watermark passes, as in `FinalAggregate`,
behind the epoch's changes. Without a closing key groups stay, and no watermark leaves.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.aggregation.group_changes import GroupChanges
from tidegate.executor.aggregation.group_state import with_derived
from tidegate.executor.base import Executor
from tidegate.executor.columns import INT64_MIN
from tidegate.plan.physical import UpdatingAggregate
from tidegate.state import StateTable
from tidegate.types import Barrier, Chunk, Message, Watermark


class UpdatingAggregateExecutor(Executor):
    """Holds groups until the watermark of the closing key, if it has one, has passed them."""

    def __init__(self, node: UpdatingAggregate, engine: Engine, state: StateTable) -> None:
        aggregate = node.aggregate
        self.schema = aggregate.schema
        self._key = aggregate.closing_key
        self._derived = node.derived
        self._changes = GroupChanges(aggregate, engine, state)
        self._new: list[pa.Table] = []
        self._word: Watermark | None = None

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        if chunk.data.num_rows:
            self._new.append(chunk.data)
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        """Waits for the barrier: what came with it changes groups first."""
        if self._key and watermark.column == self._key:
            self._word = watermark
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        closed = INT64_MIN
        if self._word is not None and self._word.value is not None:
            closed = self._word.value
        if self._new:
            new, self._new = self._new, []
            yield from self._changes.of(new, barrier.epoch, closed)
        if self._word is not None:
            self._changes.forget(closed)
            yield from with_derived(self._word, self._derived)
        yield barrier
