"""Filter: keeps the rows for which the predicate is true; NULL and failure are not true.

Contract. Rows out are a subsequence of the rows in, all columns untouched, ``split`` kept. When all
rows pass, the chunk passes as it is; when none does, nothing is emitted. It stands behind the
watermark filter (S2): a row that it removes has moved the watermark and counts as ``filtered``
(S7), which the tally finds out. Watermarks pass: fewer rows keep every promise.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.executor.base import Executor
from tidegate.executor.columns import single_array
from tidegate.executor.engine import Engine
from tidegate.executor.evaluate import evaluate
from tidegate.plan.nodes import Filter as FilterNode
from tidegate.types import Chunk, Message


class Filter(Executor):
    """Keeps the rows of each chunk for which ``node.predicate`` is true."""

    def __init__(self, node: FilterNode, engine: Engine) -> None:
        self.schema = node.schema
        self._predicate = node.predicate
        self._engine = engine

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        (column,) = evaluate(self._engine, chunk.data, [self._predicate])
        mask = single_array(column)
        kept = mask.true_count
        if kept == chunk.data.num_rows:
            yield chunk
        elif kept:
            yield Chunk(chunk.data.filter(mask), chunk.split)
