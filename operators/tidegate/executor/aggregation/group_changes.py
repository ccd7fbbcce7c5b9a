"""What becomes of the groups of an aggregation: changes, and the memory of the last results (S5).

A new group gives `Op.INSERT` and its row; one whose row is another now `Op.UPDATE_BEFORE` and the
old row, then `Op.UPDATE_AFTER` and the new one; one whose row is as before nothing; one that has
lost all its rows (of an aggregate that ``subtracts``) `Op.DELETE`. The two halves of an update are
neighbours in one chunk. Groups come ordered by the closing key, then the other keys.

State. In each bucket of `group_state`, by the hash of the group's keys (`keyed_rows`), what is
known of each group that has a result or could have had one. It is written anew when that changes,
so that an update takes back the very row that was emitted: sums of DOUBLEs depend on the order of
addition. An epoch reads and writes the groups that it touches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.aggregation.aggregates import final_sql, has_rows, merge_sql
from tidegate.executor.aggregation.group_state import buckets_of
from tidegate.executor.buffers.kept import Kept
from tidegate.executor.buffers.keyed_rows import HASH, hashes_of
from tidegate.executor.buffers.time_runs import stretches
from tidegate.executor.columns import INT64_MIN
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.nodes import quoted
from tidegate.state import StateTable
from tidegate.types import HIDDEN_PREFIX, OP, Chunk, Op

_EPOCH: Final = f"{HIDDEN_PREFIX}epoch"
"""A column that partials in state had until release 0.1, in runs that were read whole."""
_KEYED: Final = "groups:keyed"
"""State value: there are no such runs."""
ROWS_MAX: Final = 262_144
"""New partials that are joined with old ones at once."""


class GroupChanges:
    """Gives the changes of groups, and remembers their last results in ``state``."""

    def __init__(self, node: Aggregate, engine: Engine, state: StateTable) -> None:
        self._engine = engine
        self._sql = _Sql(node)
        self._state = state
        self._key = node.closing_key
        self._may_lose_all = node.subtracts and bool(node.keys)
        self._ttl = 0 if self._key else node.ttl
        self._now_us = 0
        self._touched: dict[int, Kept] = {}
        if state.buckets() and state.get(_KEYED) is None:
            self._take_over()

    def of(
        self, partials: list[pa.Table], closed: int = INT64_MIN, now_us: int = 0
    ) -> Iterator[Chunk]:
        """The changes that new ``partials`` make; call it once an epoch, which is of ``now_us``.

        Of groups below ``closed`` it is the last result: they are not remembered.
        """
        self._now_us = now_us
        new = self._query(self._sql.merged, rows_=pa.concat_tables(partials))
        if new.num_rows > ROWS_MAX:
            new = self._query(self._sql.ordered, rows_=new)
        for start in range(0, new.num_rows, ROWS_MAX):
            yield from self._changed(new.slice(start, ROWS_MAX), closed)
        for rows in self._touched.values():
            rows.settle()
        self._touched = {}

    def forget(self, closed: int) -> None:
        """Drops the state of the groups below ``closed``."""
        self._state.delete_until(closed)

    def _changed(self, new: pa.Table, closed: int) -> Iterator[Chunk]:
        """What the partials ``new`` make of their groups."""
        before = self._before(new)
        after = self._query(self._sql.merged, rows_=pa.concat_tables([before, new]))
        changes = self._query(self._sql.changes, before_=before, after_=after)
        if changes.num_rows:
            yield Chunk(changes)
        self._keep(after, closed)

    def _before(self, new: pa.Table) -> pa.Table:
        """What is kept of the groups in ``new``, and of others whose keys have the same hash."""
        buckets, hashes = buckets_of(new, self._key), hashes_of(new)
        found = [new.slice(0, 0)]
        for bucket in np.unique(buckets).tolist():
            kept = self._rows(bucket, found[0])
            found.append(kept.find(np.unique(hashes[buckets == bucket])))
        return pa.concat_tables(found)

    def _keep(self, groups: pa.Table, closed: int) -> None:
        """Keeps those of ``groups`` that are not below ``closed``."""
        buckets = buckets_of(groups, self._key)
        order = np.lexsort((hashes_of(groups), buckets))
        groups, buckets = groups.take(pa.array(order)), buckets[order]
        for bucket, start, stop in stretches(buckets):
            if bucket >= closed:
                rows = groups.slice(start, stop - start)
                changed = np.unique(hashes_of(rows))
                if self._may_lose_all:
                    rows = self._query(self._sql.there, rows_=rows)
                self._rows(bucket, rows.slice(0, 0)).replace(rows, changed)
                self._state.put(_KEYED, b"1")

    def _rows(self, bucket: int, empty: pa.Table) -> Kept:
        if bucket not in self._touched:
            self._touched[bucket] = Kept(self._state, empty, self._ttl, bucket)
            self._touched[bucket].begin(self._now_us)
        return self._touched[bucket]

    def _take_over(self) -> None:
        """Sorts what release 0.1 has kept by its keys, once."""
        for bucket in self._state.buckets():
            runs = self._state.read(bucket)
            self._state.delete_bucket(bucket)
            last = self._query(self._sql.latest, rows_=pa.concat_tables(runs))
            self._keep(last, INT64_MIN)
        self._touched = {}

    def _query(self, sql: str, **tables: pa.Table) -> pa.Table:
        return self._engine.query(sql, tables)


class _Sql:
    """The statements of an aggregation.

    ``merged``: partials ``rows_`` to one a group, with its hash; ``ordered``: these in the groups'
    order; ``there``: those of groups that have rows; ``changes``: from one partial of each group,
    ``before_`` and ``after_``, to what changed;
    ``latest``: of what release 0.1 kept, ``rows_``, the last of each group.
    """

    def __init__(self, node: Aggregate) -> None:
        keys = [quoted(key) for key in node.keys]
        self._same = " AND ".join(f"o.{key} IS NOT DISTINCT FROM n.{key}" for key in keys) or "true"
        by = f"PARTITION BY {', '.join(keys)} " if keys else ""
        last = f"row_number() OVER ({by}ORDER BY {_EPOCH} DESC) = 1"
        hashed = f"{_hash_of(keys)} AS {HASH}"
        self.latest = f"SELECT * EXCLUDE ({_EPOCH}), {hashed} FROM rows_ QUALIFY {last}"
        self.merged = f"SELECT *, {hashed} FROM ({merge_sql(node, 'rows_')})"
        self.there = f"FROM rows_ WHERE {has_rows(node)}"
        order = [f"{quoted(key)} NULLS LAST" for key in node.ordered_keys]
        self.ordered = f"SELECT * FROM rows_ ORDER BY {', '.join(order) or 'ALL'}"
        self.changes = self._changes(node, keys)

    def _changes(self, node: Aggregate, keys: list[str]) -> str:
        names = [call.output.name for call in node.calls]
        calls = [quoted(name) for name in names]
        olds = [quoted(f"__old_{name}") for name in names]
        renamed = "".join(f", o.{call} AS {old}" for call, old in zip(calls, olds, strict=True))
        given, known = (", ".join(f"{side}.{call}" for call in calls) for side in "no")
        is_other = f"row({given}) IS DISTINCT FROM row({known})" if calls else "false"
        columns = ", ".join(keys + calls)
        gone = f"""
                UNION ALL
                SELECT {columns}, {int(Op.DELETE)} AS op FROM befores AS n
                WHERE NOT EXISTS (FROM afters AS o WHERE {self._same})"""
        order = [f"{quoted(key)} NULLS LAST" for key in node.ordered_keys]
        return f"""
            WITH befores AS ({final_sql(node, "before_")}),
            afters AS ({final_sql(node, "after_")}),
            pairs AS (
                SELECT n.*, o.__was{renamed}
                FROM afters AS n LEFT JOIN (SELECT *, true AS __was FROM befores) AS o
                ON {self._same}
                WHERE o.__was IS NULL OR {is_other}
            )
            SELECT {columns}, CAST(op AS TINYINT) AS {quoted(OP)} FROM (
                SELECT {columns}, if(__was, {int(Op.UPDATE_AFTER)}, {int(Op.INSERT)}) AS op
                FROM pairs
                UNION ALL
                SELECT {", ".join(keys + olds)}, {int(Op.UPDATE_BEFORE)} AS op
                FROM pairs WHERE __was{gone if node.subtracts else ""}
            ) ORDER BY {", ".join([*order, "op"])}"""


def _hash_of(keys: list[str]) -> str:
    return f"hash({', '.join(keys)})" if keys else "0::UBIGINT"
