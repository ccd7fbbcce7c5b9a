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


def with_op(rows: pa.Table, op: Op) -> pa.Table:
    """``rows``, to which all the same has happened."""
    return rows.append_column(OP, pa.array(np.full(rows.num_rows, int(op), np.int8)))
