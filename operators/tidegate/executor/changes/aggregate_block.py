"""Aggregates of rows that may be taken back, from all rows of a group (S14)."""

from __future__ import annotations

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.aggregation.aggregates import final_sql, partial_sql
from tidegate.executor.changes.block import Block
from tidegate.plan.aggregates import Aggregate


class AggregateBlock(Block):
    """The groups of ``node``, of all rows of some of them."""

    def __init__(self, node: Aggregate, engine: Engine) -> None:
        super().__init__(engine)
        self.has_result_of_nothing = not node.keys
        self._sql = final_sql(node, f"({partial_sql(node, 'rows_', whole=True)})")

    def results(self, tables: list[pa.Table]) -> tuple[pa.Table, list[pa.Table]]:
        """The groups, and what must be kept of the input."""
        (rows,) = tables
        return self._engine.query(self._sql, {"rows_": rows}), tables
