"""FinalAggregate: the second phase of an aggregation; each result once, when it is final (S5).

Contract. Partials in (`aggregates.partial_schema`), results out (``node.schema``). When the
watermark of the closing key rises to w, the groups whose key is below w are final (S1, strict):
they leave, ordered by closing key, then the other keys, and their state goes with one range delete.
At `END` all leave, groups with a NULL closing key last. Then the watermark, then those ``derived``
from it: (column, delta) gives ``Watermark(column, w + delta)`` (window_end is window_start plus the
size). Other columns' watermarks end here. NULL is a key like any other.

State. See `group_state`. Partials of the epoch are held in memory; at the barrier they are merged,
if many, and appended. A bucket is read once, when it closes, and on compaction.

A watermark that changes nothing is not passed on: the barrier repeats the current one anyway.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.aggregation.aggregates import final_sql, merge_sql
from tidegate.executor.aggregation.group_state import GroupState, with_derived
from tidegate.executor.base import Executor
from tidegate.executor.buffers.time_queue import divided
from tidegate.plan.physical import FinalAggregate
from tidegate.state import StateTable, gathered
from tidegate.types import Barrier, Chunk, Message, Watermark

MERGE_ROWS_MIN = 4_096
"""Fewer partials are appended as they came: merging them takes longer than the bytes are worth,
and compaction merges them in time."""
CLOSE_ROWS_MAX = 262_144
"""Partials that are read before results leave: closing everything must not need all at once."""


class FinalAggregateExecutor(Executor):
    """Holds groups until the watermark of the closing key has passed them."""

    def __init__(self, node: FinalAggregate, engine: Engine, state: StateTable) -> None:
        aggregate = node.aggregate
        self.schema = aggregate.schema
        self._key = aggregate.closing_key
        self._derived = node.derived
        self._engine = engine
        self._groups = GroupState(state, self._key, engine, merge_sql(aggregate, "rows_"))
        self._final = final_sql(aggregate, "rows_")
        self._held: list[pa.Table] = []
        self._watermark = Watermark(self._key, None)

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        if chunk.data.num_rows:
            self._held.append(chunk.data)
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        if watermark.column != self._key or watermark == self._watermark:
            return
        self._watermark = watermark
        if watermark.value is not None:
            yield from self._close(watermark.value)
        yield from with_derived(self._watermark, self._derived)

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        self._persist()
        yield from with_derived(self._watermark, self._derived)
        yield barrier

    def _close(self, bound: int) -> Iterator[Chunk]:
        """Results of all groups below ``bound``, in order."""
        table = self._groups.table
        closing = [bucket for bucket in table.buckets() if bucket < bound]
        for until, runs in gathered(table, closing, bound, CLOSE_ROWS_MAX):
            held, self._held = divided(self._held, self._key, until)
            if runs or held:
                partials = pa.concat_tables([*runs, *held])
                yield Chunk(self._engine.query(self._final, {"rows_": partials}))
        table.delete_until(bound)

    def _persist(self) -> None:
        """Appends what is held to state, one run per bucket."""
        if not self._held:
            return
        parts, self._held = self._held, []
        many = len(parts) > 1 and sum(part.num_rows for part in parts) >= MERGE_ROWS_MIN
        self._groups.add(self._groups.merged(parts) if many else pa.concat_tables(parts))
