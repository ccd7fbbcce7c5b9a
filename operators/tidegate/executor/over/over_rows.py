"""OverRows: over-windows of rows in the order of time, each emitted once, when it is final (S5).

Contract. Rows in, each partition at one instance. A row is known once the watermark w of the time
is above its own; it leaves when all rows that its frames can reach are known: at once where they
look back only, when there are so many later rows in its partition (``LEAD``, ``FOLLOWING``), or
when w has passed its time and the length of the frame ahead. Rows of equal time leave together. At
`END` all leave: no row is coming, and frames end where the partition does.

Watermarks. What leaves later lies at or above the oldest row that still waits, or w. So ``LEAD``
holds the watermark at the last row of a partition that never gets another one (S4). That is the
watermark of the time, and, moved by their distance, of the columns in ``follow``.

State, of which a step reads and writes the partitions of its new rows and of those that are due:

- ``rows``: those that are not known (a `TimeQueue`);
- ``context``: rows that wait, and those that left and that a frame may still reach: the last ones
  of each partition where frames count rows, those of the frame's length where they measure time.
  Where none wait, only the columns that are read.
  Where these are few, a partition's are written anew with each of its rows (`KeyedRows`); where
  they may be many, only new ones are added, and what is needed no more goes when rows are merged;
- ``waiting``: the times of the rows that wait (`WaitingTimes`);
- ``carry``: a row for each partition, where a call looks at all rows that ever were.

A partition's last rows and its carried values stay as long as the job runs, for the next row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.engine import Engine
from tidegate.executor.base import chunks
from tidegate.executor.buffers.keyed_rows import (
    HASH,
    KeyedRows,
    UInt64s,
    by_hash,
    groups_of,
    hashes_of,
    only_needed,
    with_hashes,
)
from tidegate.executor.buffers.known_rows import LOG, KnownRows
from tidegate.executor.columns import INT64_MIN, Int64s, event_times
from tidegate.executor.over.over_partitions import columns_of, with_outputs
from tidegate.executor.over.over_query import found_sql, kept_sql
from tidegate.executor.over.over_running import running
from tidegate.executor.over.over_sql import narrow
from tidegate.executor.over.waiting_times import WaitingTimes
from tidegate.plan.over import Reach
from tidegate.plan.physical import OverRows
from tidegate.state import StateTable, get_int, put_int
from tidegate.types import END, Chunk

FEW_ROWS: Final = 4
"""Frames of so many rows are written anew with each row. The layout of state depends on it."""
HASHES_MAX: Final = 262_144
"""Partitions that are looked at together."""
_KNOWN: Final = "over:known"
"""State value: how far the rows in the context are known."""
_NEWEST: Final = "over:newest"
"""State value: a time that no row in the context is behind."""
_KNOWN_0_1: Final = "over:seen"
"""The same where the context is a log, of release 0.1; and the oldest time that waits."""
_WAITING_0_1: Final = "over:waiting"


class OverRowsExecutor(KnownRows):
    """One of the parallel instances; ``state`` gives the state tables by name."""

    def __init__(self, node: OverRows, engine: Engine, state: Callable[[str], StateTable]) -> None:
        over = node.over
        super().__init__(over.time, columns_of(node), state("rows"), node.follow)
        self.schema = over.schema
        self._node = node
        self._over = over
        self._engine = engine
        self._reach = reach = Reach.of(over.calls)
        self._running = {
            number: running(over, number)
            for number, call in enumerate(over.calls)
            if call.is_running
        }
        self._sql = tuple(
            found_sql(over, reach, self._running, has_carry=has_carry)
            for has_carry in (False, True)
        )
        self._kept_sql = kept_sql(over, reach)
        self._keys = [f"k{number}" for number in range(len(over.keys))]
        parts = [
            (n, place) for n, call in self._running.items() for place in range(len(call.parts))
        ]
        self._of_carry = [*self._keys, *(f"p{n}_{place}" for n, place in parts), "n", "h"]
        self._adds = reach.time_back is not None or reach.rows_back + reach.rows_ahead > FEW_ROWS
        self._has_context = self._adds or reach.rows_back > 0 or reach.is_ahead
        kept = set(self._columns) if reach.is_ahead else over.reads(set())[0]
        self._kept = [*(name for name in self._columns if name in kept), HASH]
        self._values, self._carried = state("context"), state("carry")
        prune = self._needed if self._adds else None
        self._context = KeyedRows(self._values, adds=self._adds, prune=prune)
        self._carry = KeyedRows(self._carried)
        self._times = WaitingTimes(state("waiting"))
        if self._values.get(_KNOWN_0_1) is not None:
            self._take_over()
        self._known = get_int(self._values, _KNOWN, INT64_MIN)
        self._waiting = self._times.oldest

    def _step(self, tables: list[pa.Table], bound: int) -> Iterator[Chunk]:
        new = self._hashed(tables) if tables else None
        touched = self._due(bound)
        if new is not None:
            touched = np.union1d(touched, hashes_of(new))
        begun, ended = [], []
        for start in range(0, len(touched), HASHES_MAX):
            rows = self._rows(touched[start : start + HASHES_MAX], new, bound)
            found = rows.found
            is_old = pc.less(found.column("i"), rows.old)
            begun.append(found.filter(pc.and_not(found.column("waits"), is_old)))
            ended.append(found.filter(pc.and_(found.column("leaves"), is_old)))
            leaving = found.filter(found.column("leaves"))
            outputs = leaving.select([f"c{number}" for number in range(len(self._over.calls))])
            data = rows.leaving(leaving.column("i"))
            yield from chunks(with_outputs(self._node, data, outputs))
            if bound != END:
                self._carry_on(leaving, rows.carried)
                self._keep(rows)
        self._known = bound
        if bound == END:
            self._values.delete_bucket(LOG)
            self._carried.delete_bucket(LOG)
            self._times.clear()
        elif self._has_context:
            put_int(self._values, _KNOWN, bound)
            if self._reach.is_ahead:
                self._times.change(_times_of(begun), _times_of(ended))
            if get_int(self._values, _NEWEST, INT64_MIN) < self._oldest_needed:
                self._values.delete_bucket(LOG)
        self._waiting = self._times.oldest

    @property
    def _oldest_needed(self) -> int:
        """No frame reaches rows before it."""
        reach = self._reach
        if reach.rows_back or reach.rows_ahead or reach.time_back is None:
            return INT64_MIN
        return self._known - reach.time_ahead - reach.time_back

    def _settle(self) -> None:
        self._context.settle()
        self._carry.settle()

    def _hashed(self, tables: list[pa.Table]) -> pa.Table:
        return with_hashes(pa.concat_tables(tables), self._over.keys, self._engine)

    def _due(self, bound: int) -> UInt64s:
        """The partitions of rows that wait for time alone, and have waited long enough."""
        if bound == END:
            return self._times.due(INT64_MIN, END)
        ahead = self._reach.time_ahead
        if not ahead:
            return np.empty(0, np.uint64)
        return self._times.due(max(self._known - ahead, INT64_MIN), max(bound - ahead, INT64_MIN))

    def _rows(self, hashes: UInt64s, new: pa.Table | None, bound: int) -> _Rows:
        """The rows of these partitions, and of others whose keys have the same hash."""
        old = self._context.find(hashes) if self._has_context else None
        if new is not None:
            its = hashes_of(new)
            new = new.filter(pa.array((its >= hashes[0]) & (its <= hashes[-1])))
        kept = [new.select(self._kept)] if new is not None else []
        data = pa.concat_tables([old, *kept] if old is not None else kept)
        carried = self._carry.find(hashes) if self._running else None
        known = 0 if old is None else old.num_rows
        found = self._found(data, known, bound, carried)
        return _Rows(data, known, new, carried, found)

    def _found(self, data: pa.Table, known: int, bound: int, carried: pa.Table | None) -> pa.Table:
        tables = {"rows_": self._narrow(data)}
        if carried is not None:
            tables["carry_"] = carried
        sql = self._sql[carried is not None]
        return self._engine.query(sql.format(known=known, bound=bound, seen=self._known), tables)

    def _narrow(self, data: pa.Table) -> pa.Table:
        times, valid = event_times(data.column(self._over.time))
        rows = narrow(self._over, data, pa.array(times, mask=~valid))
        return rows.append_column("h", data.column(HASH))

    def _keep(self, rows: _Rows) -> None:
        """Writes the context that frames may still reach."""
        if not self._has_context:
            return
        kept = rows.found.filter(rows.found.column("kept")).column("i")
        if self._adds:
            kept = kept.filter(pc.greater_equal(kept, rows.old))
        data = rows.data.take(kept)
        if self._reach.time_back is not None and data.num_rows:
            newest = int(event_times(data.column(self._over.time))[0].max())
            put_int(self._values, _NEWEST, max(newest, get_int(self._values, _NEWEST, newest)))
        replaced = None if self._adds or not rows.old else rows.data.slice(0, rows.old)
        self._context.put_instead(replaced, data)

    def _carry_on(self, leaving: pa.Table, carried: pa.Table | None) -> None:
        """Notes the values at the last row of each partition that has left."""
        if not self._running or not leaving.num_rows:
            return
        last = leaving.filter(leaving.column("last"))
        had = pc.sum(last.column("had")).as_py()
        last = last.select(self._of_carry).rename_columns([*self._of_carry[:-1], HASH])
        if carried is not None and carried.num_rows > had:
            last = pa.concat_tables([last, self._beside(last, carried)])
        self._carry.put(by_hash(last))

    def _beside(self, last: pa.Table, carried: pa.Table) -> pa.Table:
        """What is ``carried`` by other partitions of the hashes in ``last``: `put` replaces all."""
        same = " AND ".join(f"l.{key} IS NOT DISTINCT FROM c.{key}" for key in self._keys) or "true"
        sql = (
            f"SELECT c.* FROM carry_ AS c WHERE c.{HASH} IN (SELECT {HASH} FROM last_)"
            f" AND NOT EXISTS (SELECT 1 FROM last_ AS l WHERE l.{HASH} = c.{HASH} AND {same})"
        )
        found = self._engine.query(sql, {"carry_": carried, "last_": last})
        return found.select(last.column_names)

    def _needed(self, rows: pa.Table) -> pa.Table:
        """Of rows in the order of their hashes those that a frame may still reach."""
        reach, (starts, counts) = self._reach, groups_of(rows)
        may_go = counts > reach.rows_back
        if reach.time_back is not None and len(starts):
            oldest = np.minimum.reduceat(event_times(rows.column(self._over.time))[0], starts)
            may_go &= oldest < max(self._known - reach.time_ahead - reach.time_back, INT64_MIN)
        return only_needed(rows, np.repeat(may_go, counts), self._within_reach)

    def _within_reach(self, rows: pa.Table) -> Int64s:
        sql = self._kept_sql.format(known=rows.num_rows, bound=self._known, seen=self._known)
        found = self._engine.query(sql, {"rows_": self._narrow(rows)})
        numbers: Int64s = found.column(0).to_numpy()
        return numbers

    def _take_over(self) -> None:
        """Sorts by partitions what release 0.1 has kept in the order of time, once."""
        known = get_int(self._values, _KNOWN_0_1, INT64_MIN)
        context, carried = self._values.read(LOG), self._carried.read(LOG)
        for table in (self._values, self._carried):
            table.delete_bucket(LOG)
        for name in (_KNOWN_0_1, _WAITING_0_1):
            self._values.values.pop(name, None)
        put_int(self._values, _KNOWN, known)
        self._known = known
        if context:
            data = self._hashed(context).select(self._kept)
            found = self._found(data, data.num_rows, known, None)
            self._keep(_Rows(data, 0, None, None, found))
            self._times.change(_times_of([found.filter(found.column("waits"))]), _times_of([]))
        if carried:
            by = f"PARTITION BY {', '.join(self._keys)} " if self._keys else ""
            sql = f"SELECT * FROM runs_ QUALIFY row_number() OVER ({by}ORDER BY n DESC) = 1"
            last = self._engine.query(sql, {"runs_": pa.concat_tables(carried)})
            last = with_hashes(last.select(self._of_carry[:-1]), self._keys, self._engine)
            self._carry.put(by_hash(last))


class _Rows(NamedTuple):
    """Rows of some partitions: of all of them what is kept, ``old`` of them in state, the others
    whole; what these ``carried``, and what was found."""

    data: pa.Table
    old: int
    new: pa.Table | None
    carried: pa.Table | None
    found: pa.Table

    def leaving(self, numbers: pa.ChunkedArray) -> pa.Table:
        """Those of these ``numbers``, whole."""
        if self.new is None or self.new.num_columns == self.data.num_columns:
            return self.data.take(numbers)
        return self.new.take(pc.subtract(numbers, self.old))


def _times_of(found: list[pa.Table]) -> tuple[Int64s, UInt64s]:
    """The times and hashes of rows of all these tables."""
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.uint64)
    rows = pa.concat_tables(found)
    return rows.column("t").to_numpy(), rows.column("h").to_numpy()
