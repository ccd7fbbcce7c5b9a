"""AsChanges: rows that stay, beside others that change: each is one that came (S14).

Contract. The same rows out, with `OP`. Watermarks pass.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tidegate.executor.base import Executor
from tidegate.plan.physical import AsChanges
from tidegate.types import OP, Chunk, Message, Op


class AsChangesExecutor(Executor):
    """Gives rows an operation."""

    def __init__(self, node: AsChanges) -> None:
        self.schema = node.schema

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        yield Chunk(as_changes(chunk.data), chunk.split)


def as_changes(rows: pa.Table) -> pa.Table:
    """``rows`` with `OP`: such as have none are new."""
    return rows if OP in rows.column_names else with_op(rows, Op.INSERT)


def apart(rows: pa.Table) -> pa.Table:
    """``rows``, which have `OP`, the halves of updates being rows that go and rows that come."""
    alone = {Op.UPDATE_BEFORE: Op.DELETE, Op.UPDATE_AFTER: Op.INSERT}
    ops = np.array([int(alone.get(op, op)) for op in Op], np.int8)[rows.column(OP).to_numpy()]
    return rows.set_column(rows.column_names.index(OP), OP, pa.array(ops))


def with_op(rows: pa.Table, op: Op) -> pa.Table:
    """``rows``, to which all the same has happened."""
    return rows.append_column(OP, pa.array(np.full(rows.num_rows, int(op), np.int8)))
