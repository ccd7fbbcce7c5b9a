"""PartialAggregate: the first phase of an aggregation, in front of the exchange.

Contract. Rows in, partials out (`aggregates.partial_schema`): one row per group and epoch, emitted
as one chunk at the barrier, then the latest watermark of each key column, then the barrier.

Of rows that may be taken back it is what came less what went (``node.subtracts``).

Rows wait for the barrier, and are aggregated there in one call; what waits and what is held is
bounded in bytes, and where an epoch has more, the partials of its calls are merged at the barrier.
The bound on what is held doubles with what a merge leaves. Calls as rows come would hold less, but
a call costs as much as some ten thousand rows: calls of 32 thousand took three times as long with
few groups, and with a million twice as long, since the same groups are then merged again and again.

Rows wait as copies. A decoder's columns come in one piece, of which all is kept as long as one
column is: a few numbers would keep a kilobyte of text, and the next rows would find no memory that
is still in the cache.

Watermarks wait for the barrier because the rows before them do (RFC, Prop 1.1: a watermark may be
postponed). Those of columns that are no keys end here (S4). Nothing is kept between epochs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.aggregation.aggregates import (
    merge_sql,
    partial_input,
    partial_schema,
    partial_sql,
)
from tidegate.executor.base import Executor
from tidegate.executor.changes.as_changes import as_changes
from tidegate.plan.aggregates import Aggregate
from tidegate.types import Barrier, Chunk, Message, Watermark

BYTES_MAX: Final = 128 << 20
"""Of rows that wait, and of partials that are held; of each aggregation, in each task."""


class PartialAggregateExecutor(Executor):
    """Aggregates what passes between two barriers."""

    def __init__(self, node: Aggregate, engine: Engine) -> None:
        self.schema = partial_schema(node)
        self._keys = node.keys
        self._subtracts = node.subtracts
        self._engine = engine
        self._columns = list(partial_input(node))
        self._partial = partial_sql(node, "rows_")
        self._merge = merge_sql(node, "rows_")
        self._waiting: list[pa.Table] = []
        self._waiting_bytes = 0
        self._held: list[pa.Table] = []
        self._held_bytes = 0
        self._held_bytes_max = BYTES_MAX
        self._watermarks: dict[str, Watermark] = {}

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        if chunk.data.num_rows:
            data = as_changes(chunk.data) if self._subtracts else chunk.data
            rows = _copied(data.select(self._columns))
            self._waiting.append(rows)
            self._waiting_bytes += rows.nbytes
            if self._waiting_bytes >= BYTES_MAX:
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
            self._held, self._held_bytes, self._held_bytes_max = [], 0, BYTES_MAX
            yield Chunk(partial)
        yield from self._watermarks.values()
        yield barrier

    def _aggregate(self) -> None:
        """Aggregates the rows that wait."""
        if not self._waiting:
            return
        rows = pa.concat_tables(self._waiting)
        self._waiting, self._waiting_bytes = [], 0
        partial = self._engine.query(self._partial, {"rows_": rows})
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


def _copied(rows: pa.Table) -> pa.Table:
    """``rows`` in memory of their own."""
    return pa.concat_tables([rows, rows.slice(0, 0)]).combine_chunks()  # copies two chunks, not one
