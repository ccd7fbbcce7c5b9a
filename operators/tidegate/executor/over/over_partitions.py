"""OverPartitions: over-windows of partitions that the watermark passes as a whole (S5).

Contract. Rows in, each partition at one instance; ``over.time`` is one of the partition's columns.
When its watermark rises to w, the rows of all partitions below w leave, with the calls' outputs
behind the visible columns. Any function, order and frame is final then. At `END` all leave.

Watermarks. What leaves later is at or above w: that is the watermark of the time, and, moved by
their distance, of the columns in ``follow``. Others end here.

State: a `TimeQueue`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import chunks
from tidegate.executor.buffers.known_rows import KnownRows
from tidegate.executor.columns import event_times
from tidegate.executor.over.over_sql import Clauses, call_sql, narrow
from tidegate.plan.over import OverWindow
from tidegate.plan.physical import OverRows
from tidegate.state import StateTable
from tidegate.types import Chunk


class OverPartitionsExecutor(KnownRows):
    """Keeps rows until their partition is whole."""

    def __init__(self, node: OverRows, engine: Engine, state: StateTable) -> None:
        over = node.over
        super().__init__(over.time, columns_of(node), state, node.follow)
        self.schema = over.schema
        self._node = node
        self._over = over
        self._engine = engine
        self._sql = _query(over)

    def _step(self, tables: list[pa.Table], bound: int) -> Iterator[Chunk]:
        del bound  # what is known is final
        if not tables:
            return
        data = pa.concat_tables(tables)
        times, valid = event_times(data.column(self._over.time))
        rows = narrow(self._over, data, pa.array(times, mask=~valid))
        outputs = self._engine.query(self._sql, {"rows_": rows})
        yield from chunks(with_outputs(self._node, data, outputs))


def columns_of(node: OverRows) -> list[str]:
    """The columns of the input that are kept."""
    return [*(column.name for column in node.over.input.schema), *node.hidden]


def with_outputs(node: OverRows, rows: pa.Table, outputs: pa.Table) -> pa.Table:
    """``rows`` as they leave, with the columns of ``outputs`` behind the visible ones."""
    over = node.over
    visible = [column.name for column in over.input.schema]
    names = [*visible, *(call.output.name for call in over.calls), *node.keep]
    kept = [rows.column(name) for name in node.keep]
    return pa.table([*rows.select(visible).columns, *outputs.columns, *kept], names=names)


def _query(over: OverWindow) -> str:
    clauses = Clauses(over)
    place = f"row_number() OVER ({clauses.partition} {clauses.total}) AS idx"
    values = ", ".join(
        f"CAST({call_sql(over, number)} AS {call.output.type}) AS c{number}"
        for number, call in enumerate(over.calls)
    )
    return f"SELECT {values} FROM (SELECT *, {place} FROM rows_) ORDER BY i"
