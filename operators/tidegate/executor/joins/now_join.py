"""NowJoin: joins each row with what a table that changes has at the end of its epoch (S14).

Contract. Left: rows; right: a table's changes, with `OP`; both alike in the join's keys at one
instance. A left row leaves in the epoch in which it came, with every row that the table has then
and for which the condition holds; without one it leaves alone, or not at all, as the kind of the
join says. What becomes of the table later changes nothing in it. Which rows are in one epoch
depends on clocks, so this does (S6).

Watermarks. Those of the left side pass, behind the rows.

State: the rows of the table by the hash of their keys (`KeyedRows`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import chunks
from tidegate.executor.buffers.keyed_rows import (
    KeyedRows,
    UInt64s,
    hashes_of,
    with_hashes,
)
from tidegate.executor.changes.difference import changed
from tidegate.executor.joins.joining import UntimedJoining
from tidegate.plan.joins import NowJoin
from tidegate.state import StateTable
from tidegate.types import OP, Barrier, Message


class NowJoinExecutor(UntimedJoining):
    """One of the parallel instances; ``state`` gives the state of each side by its port."""

    def __init__(self, join: NowJoin, engine: Engine, state: Callable[[int], StateTable]) -> None:
        super().__init__(join, engine, ((), (OP,)))
        self._engine = engine
        self._keys = [[keys[side] for keys in join.keys] for side in range(2)]
        self._table = KeyedRows(state(1))

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        if new := self._taken(1):
            self._change(with_hashes(pa.concat_tables(new), self._keys[1], self._engine))
        if rows := self._taken(0):
            yield from self._joined(pa.concat_tables(rows))
        self._table.settle()
        yield from self._left_watermarks.values()
        yield barrier

    def _change(self, changes: pa.Table) -> None:
        before = self._found(np.unique(hashes_of(changes)))
        self._table.put_instead(before, changed(self._engine, before, changes))

    def _found(self, hashes: UInt64s) -> pa.Table:
        found = self._table.find(hashes)
        if found is not None:
            return found
        return with_hashes(self._like[1].empty_table(), self._keys[1], self._engine)

    def _joined(self, rows: pa.Table) -> Iterator[Message]:
        hashes = hashes_of(with_hashes(rows, self._keys[0], self._engine))
        table = self._found(np.unique(hashes)).select(self._visible[1])
        for joined in self._pairing.results(rows, table):
            yield from chunks(joined)
