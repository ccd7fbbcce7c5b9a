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
``min(L, R)`` and the one before. So a key's last version stays as long as the job runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.engine import Engine
from tidegate.executor.base import chunks, held_back, least
from tidegate.executor.buffers.time_queue import TimeQueue, divided, slices
from tidegate.executor.columns import INT64_MIN, event_times, single_array
from tidegate.executor.evaluate import evaluate
from tidegate.executor.joins.joining import Joining
from tidegate.executor.joins.pairing import beside, with_keys
from tidegate.plan.joins import JoinKind, TemporalJoin
from tidegate.state import StateTable, compact, get_int, put_int
from tidegate.types import END, HIDDEN_PREFIX, Barrier, Chunk, Message, Watermark

SLACK_ROWS: Final = 8_192
"""A log of fewer versions than twice what is needed and these is not written anew."""
_LOG: Final = 0
_ROWS: Final = "versions:rows"
"""State value: how many versions the log has."""
_NEEDED: Final = "versions:needed"
"""State value: how many of them were needed when that was looked at last."""


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
        self._versions = state(1)

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        left, right = self._passed
        self._add_versions()
        passed = INT64_MIN if right is None else right
        known, unknown = divided(self._taken(0), self._join.times[0], passed)
        for rows in unknown:
            self._waiting.add(rows)
        versions: list[pa.Table] = []
        for number, tables in enumerate(self._ready(known, passed)):
            if number == 0:
                versions = self._versions.read(_LOG)
            yield from self._joined(tables, versions)
        self._waiting.persist()
        if left is not None and right is not None:
            self._forget(min(left, right))
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
        versions = with_keys(pa.concat_tables(new), (key for _, key in self._join.keys))
        if versions.num_rows:
            self._versions.append(_LOG, versions)
            compact(self._versions, _LOG, pa.concat_tables)
            put_int(self._versions, _ROWS, get_int(self._versions, _ROWS, 0) + versions.num_rows)

    def _joined(self, tables: list[pa.Table], versions: list[pa.Table]) -> Iterator[Chunk]:
        rows = pa.concat_tables(tables)
        visible = self._visible[1]
        if versions:
            all_versions = pa.concat_tables(versions)
            found = self._found(rows, all_versions)
            right = all_versions.select(visible)
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

    def _forget(self, bound: int) -> None:
        """Drops the versions that no row at or above ``bound`` can have."""
        if bound == END:
            self._versions.delete_bucket(_LOG)
            put_int(self._versions, _ROWS, 0)
            return
        needed_then = get_int(self._versions, _NEEDED, 0)
        if get_int(self._versions, _ROWS, 0) <= 2 * needed_then + SLACK_ROWS:
            return
        versions = pa.concat_tables(self._versions.read(_LOG))
        sql = f"SELECT i FROM ({self._last_of(f'if(t <= {bound}, NULL, t)')}) ORDER BY i"
        needed = self._engine.query(sql, {"r_": self._narrow(versions, 1)}).column(0)
        if 2 * len(needed) < versions.num_rows:
            self._versions.delete_bucket(_LOG)
            self._versions.append(_LOG, versions.take(needed))
            put_int(self._versions, _ROWS, len(needed))
        put_int(self._versions, _NEEDED, len(needed))
