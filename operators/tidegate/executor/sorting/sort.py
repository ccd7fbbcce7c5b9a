"""Sort: EMIT ON WINDOW CLOSE sort on one vnode (RFC "Sort (Stateful)", seed 001).

Contract. Rows in any order in; when the watermark of ``column`` rises to w, the rows below w leave,
ascending by ``column``, then by ``keys`` and ``ties`` (`Sort.order`), all columns kept (the merge
behind needs the ties, hidden ones included); then the watermark. At `END` all rows leave, those
without a time last. Other columns' watermarks end here: rows that are held may be below them. The
input's watermark must be global (behind a merger), else the parallel sorts' outputs could not be
merged.

State: a `TimeQueue`.

A watermark that changes nothing is not passed on: the barrier repeats the current one anyway.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import Executor
from tidegate.executor.buffers.time_queue import TimeQueue, slices
from tidegate.executor.sorting.order import sorted_slices
from tidegate.plan.physical import SortRuns
from tidegate.state import StateTable
from tidegate.types import Barrier, Chunk, Message, Watermark


class SortExecutor(Executor):
    """One of the parallel sorts."""

    def __init__(self, node: SortRuns, engine: Engine, state: StateTable) -> None:
        self.schema = node.sort.schema
        self._sort = node.sort
        self._columns = [*(column.name for column in self.schema), *node.hidden]
        self._engine = engine
        self._queue = TimeQueue(state, node.sort.column)
        self._watermark = Watermark(node.sort.column, None)

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        self._queue.add(chunk.data.select(self._columns))
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        if watermark.column != self._sort.column or watermark == self._watermark:
            return
        self._watermark = watermark
        if watermark.value is not None and watermark.value > self._queue.cut:
            yield from self._emit(watermark.value)
        yield self._watermark

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        self._queue.persist()
        yield self._watermark
        yield barrier

    def _emit(self, bound: int) -> Iterator[Chunk]:
        """The rows below ``bound``, in order."""
        for _, (tables,) in slices([self._queue], bound):
            if tables:
                data = pa.concat_tables(tables)
                for piece in sorted_slices(self._engine, data, self._sort.order):
                    yield Chunk(piece)
