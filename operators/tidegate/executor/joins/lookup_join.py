"""LookupJoin: joins each row with those of a table that ends (S5).

Contract. Left: rows; right: the table; both alike in the join's keys at one instance. A left row
leaves in the epoch in which it came, with every row of the table for which the condition holds;
without one it leaves alone, or not at all, as the kind of the join says. Before the table has
ended, which the watermark of the second of ``join.times`` says, nobody knows all of it, and left
rows wait: so what comes out does not depend on which of the two is read first (S6).

Watermarks. Those of the left side pass, behind the rows; while rows wait there are none.

State: the table, for as long as there can be left rows; the left rows that wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import chunks
from tidegate.executor.joins.joining import UntimedJoining
from tidegate.executor.joins.pairing import with_keys
from tidegate.plan.joins import LookupJoin
from tidegate.state import StateTable, compact
from tidegate.types import Barrier, Message, Status, Watermark

_LOG: Final = 0


class LookupJoinExecutor(UntimedJoining):
    """One of the parallel instances; ``state`` gives the state of each side by its port."""

    def __init__(
        self, join: LookupJoin, engine: Engine, state: Callable[[int], StateTable]
    ) -> None:
        super().__init__(join, engine)
        self._given = [column.name for column in join.schema]
        self._waiting, self._table = state(0), state(1)
        self._has_ended = False

    def on_port_watermark(self, port: int, watermark: Watermark) -> Iterator[Message]:
        if port == 1 and watermark.column == self._join.times[1]:
            self._has_ended = watermark.status is Status.FINISHED
        return super().on_port_watermark(port, watermark)

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        self._add_to_table()
        rows = self._taken(0)
        if self._has_ended:
            yield from self._joined([*self._waiting.read(_LOG), *rows])
            self._waiting.delete_bucket(_LOG)
            yield from self._left_watermarks.values()
            statuses = {each.status for each in self._left_watermarks.values()}
            if statuses == {Status.FINISHED}:
                self._table.delete_bucket(_LOG)
        else:
            if rows:
                self._waiting.append(_LOG, pa.concat_tables(rows))
                compact(self._waiting, _LOG, pa.concat_tables)
            for column in self._left_watermarks:
                yield Watermark(column, None, Status.ACTIVE)
        yield barrier

    def _add_to_table(self) -> None:
        new = self._taken(1)
        if not new:
            return
        rows = with_keys(pa.concat_tables(new), (key for _, key in self._join.keys))
        if rows.num_rows:
            self._table.append(_LOG, rows)
            compact(self._table, _LOG, pa.concat_tables)

    def _joined(self, parts: list[pa.Table]) -> Iterator[Message]:
        if not parts:
            return
        rows = pa.concat_tables(parts)
        stored = self._table.read(_LOG)
        table = pa.concat_tables(stored) if stored else self._like[1].empty_table()
        for joined in self._pairing.results(rows, table):
            yield from chunks(joined.select(self._given))
