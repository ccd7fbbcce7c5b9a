"""Filter: keeps the rows for which the predicate is true; NULL and failure are not true.

Contract. Rows out are a subsequence of the rows in, all columns untouched, ``split`` kept. When all
rows pass, the chunk passes as it is; when none does, nothing is emitted. It stands behind the
watermark filter (S2): a row that it removes has moved the watermark and counts as ``filtered``
(S7), if no other branch keeps it (`tally`): rows of splits are counted here. Watermarks pass: fewer
rows keep every promise. Of results that change, an update of which one half is kept becomes what it
is for those above: a row more, or one less.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import Executor
from tidegate.executor.columns import single_array
from tidegate.executor.evaluate import evaluate
from tidegate.executor.split_rows import SplitRows
from tidegate.plan.nodes import Filter
from tidegate.types import OFFSET, OP, Barrier, Chunk, Message, Op


class FilterExecutor(Executor):
    """Keeps the rows of each chunk for which ``node.predicate`` is true. ``named``: it remembers
    which rows of splits it has refused, and not only how many."""

    def __init__(self, node: Filter, engine: Engine, *, named: bool = False) -> None:
        self.schema = node.schema
        self._predicate = node.predicate
        self._engine = engine
        self.refused = SplitRows(named=named)
        """Those of splits."""

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        (column,) = evaluate(self._engine, chunk.data, [self._predicate])
        mask = single_array(column)
        kept = mask.true_count
        if chunk.split is not None and kept < chunk.data.num_rows:
            self._count(chunk.split, chunk.data, mask)
        if kept == chunk.data.num_rows:
            yield chunk
        elif kept:
            data = _with_halves(chunk.data, mask) if OP in chunk.data.column_names else chunk.data
            yield Chunk(data.filter(mask), chunk.split)

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        self.refused.end()
        yield barrier

    def _count(self, split: str, data: pa.Table, mask: pa.Array) -> None:
        if not self.refused.named:
            self.refused.add(split, data.num_rows - mask.true_count)
            return
        out = np.flatnonzero(~mask.fill_null(False).to_numpy(zero_copy_only=False))
        self.refused.add(split, len(out), data.column(OFFSET).to_numpy()[out])


def refused_by(executor: Executor | None) -> SplitRows | None:
    """What ``executor``, checked or not, has refused, if it is a filter."""
    inner = getattr(executor, "inner", executor)
    return inner.refused if isinstance(inner, FilterExecutor) else None


def _with_halves(data: pa.Table, mask: pa.Array) -> pa.Table:
    """``data``, its updates of which one half goes being inserts and deletions."""
    ops = single_array(data.column(OP)).to_numpy(zero_copy_only=False).copy()
    kept = mask.fill_null(False).to_numpy(zero_copy_only=False)
    (before,) = np.nonzero(ops == Op.UPDATE_BEFORE)
    after = before + 1
    half = kept[before] != kept[after]
    ops[before[half]] = Op.DELETE
    ops[after[half]] = Op.INSERT
    return data.set_column(data.column_names.index(OP), OP, pa.array(ops))
