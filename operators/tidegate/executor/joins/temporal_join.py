"""TemporalJoin: joins each row with the version that was valid at its time (S4, S5).

Contract. Left: rows; right: versions, each valid from its time until that of the next one alike in
the keys; both alike in the join's keys at one instance. A left row leaves in the epoch in which the
right side's watermark has passed its time, for then all versions up to it are known: with the last
one that is not later than it, of equal times the last by ``join.ties`` (S6). If there is none, or
the join's condition does not hold, it leaves alone, or, of an inner join, not at all.

Watermarks. With the watermarks L and R of the two times, what leaves later is at or above
``min(L, R)``: that is the watermark of the left time and, moved by their distance, of the columns
in ``join.follow``. All others end here, those of versions too: a version may be ever so old.

State: the left rows that the right watermark has not passed; of each key, the versions later than
``min(L, R)`` and the one before (`KeyedRows`: others go when versions are merged). So a key's last
version stays as long as the job runs. An epoch reads the versions of the keys that leave in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.engine import Engine
from tidegate.executor.base import chunks, held_back, least
from tidegate.executor.buffers.keyed_rows import (
    KeyedRows,
    by_hash,
    groups_of,
    hashes_of,
    only_needed,
    with_hashes,
)
from tidegate.executor.buffers.time_queue import TimeQueue, divided, slices
from tidegate.executor.columns import INT64_MIN, Int64s, event_times, single_array
from tidegate.executor.evaluate import evaluate
from tidegate.executor.joins.joining import Joining
from tidegate.executor.joins.pairing import beside, with_keys
from tidegate.plan.joins import JoinKind, TemporalJoin
from tidegate.state import StateTable
from tidegate.types import END, HIDDEN_PREFIX, Barrier, Chunk, Message, Watermark

_BUCKET: Final = 0
_OF_0_1: Final = ("versions:rows", "versions:needed")
"""State values where the versions are a log, of release 0.1."""


class TemporalJoinExecutor(Joining):
    """One of the parallel instances; ``state`` gives the state of each side by its port."""

    def __init__(
        self, join: TemporalJoin, engine: Engine, state: Callable[[int], StateTable]
    ) -> None:
        hidden = tuple(tie for tie in join.ties if tie.startswith(HIDDEN_PREFIX))
        super().__init__(join, engine, ((), hidden))
        self._engine = engine
        self._ties = join.ties
        self._waiting = TimeQueue(state(0), join.times[0])
        self._right = state(1)
        self._versions = KeyedRows(self._right, adds=True, prune=self._needed)
        self._bound = INT64_MIN
        """No left row below it comes any more."""
        if any(name in self._right.values for name in _OF_0_1):
            self._take_over()

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        left, right = self._passed
        self._add_versions()
        passed = INT64_MIN if right is None else right
        known, unknown = divided(self._taken(0), self._join.times[0], passed)
        for rows in unknown:
            self._waiting.add(rows)
        for tables in self._ready(known, passed):
            yield from self._joined(pa.concat_tables(tables))
        self._waiting.persist()
        if left is not None and right is not None:
            self._bound = min(left, right)
        if self._bound == END:
            self._right.delete_bucket(_BUCKET)
        self._versions.settle()
        bound, status = least(self._watermarks)
        for column, _, distance in self._join.follow:
            yield Watermark(column, held_back(bound, distance), status)
        yield barrier

    def _ready(self, known: list[pa.Table], passed: int) -> Iterator[list[pa.Table]]:
        """The rows all of whose versions are known, some at once."""
        if known:
            yield known
        if passed > self._waiting.cut:
            yield from (tables for _, (tables,) in slices([self._waiting], passed) if tables)

    def _add_versions(self) -> None:
        new = self._taken(1)
        if not new:
            return
        self._put(with_keys(pa.concat_tables(new), self._keys(1)))

    def _put(self, versions: pa.Table) -> None:
        self._versions.put(by_hash(with_hashes(versions, self._keys(1), self._engine)))

    def _keys(self, side: int) -> list[str]:
        return [keys[side] for keys in self._join.keys]

    def _joined(self, rows: pa.Table) -> Iterator[Chunk]:
        hashes = hashes_of(with_hashes(rows, self._keys(0), self._engine))
        versions = self._versions.find(np.unique(hashes))
        if versions is not None:
            found, right = self._found(rows, versions), versions.select(self._visible[1])
        else:
            found, right = pa.nulls(rows.num_rows, pa.int64()), self._like[1].empty_table()
        if self._join.condition is not None:
            found = self._checked(beside(rows, right.take(found)), found)
        if self._join.kind is JoinKind.INNER:
            has_version = pc.is_valid(found)
            rows, found = rows.filter(has_version), found.filter(has_version)
        yield from chunks(beside(rows, right.take(found)))

    def _found(self, rows: pa.Table, versions: pa.Table) -> pa.Array:
        """For each of ``rows`` the number of its version, or NULL."""
        keys = range(len(self._join.keys))
        on = " AND ".join([*(f"l.k{n} = r.k{n}" for n in keys), "l.t >= r.t"])
        sql = f"SELECT r.i FROM l ASOF LEFT JOIN ({self._last_of('t')}) AS r ON {on} ORDER BY l.i"
        tables = {"l": self._narrow(rows, 0), "r_": self._narrow(versions, 1)}
        return self._engine.query(sql, tables).column(0).combine_chunks()

    def _last_of(self, moment: str) -> str:
        """The last version of each key among those alike in ``moment``."""
        keys = [f"k{n}" for n in range(len(self._join.keys))]
        order = ["t", *(f"s{n}" for n in range(len(self._ties)))]
        by = ", ".join(f"{name} DESC" for name in order)
        return (
            "SELECT * FROM r_ QUALIFY row_number() OVER ("
            f"PARTITION BY {', '.join([*keys, moment])} ORDER BY {by}) = 1"
        )

    def _narrow(self, rows: pa.Table, side: int) -> pa.Table:
        """The columns that decide: keys, time, what breaks ties, the row's number."""
        columns = {f"k{n}": rows.column(keys[side]) for n, keys in enumerate(self._join.keys)}
        if side == 1:
            columns |= {f"s{n}": rows.column(name) for n, name in enumerate(self._ties)}
        times, _ = event_times(rows.column(self._join.times[side]))
        return pa.table({**columns, "t": times, "i": np.arange(rows.num_rows)})

    def _checked(self, pairs: pa.Table, found: pa.Array) -> pa.Array:
        """``found``, NULL where the condition does not hold."""
        condition = self._join.condition
        assert condition is not None
        (holds,) = evaluate(self._engine, pairs, [condition])
        return pc.if_else(single_array(holds), found, pa.scalar(None, pa.int64()))

    def _needed(self, versions: pa.Table) -> pa.Table:
        """Of versions by their hashes those that a row at or above the bound can have."""
        _, counts = groups_of(versions)
        return only_needed(versions, np.repeat(counts > 1, counts), self._within_reach)

    def _within_reach(self, versions: pa.Table) -> Int64s:
        sql = f"SELECT i FROM ({self._last_of(f'if(t <= {self._bound}, NULL, t)')})"
        found = self._engine.query(sql, {"r_": self._narrow(versions, 1)})
        numbers: Int64s = found.column(0).to_numpy()
        return numbers

    def _take_over(self) -> None:
        """Sorts by keys what release 0.1 has kept in the order of arrival, once."""
        for name in _OF_0_1:
            self._right.values.pop(name, None)
        versions = self._right.read(_BUCKET)
        self._right.delete_bucket(_BUCKET)
        if versions:
            self._put(pa.concat_tables(versions))
