"""RecentRows: over-windows in the order of a split, below its watermark filter (seed 000).

Contract. Rows of one split in, in its order; the same rows out, each with the calls' outputs, which
look at the row and the last rows before it. Nothing waits: the rows before a row are known.
Late rows are rows like all others, as no filter has judged them yet.

State: of each split the last rows, as many as the frames reach back, and of them only what the
calls read. It is kept as the filter's is: in every epoch's entry, or in the state store.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import Executor
from tidegate.executor.columns import hidden_columns
from tidegate.executor.over.over_sql import frame_sql, offset_sql, read_by
from tidegate.executor.watermarks.saved import save, saved
from tidegate.plan.over import OverCall, Reach, RecentRows
from tidegate.state import StateTable
from tidegate.types import Barrier, Chunk, FilterState, Message


class RecentRowsExecutor(Executor):
    """That of one split. ``state`` may be shared with other splits of the same node."""

    def __init__(self, node: RecentRows, split: str, engine: Engine, state: StateTable) -> None:
        self.schema = node.schema
        self.node = node
        self._engine = engine
        self._table_state = state
        self._split = split
        self._back = Reach.of(node.calls).rows_back
        own = {call.output.name for call in node.calls}
        self._visible = [column.name for column in node.schema if column.name not in own]
        calls = ", ".join(f"{_sql(call, n)} AS c{n}" for n, call in enumerate(node.calls))
        self._sql = f"SELECT {calls} FROM (SELECT *, i AS idx FROM rows_) ORDER BY i"
        self._saved = saved(state, split)
        self._tail = _unpacked(self._saved.tail) if self._saved.tail else None

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        data = chunk.data
        if data.num_rows == 0:
            yield Chunk(self._with(data, self._engine.empty(self.schema)), chunk.split)
            return
        rows = self._narrow(data)
        if self._tail is not None:
            rows = pa.concat_tables([self._tail, rows])
        numbered = rows.append_column("i", pa.array(np.arange(rows.num_rows)))
        found = self._engine.query(self._sql, {"rows_": numbered})
        self._tail = rows.slice(max(0, rows.num_rows - self._back))
        named = found.rename_columns([call.output.name for call in self.node.calls])
        yield Chunk(self._with(data, named.slice(rows.num_rows - data.num_rows)), chunk.split)

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        self._saved = FilterState(tail="" if self._tail is None else _packed(self._tail))
        save(self._table_state, self._split, self._saved)
        yield barrier

    def snapshot(self) -> FilterState:
        """What a restart needs, as of the last barrier."""
        return self._saved

    def _narrow(self, data: pa.Table) -> pa.Table:
        """The columns that the calls read, under the names of `over_sql`."""
        columns = read_by(self.node.calls, data)
        if not columns:  # count(*) reads nothing
            columns["n"] = pa.array(np.zeros(data.num_rows, dtype=np.int8))
        return pa.table(columns)

    def _with(self, data: pa.Table, computed: pa.Table) -> pa.Table:
        """The visible columns of ``data``, then the ``computed`` ones, then the hidden ones."""
        hidden = hidden_columns(data)
        names = [*self._visible, *(call.output.name for call in self.node.calls), *hidden]
        columns = [(data if name in data.column_names else computed).column(name) for name in names]
        return pa.table(columns, names=names)


def _sql(call: OverCall, number: int) -> str:
    if call.offset:
        return offset_sql(call, number, "ORDER BY i")
    assert call.frame is not None
    return frame_sql(call, number, call.frame, "ORDER BY i")


def _packed(rows: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return base64.b64encode(sink.getvalue()).decode()


def _unpacked(text: str) -> pa.Table:
    return pa.ipc.open_stream(base64.b64decode(text)).read_all()
