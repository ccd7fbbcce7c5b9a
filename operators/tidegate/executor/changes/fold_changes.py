"""FoldChanges: what an epoch changes in rows that a key tells apart, once for each of them (S14).

Contract. Changes in, those alike in ``node.keys`` at one instance: where a row has moved from one
actor to another, one of them says that it goes and the other that it comes. At the barrier each key
has changed once, from what it was to what it is, or not at all. So it makes no difference to a sink
in which order it gets them. Watermarks pass behind the changes. Nothing is kept between epochs.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import Executor
from tidegate.executor.changes.as_changes import as_changes
from tidegate.executor.changes.difference import difference, is_taken
from tidegate.plan.physical import FoldChanges
from tidegate.types import Barrier, Chunk, Message, Watermark


class FoldChangesExecutor(Executor):
    """Gathers the changes of an epoch."""

    def __init__(self, node: FoldChanges, engine: Engine) -> None:
        self.schema = node.schema
        self._keys = node.keys
        self._names = [column.name for column in node.schema]
        self._engine = engine
        self._changes: list[pa.Table] = []
        self._watermarks: dict[str, Watermark] = {}

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        if chunk.data.num_rows:
            self._changes.append(as_changes(chunk.data))
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        self._watermarks[watermark.column] = watermark
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        if self._changes:
            changes, self._changes = pa.concat_tables(self._changes), []
            goes = is_taken(changes)
            rows = changes.select(self._names)
            went, came = rows.filter(pa.array(goes)), rows.filter(pa.array(~goes))
            out = difference(self._engine, went, came, self._keys)
            if out.num_rows:
                yield Chunk(out)
        yield from self._watermarks.values()
        yield barrier
