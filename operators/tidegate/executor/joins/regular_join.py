"""RegularJoin: the pairs of rows that may come at any time, and be taken back (S14).

Contract. Rows of both sides in, those alike in the join's keys at one instance; of a side that
changes with `OP`. At the barrier the pairs leave that the epoch's rows make: new left rows with all
right ones, and the left rows of before with new right ones. A pair with a row that is taken back is
taken back; what comes and goes in one epoch is nothing. Where neither side changes no pair is ever
taken back, and rows leave without `OP`.

Watermarks end here: a partner may come at any time.

State: the rows of both sides by the hash of their keys (`KeyedRows`); rows whose key is NULL have
no partner, and are not kept. An epoch reads the partners of what is new. Of a side that does not
change it writes what is new, however many rows a key has; of one that does the keys that change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import chunks
from tidegate.executor.buffers.keyed_rows import (
    HASH,
    KeyedRows,
    UInt64s,
    by_hash,
    hashes_of,
    stretch,
    with_hashes,
)
from tidegate.executor.changes.as_changes import as_changes, with_op
from tidegate.executor.changes.difference import changed, difference, is_taken
from tidegate.executor.joins.joining import UntimedJoining
from tidegate.executor.joins.pairing import with_keys
from tidegate.plan.changes import changing_key, is_changing
from tidegate.plan.joins import ChangingJoin
from tidegate.state import StateTable
from tidegate.types import OP, Barrier, Chunk, Message, Op

HASHES_MAX: Final = 65_536
"""Keys that are looked at together."""
_Signed: TypeAlias = "tuple[pa.Table, npt.NDArray[np.bool_]]"
"""Rows, and which of them are taken back."""


class RegularJoinExecutor(UntimedJoining):
    """One of the parallel instances; ``state`` gives the state of each side by its port."""

    def __init__(
        self, join: ChangingJoin, engine: Engine, state: Callable[[int], StateTable]
    ) -> None:
        left, right = (is_changing(side) for side in join.inputs)
        self._changing = [left, right]
        super().__init__(join, engine, ((OP,) * left, (OP,) * right))
        self._engine = engine
        self._keys = [[keys[side] for keys in join.keys] for side in range(2)]
        self._sides = [
            KeyedRows(state(port), adds=not changing)
            for port, changing in enumerate(self._changing)
        ]
        self._told_apart = changing_key(join)

    def on_rows(self, port: int, data: pa.Table) -> Iterator[Message]:
        rows = with_keys(data, self._keys[port])
        if rows.num_rows:
            rows = as_changes(rows) if self._changing[port] else rows
            self.keep(port, rows.select(self._columns[port]))
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        new = [self._new_rows(port) for port in range(2)]
        touched = np.unique(np.concatenate([hashes_of(rows) for rows in new]))
        for start in range(0, len(touched), HASHES_MAX):
            hashes = touched[start : start + HASHES_MAX]
            yield from self._joined([stretch(rows, hashes) for rows in new])
        for side in self._sides:
            side.settle()
        yield barrier

    def _new_rows(self, port: int) -> pa.Table:
        """What has come of a side since the last barrier, by the hash of its keys."""
        rows = self._taken(port)
        if not rows:
            return self._none(port)
        return by_hash(with_hashes(pa.concat_tables(rows), self._keys[port], self._engine))

    def _none(self, port: int) -> pa.Table:
        none = self._like[port].empty_table()
        return none.append_column(HASH, pa.array([], pa.uint64()))

    def _joined(self, new: list[pa.Table]) -> Iterator[Chunk]:
        """What leaves of some keys, of which this is ``new``; and keeps it."""
        left, right = (
            self._known(port, hashes_of(new[port]), hashes_of(new[1 - port])) for port in range(2)
        )
        signed = [_signed(rows) for rows in new]
        every = self._both(signed[1], right)
        parts = [
            self._pairs(signed[0], every),
            self._pairs(_signed(left), signed[1]),
        ]
        yield from self._leaving(parts)
        for port, before in enumerate((left, right)):
            self._keep(port, before, new[port])

    def _known(self, port: int, own: UInt64s, others: UInt64s) -> pa.Table:
        """What is kept of a side that ``others`` meet, and of ``own`` keys, if they may change."""
        wanted = np.union1d(own, others) if self._changing[port] and len(own) else np.unique(others)
        found = self._sides[port].find(wanted) if len(wanted) else None
        return self._none(port) if found is None else found

    def _both(self, new: _Signed, known: pa.Table) -> _Signed:
        rows, taken = new
        both = pa.concat_tables([known, rows.select(known.column_names)])
        return both, np.concatenate([np.zeros(known.num_rows, np.bool_), taken])

    def _pairs(self, left: _Signed, right: _Signed) -> _Signed:
        (lefts, left_taken), (rights, right_taken) = left, right
        rows, partners = self._pairing.pairs(lefts, rights)
        pairs = self._pairing.joined(
            lefts.select(self._visible[0]), rights.select(self._visible[1]), rows, partners
        )
        return pairs, left_taken[rows] ^ right_taken[partners]

    def _leaving(self, parts: list[_Signed]) -> Iterator[Chunk]:
        pairs = pa.concat_tables([rows for rows, _ in parts])
        taken = np.concatenate([taken for _, taken in parts])
        if not any(self._changing):
            yield from chunks(pairs)
        elif not taken.any():
            yield from chunks(with_op(pairs, Op.INSERT))
        else:
            went, came = pairs.filter(pa.array(taken)), pairs.filter(pa.array(~taken))
            out = difference(self._engine, went, came, self._told_apart)
            if out.num_rows:
                yield Chunk(out)

    def _keep(self, port: int, before: pa.Table, new: pa.Table) -> None:
        if not new.num_rows:
            return
        if self._changing[port]:
            self._sides[port].put_instead(before, changed(self._engine, before, new))
        else:
            self._sides[port].put(new)


def _signed(rows: pa.Table) -> _Signed:
    if OP not in rows.column_names:
        return rows, np.zeros(rows.num_rows, np.bool_)
    return rows, is_taken(rows)
