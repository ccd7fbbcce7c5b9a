"""What becomes of the groups of an aggregation: changes, and the memory of the last results (S5).

A new group gives `Op.INSERT` and its row; one whose row is another now `Op.UPDATE_BEFORE` and the
old row, then `Op.UPDATE_AFTER` and the new one; one whose row is as before nothing. The two halves
of an update are neighbours in one chunk. Groups come ordered by the closing key, then the other
keys.

State. Partials by the closing key's event times (`group_state`), one bucket where there is none. Of
each group that has a result or could have had one, all that is known is written anew, with the
epoch's number, so that an update takes back the very row that was emitted: sums of DOUBLEs depend
on the order of addition. The latest one counts, and is read when the group is touched again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.aggregation.aggregates import final_sql, merge_sql
from tidegate.executor.aggregation.group_state import GroupState
from tidegate.executor.columns import INT64_MIN
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.nodes import quoted
from tidegate.state import StateTable, gathered
from tidegate.types import END, HIDDEN_PREFIX, OP, Chunk, Op

_EPOCH: Final = f"{HIDDEN_PREFIX}epoch"
READ_ROWS_MAX: Final = 262_144
"""Partials of old groups that are read before their changes leave."""


class GroupChanges:
    """Gives the changes of groups, and remembers their last results in ``state``."""

    def __init__(self, node: Aggregate, engine: Engine, state: StateTable) -> None:
        self._engine = engine
        self._sql = _Sql(node)
        self._groups = GroupState(state, node.closing_key, engine, self._sql.latest)

    def of(self, partials: list[pa.Table], epoch: int, closed: int = INT64_MIN) -> Iterator[Chunk]:
        """The changes that new ``partials`` make; call it once an epoch.

        Of groups below ``closed`` it is the last result: they are not remembered.
        """
        new = self._query(self._sql.merged, rows_=pa.concat_tables(partials))
        for part, old in self._batches(new):
            yield from self._changed(part, old, epoch, closed)

    def forget(self, closed: int) -> None:
        """Drops the state of the groups below ``closed``."""
        self._groups.table.delete_until(closed)

    def _batches(self, new: pa.Table) -> Iterator[tuple[pa.Table, list[pa.Table]]]:
        """The partials ``new``, with what is kept in their buckets, some buckets at a time."""
        of_row = self._groups.buckets(new)
        begin, buckets = INT64_MIN, np.unique(of_row).tolist()
        for until, old in gathered(self._groups.table, buckets, END, READ_ROWS_MAX):
            part = new.filter(pa.array((of_row >= begin) & (of_row < until)))
            if part.num_rows:
                yield part, old
            begin = until

    def _changed(
        self, new: pa.Table, old: list[pa.Table], epoch: int, closed: int
    ) -> Iterator[Chunk]:
        """What the partials ``new`` make of groups of which ``old`` are kept."""
        if old:
            before = self._query(self._sql.touched, old_=pa.concat_tables(old), new_=new)
        else:
            before = new.slice(0, 0)
        after = self._query(self._sql.merged, rows_=pa.concat_tables([before, new]))
        changes = self._query(self._sql.changes, before_=before, after_=after)
        if changes.num_rows:
            yield Chunk(changes)
        open_ = after.filter(pa.array(self._groups.buckets(after) >= closed))
        if open_.num_rows:
            self._groups.add(open_.append_column(_EPOCH, pa.array(np.full(open_.num_rows, epoch))))

    def _query(self, sql: str, **tables: pa.Table) -> pa.Table:
        return self._engine.query(sql, tables)


class _Sql:
    """The statements of an aggregation.

    ``merged``: partials ``rows_`` to one a group; ``latest``: of what is kept, ``rows_``, the last
    of each group; ``touched``: of ``old_`` that of the groups in ``new_``; ``changes``: from one
    partial of each group, ``before_`` and ``after_``, to what changed.
    """

    def __init__(self, node: Aggregate) -> None:
        keys = [quoted(key) for key in node.keys]
        self._same = " AND ".join(f"o.{key} IS NOT DISTINCT FROM n.{key}" for key in keys) or "true"
        by = f"PARTITION BY {', '.join(keys)} " if keys else ""
        is_last = f"QUALIFY row_number() OVER ({by}ORDER BY {_EPOCH} DESC) = 1"
        self.merged = merge_sql(node, "rows_")
        self.latest = f"SELECT * FROM rows_ {is_last}"
        kept = f"SELECT o.* FROM old_ AS o SEMI JOIN new_ AS n ON {self._same}"
        self.touched = f"SELECT * EXCLUDE ({_EPOCH}) FROM ({kept}) {is_last}"
        self.changes = self._changes(node, keys)

    def _changes(self, node: Aggregate, keys: list[str]) -> str:
        names = [call.output.name for call in node.calls]
        calls = [quoted(name) for name in names]
        olds = [quoted(f"__old_{name}") for name in names]
        renamed = "".join(f", o.{call} AS {old}" for call, old in zip(calls, olds, strict=True))
        given, known = (", ".join(f"{side}.{call}" for call in calls) for side in "no")
        is_other = f"row({given}) IS DISTINCT FROM row({known})" if calls else "false"
        columns = ", ".join(keys + calls)
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
                FROM pairs WHERE __was
            ) ORDER BY {", ".join([*order, "op"])}"""
