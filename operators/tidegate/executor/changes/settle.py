"""Settle: rows of a table that changes leave once, when the watermark has passed them (S13).

Contract. Rows with `OP` in, none of those that come below the watermark of ``column``; each with
`BEFORE`. Rows out without these. When that watermark rises to w, the rows below w that are there
leave, then the watermark, and those of the columns that follow it at a distance. At `END` all rows
leave, those without a time last. Other columns' watermarks end here.

What is taken from a row that is final is refused (`closed`), and that is judged by the watermark of
the split that says so, as late rows are (S2): merged watermarks are behind it, so no row has left
of which something is taken, and it does not depend on epochs which are refused (S6).

State: a `TimeQueue` of what has come and what was taken.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import Executor, held_back
from tidegate.executor.buffers.time_queue import TimeQueue
from tidegate.executor.changes.difference import taken_from
from tidegate.executor.changes.refusals import refused
from tidegate.executor.columns import Bools, event_times, moved, single_array
from tidegate.plan.derivation import following_of
from tidegate.plan.settle import Settle
from tidegate.reasons import Reason
from tidegate.state import StateTable
from tidegate.types import BEFORE, OP, Barrier, Chunk, Message, Op, Rejected, Watermark


class SettleExecutor(Executor):
    """One of the parallel instances."""

    def __init__(self, node: Settle, engine: Engine, state: StateTable) -> None:
        self.schema = node.schema
        self._node = node
        self._names = [column.name for column in node.schema]
        self._engine = engine
        self._queue = TimeQueue(state, node.column)
        self._follow = following_of(node)
        self._watermark = Watermark(node.column, None)

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        data = chunk.data.select([*self._names, OP])
        taken = np.isin(data.column(OP).to_numpy(), (Op.DELETE, Op.UPDATE_BEFORE))
        if taken.any():
            closed = taken & self._is_final(chunk.data)
            if closed.any():
                yield self._refuse(data.filter(pa.array(closed)))
                data = data.filter(pa.array(~closed))
        self._queue.add(data)

    def _is_final(self, data: pa.Table) -> Bools:
        """Which rows were final when something was said of them."""
        times, valid = event_times(data.column(self._node.column))
        before = single_array(data.column(f"{BEFORE}{self._node.time}")).to_numpy()
        short = self._node.short
        passed: Bools = times < before if short is None else moved(times, short) <= before
        return valid & passed

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        if watermark.column != self._node.column or watermark == self._watermark:
            return
        self._watermark = watermark
        if watermark.value is not None and watermark.value > self._queue.cut:
            for rows in taken_from(self._engine, self._queue, watermark.value, self._names):
                yield Chunk(rows)
        yield from self._spoken()

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        self._queue.persist()
        yield from self._spoken()
        yield barrier

    def _spoken(self) -> Iterator[Watermark]:
        value, status = self._watermark.value, self._watermark.status
        for column, distance in self._follow:
            yield Watermark(column, held_back(value, distance), status)

    def _refuse(self, rows: pa.Table) -> Rejected:
        node = self._node
        return Rejected(
            refused(
                rows.select(self._names),
                self._engine,
                account=node.account,
                table=node.table,
                split="",
                operator="settle",
                reasons=Reason.CLOSED.value,
            )
        )
