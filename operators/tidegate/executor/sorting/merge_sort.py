"""MergeSort: one ordered stream out of the parallel sorts' (design §3, top-level ORDER BY).

Contract. One instance in the job. Rows in are each sort's, ordered or not; rows out are one total
order over the whole job, that of `Sort.order`, in chunks of at most `CHUNK_ROWS_MAX` rows, without
the columns in ``drop``.

The sorts emit below one global watermark, and the merger in front passes the minimum of theirs: a
row below it has all its predecessors here. So rows wait until the watermark passes them, in memory
and only within the epoch: when the barrier comes, every sort has sent the same watermark and
nothing waits. A row that still does would have to be kept in state, so it is a broken contract
(S3).
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.errors import InvariantError
from tidegate.executor.base import Executor
from tidegate.executor.buffers.time_queue import divided
from tidegate.executor.sorting.order import sorted_slices
from tidegate.plan.nodes import Sort
from tidegate.types import Barrier, Chunk, Message, Watermark


class MergeSortExecutor(Executor):
    """Merges the outputs of parallel sorts; ``drop`` are hidden columns that end here."""

    def __init__(self, node: Sort, drop: tuple[str, ...], engine: Engine) -> None:
        self.schema = node.schema
        self._node = node
        self._kept = [column.name for column in node.schema if column.name not in drop]
        self._engine = engine
        self._held: list[pa.Table] = []
        self._watermark = Watermark(node.column, None)

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        if chunk.data.num_rows:
            self._held.append(chunk.data)
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        if watermark.column != self._node.column or watermark == self._watermark:
            return
        self._watermark = watermark
        yield from self._emit()
        yield watermark

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        yield from self._emit()  # a sort may have sent more under the same watermark
        if self._held:
            waiting = pa.concat_tables(self._held)
            raise InvariantError(
                f"merge sort: {waiting.num_rows} rows wait at the barrier of epoch {barrier.epoch}",
                detail=f"watermark {self._watermark.value}, first row "
                f"{waiting.column(self._node.column)[0]}",
            )
        yield self._watermark
        yield barrier

    def _emit(self) -> Iterator[Chunk]:
        """What the watermark has passed, in order."""
        if self._watermark.value is None:
            return
        ready, self._held = divided(self._held, self._node.column, self._watermark.value)
        if ready:
            data = pa.concat_tables(ready)
            for piece in sorted_slices(self._engine, data, self._node.order):
                yield Chunk(piece.select(self._kept))
