"""What over-windows say of whole partitions, and the first rows of each (S14)."""

from __future__ import annotations

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.changes.block import Block
from tidegate.executor.over.over_sql import Clauses, call_sql, narrow
from tidegate.plan.changes import is_changing
from tidegate.plan.nodes import quoted
from tidegate.plan.over import ChangingOver


class OverBlock(Block):
    """The rows of a `ChangingOver`, of all those of some partitions."""

    def __init__(self, node: ChangingOver, engine: Engine) -> None:
        super().__init__(engine)
        self._node = node
        self._sql = _query(node)
        self._keeps_first = node.keeps_first and not is_changing(node.input)
        self._visible = [c.name for c in node.schema if c in node.input.schema]

    def results(self, tables: list[pa.Table]) -> tuple[pa.Table, list[pa.Table]]:
        """The rows of the result, and what must be kept of the input's."""
        (data,) = tables
        rows = narrow(self._node, data, pa.nulls(data.num_rows, pa.int64()))
        found = self._engine.query(self._sql, {"rows_": rows})
        chosen = data.take(found.column("i"))
        computed = {c.name: found.column(c.name) for c in self._node.schema[len(self._visible) :]}
        names = [*self._visible, *computed]
        result = pa.table([*chosen.select(self._visible).columns, *computed.values()], names=names)
        return result, [chosen if self._keeps_first else data]


def _query(node: ChangingOver) -> str:
    clauses = Clauses(node)
    place = f"row_number() OVER ({clauses.partition} {clauses.total}) AS idx"
    wanted = {column.name for column in node.schema}
    values, limit = [], ""
    for number, call in enumerate(node.calls):
        value = f"CAST({call_sql(node, number)} AS {call.output.type})"
        if call.output.name in wanted:
            values.append(f"{value} AS {quoted(call.output.name)}")
        if node.first is not None and node.first[0] == call.output.name:
            limit = f" QUALIFY {value} <= {node.first[1]}"
    placed = f"(SELECT *, {place} FROM rows_)"
    return f"SELECT {', '.join(['i', *values])} FROM {placed}{limit} ORDER BY i"
