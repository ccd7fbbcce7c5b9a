"""Joins of rows that may come at any time, and be taken back: all rows of a key, joined (S14)."""

from __future__ import annotations

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.changes.block import Block
from tidegate.executor.joins.pairing import Pairing
from tidegate.plan.joins import ChangingJoin


class JoinBlock(Block):
    """The pairs of ``node``, of all rows of some keys on both sides."""

    def __init__(self, node: ChangingJoin, engine: Engine) -> None:
        super().__init__(engine)
        self._pairing = Pairing(node, engine)
        self._columns = [[column.name for column in side.schema] for side in node.inputs]

    def results(self, tables: list[pa.Table]) -> tuple[pa.Table, list[pa.Table]]:
        """The pairs, and rows without a partner; and what must be kept of the sides."""
        sides = zip(tables, self._columns, strict=True)
        left, right = (rows.select(columns) for rows, columns in sides)
        return pa.concat_tables(self._pairing.results(left, right)), tables
