"""UpdatingAggregate: the second phase of an aggregation whose results change (S5, emit on update).

Contract. Partials in (`aggregates.partial_schema`), changes out: ``node.schema`` and the hidden
column `OP`. At the barrier every group that got rows in the epoch says what became of it: a new
one `Op.INSERT` and its row; one whose row is another now `Op.UPDATE_BEFORE` and the old row, then
`Op.UPDATE_AFTER` and the new one; one whose row is as before nothing. The two halves of an update
are neighbours in one chunk. Within an epoch groups come ordered by the closing key, then the other
keys. So the changes depend on where epochs end, but the table in which they end does not (S6).

Watermarks. A group that the watermark of the closing key has passed changes no more, so its state
goes; of that key and of those ``derived`` from it the watermark passes, as in `FinalAggregate`,
behind the epoch's changes. Without a closing key groups stay, and no watermark leaves.

State. Partials by the closing key's event times (`group_state`), one bucket where there is none. Of
each group that an epoch touches, all that is known of it is written anew, with the epoch's number,
so that an update takes back the very row that was emitted: sums of DOUBLEs depend on the order of
addition. The latest one counts, and is read when the group is touched again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.executor.aggregates import final_sql, merge_sql
from tidegate.executor.base import Executor
from tidegate.executor.engine import Engine
from tidegate.executor.group_state import GroupState, with_derived
from tidegate.plan.nodes import Aggregate, quoted
from tidegate.state import StateTable
from tidegate.types import HIDDEN_PREFIX, OP, Barrier, Chunk, Message, Op, Watermark

_EPOCH: Final = f"{HIDDEN_PREFIX}epoch"
READ_ROWS_MAX: Final = 262_144
"""Partials of old groups that are read before their changes leave."""


class UpdatingAggregate(Executor):
    """Holds groups until the watermark of ``node.closing_key``, if it has one, has passed them."""

    def __init__(
        self,
        node: Aggregate,
        derived: tuple[tuple[str, int], ...],
        engine: Engine,
        state: StateTable,
    ) -> None:
        self.schema = node.schema
        self._key = node.closing_key
        self._derived = derived
        self._engine = engine
        self._sql = _Sql(node)
        self._groups = GroupState(state, self._key, self._latest)
        self._new: list[pa.Table] = []
        self._word: Watermark | None = None

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        if chunk.data.num_rows:
            self._new.append(chunk.data)
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        """Waits for the barrier: what came with it changes groups first."""
        if self._key and watermark.column == self._key:
            self._word = watermark
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        if self._new:
            new = self._query(self._sql.merged, rows_=pa.concat_tables(self._new))
            self._new = []
            for part, old in self._batches(new):
                yield from self._changed(part, old, barrier.epoch)
        if self._word is not None:
            if self._word.value is not None:
                self._groups.table.delete_until(self._word.value)
            yield from with_derived(self._word, self._derived)
        yield barrier

    def _batches(self, new: pa.Table) -> Iterator[tuple[pa.Table, list[pa.Table]]]:
        """The partials ``new``, with what is kept in their buckets, some buckets at a time."""
        of_row = self._groups.buckets(new)
        known = set(self._groups.table.buckets())
        old: list[pa.Table] = []
        rows, begin = 0, None
        for bucket in np.unique(of_row).tolist():
            begin = bucket if begin is None else begin
            if bucket in known:
                runs = self._groups.table.read(bucket)
                old += runs
                rows += sum(run.num_rows for run in runs)
            if rows >= READ_ROWS_MAX:
                yield new.filter(pa.array((of_row >= begin) & (of_row <= bucket))), old
                old, rows, begin = [], 0, None
        if begin is not None:
            yield new.filter(pa.array(of_row >= begin)), old

    def _changed(self, new: pa.Table, old: list[pa.Table], epoch: int) -> Iterator[Chunk]:
        """What the partials ``new`` make of groups of which ``old`` are kept."""
        if old:
            before = self._query(self._sql.touched, old_=pa.concat_tables(old), new_=new)
        else:
            before = new.slice(0, 0)
        after = self._query(self._sql.merged, rows_=pa.concat_tables([before, new]))
        changes = self._query(self._sql.changes, before_=before, after_=after)
        if changes.num_rows:
            yield Chunk(changes)
        self._groups.add(after.append_column(_EPOCH, pa.array(np.full(after.num_rows, epoch))))

    def _latest(self, kept: list[pa.Table]) -> pa.Table:
        return self._query(self._sql.latest, old_=pa.concat_tables(kept))

    def _query(self, sql: str, **tables: pa.Table) -> pa.Table:
        return self._engine.query(sql, tables)


class _Sql:
    """The statements of an aggregation.

    ``merged``: partials ``rows_`` to one a group; ``latest``: of what is kept, ``old_``, the last
    of each group; ``touched``: that of the groups in ``new_``; ``changes``: from one partial of
    each group, ``before_`` and ``after_``, to what changed.
    """

    def __init__(self, node: Aggregate) -> None:
        keys = [quoted(key) for key in node.keys]
        self._same = " AND ".join(f"o.{key} IS NOT DISTINCT FROM n.{key}" for key in keys) or "true"
        by = f"PARTITION BY {', '.join(keys)} " if keys else ""
        is_last = f"QUALIFY row_number() OVER ({by}ORDER BY {_EPOCH} DESC) = 1"
        self.merged = merge_sql(node, "rows_")
        self.latest = f"SELECT * FROM old_ {is_last}"
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
