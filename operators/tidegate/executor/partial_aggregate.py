"""PartialAggregate: the first phase of an aggregation, in front of the exchange.

Contract. Rows in, partials out (`aggregates.partial_schema`): one row per group and epoch, emitted
as one chunk at the barrier, then the latest watermark of each key column, then the barrier.

Rows are aggregated when they are many, and at the barrier what is held is merged. Where the first
call leaves most rows as they were, it was in vain: its result is forgotten, and the rows wait for
the barrier. So rows whose groups seldom repeat are aggregated once, in one call, and not merged
with each other again and again. What waits and what is held is bounded in bytes; the bound on what
is held doubles with what a merge leaves.

Watermarks wait for the barrier because the rows before them do (RFC, Prop 1.1: a watermark may be
postponed). Those of columns that are no keys end here (S4). Nothing is kept between epochs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from tidegate.executor.aggregates import merge_sql, partial_input, partial_schema, partial_sql
from tidegate.executor.base import Executor
from tidegate.executor.engine import Engine
from tidegate.plan.nodes import Aggregate
from tidegate.types import Barrier, Chunk, Message, Watermark

CALL_ROWS_MIN: Final = 524_288
"""Rows that wait to be aggregated in one call. A call costs as much as some ten thousand; rows that
wait are memory that the next rows cannot be decoded into, and fresh memory costs as much again."""
BYTES_MAX: Final = 128 << 20
"""Of rows that wait, and of partials that are held."""


class PartialAggregate(Executor):
    """Aggregates what passes between two barriers."""

    def __init__(self, node: Aggregate, engine: Engine) -> None:
        self.schema = partial_schema(node)
        self._keys = node.keys
        self._engine = engine
        self._columns = list(partial_input(node))
        self._partial = partial_sql(node, "rows_")
        self._merge = merge_sql(node, "rows_")
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        self._waiting_bytes = 0
        self._repeating = True
        """Whether calls within an epoch make rows fewer, as far as is known."""
        self._held: list[pa.Table] = []
        self._held_bytes = 0
        self._held_bytes_max = BYTES_MAX
        self._watermarks: dict[str, Watermark] = {}

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        if chunk.data.num_rows:
            rows = chunk.data.select(self._columns)
            self._waiting.append(rows)
            self._waiting_rows += rows.num_rows
            self._waiting_bytes += rows.nbytes
            if self._waiting_bytes >= BYTES_MAX:
                self._aggregate()
            elif self._repeating and self._waiting_rows >= CALL_ROWS_MIN:
                self._aggregate(if_it_helps=True)
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        if watermark.column in self._keys:
            self._watermarks[watermark.column] = watermark
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        self._aggregate()
        self._repeating = True
        if self._held:
            self._merge_held()
            (partial,) = self._held
            self._held, self._held_bytes, self._held_bytes_max = [], 0, BYTES_MAX
            yield Chunk(partial)
        yield from self._watermarks.values()
        yield barrier

    def _aggregate(self, if_it_helps: bool = False) -> None:
        """Aggregates the rows that wait; they go on waiting if that hardly makes them fewer."""
        if not self._waiting:
            return
        rows = pa.concat_tables(self._waiting)
        partial = self._engine.query(self._partial, {"rows_": rows})
        if if_it_helps and 2 * partial.num_rows > rows.num_rows:
            self._repeating = False
            return
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0
        self._held.append(partial)
        self._held_bytes += partial.nbytes
        if self._held_bytes > self._held_bytes_max:
            self._merge_held()
            self._held_bytes_max = max(BYTES_MAX, 2 * self._held_bytes)

    def _merge_held(self) -> None:
        if len(self._held) > 1:
            together = pa.concat_tables(self._held)
            self._held = [self._engine.query(self._merge, {"rows_": together})]
            self._held_bytes = self._held[0].nbytes
