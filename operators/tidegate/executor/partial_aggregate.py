"""PartialAggregate: the first phase of an aggregation, in front of the exchange.

Contract. Rows in, partials out (`aggregates.partial_schema`): one row per group and epoch, emitted
as one chunk at the barrier, then the latest watermark of each key column, then the barrier. Rows
are aggregated as soon as they are many; what is held is merged at the barrier, and before it when
it has grown to `HELD_ROWS_MAX` rows. Groups that do not repeat would be merged again and again in
vain, so the bound doubles with what a merge leaves.

Watermarks wait for the barrier because the rows before them do (RFC, Prop 1.1: a watermark may be
postponed). Those of columns that are no keys end here (S4). Nothing is kept between epochs.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tidegate.executor.aggregates import merge_sql, partial_input, partial_schema, partial_sql
from tidegate.executor.base import Executor
from tidegate.executor.engine import Engine
from tidegate.plan.nodes import Aggregate
from tidegate.types import Barrier, Chunk, Message, Watermark

HELD_ROWS_MAX = 200_000
CALL_ROWS_MIN = 32_768
"""Rows that wait to be aggregated in one call: a call costs as much as some ten thousand."""


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
        self._held: list[pa.Table] = []
        self._rows = 0
        self._rows_max = HELD_ROWS_MAX
        self._watermarks: dict[str, Watermark] = {}

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        if chunk.data.num_rows:
            self._waiting.append(chunk.data.select(self._columns))
            self._waiting_rows += chunk.data.num_rows
            if self._waiting_rows >= CALL_ROWS_MIN:
                self._aggregate()
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        if watermark.column in self._keys:
            self._watermarks[watermark.column] = watermark
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        self._aggregate()
        if self._held:
            self._merge_held()
            (partial,) = self._held
            self._held, self._rows, self._rows_max = [], 0, HELD_ROWS_MAX
            yield Chunk(partial)
        yield from self._watermarks.values()
        yield barrier

    def _aggregate(self) -> None:
        """Aggregates the rows that wait."""
        if not self._waiting:
            return
        rows = pa.concat_tables(self._waiting)
        self._waiting, self._waiting_rows = [], 0
        self._held.append(self._engine.query(self._partial, {"rows_": rows}))
        self._rows += self._held[-1].num_rows
        if self._rows > self._rows_max:
            self._merge_held()
            self._rows_max = max(HELD_ROWS_MAX, 2 * self._rows)

    def _merge_held(self) -> None:
        if len(self._held) > 1:
            together = pa.concat_tables(self._held)
            self._held = [self._engine.query(self._merge, {"rows_": together})]
            self._rows = self._held[0].num_rows
