"""The rows that a changing table has, of what its records say of them (S13).

A record puts a row or deletes it; before images are not believed, what the table holds decides. So
equal puts and deletes of nothing are no change. Of the records of a key one counts:

- the last of its split. A key that has a row is its split's, as long as the row is there; of one
  that several splits put at once, the first by name has it. What others say of it is refused
  (`key_moved`): between splits there is no order.
- with a version, the one with the greatest, of equal ones the last of the last split by name,
  whenever they come. So it is kept at which version a row was deleted.

Where others wait for rows to be final, all that a row was in an epoch is told, one after the other,
each change with the watermark that its split had before it: whether it came too late does not
depend on epochs then (S6).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.engine import Engine
from tidegate.executor.changes.as_changes import with_op
from tidegate.executor.changes.block import Block
from tidegate.executor.changes.refusals import refused
from tidegate.executor.columns import Int64s, event_times, single_array
from tidegate.plan.nodes import quoted
from tidegate.plan.normalize import Normalize
from tidegate.reasons import Reason
from tidegate.types import (
    BEFORE,
    HIDDEN_PREFIX,
    OFFSET,
    OP,
    SINCE,
    SPLIT,
    Counts,
    Op,
    Rejected,
    SplitReport,
)

_DELETE: Final = int(Op.DELETE)
_AT: Final = f"{HIDDEN_PREFIX}i"
"""The numbers of rows, for SQL."""


class TableBlock(Block):
    """The rows of ``node``."""

    def __init__(self, node: Normalize, engine: Engine) -> None:
        super().__init__(engine)
        self._node = node
        self._columns = [column.name for column in node.schema]
        self._keys = ", ".join(map(quoted, node.keys))
        order = (*node.version, SPLIT, OFFSET) if node.version else (OFFSET,)
        self._order = ", ".join(map(quoted, order))
        self._places = [*node.keys, *node.version, SPLIT, OFFSET, OP]
        self._refused: list[pa.Table] = []
        self._moved = Counter[str]()
        self._told: pa.Table | None = None

    def results(self, tables: list[pa.Table]) -> tuple[pa.Table, list[pa.Table]]:
        (rows,) = tables
        there = rows.filter(pc.not_equal(rows.column(OP), _DELETE))
        return there.select(self._columns), [rows if self._node.version else there]

    def after(self, rows: pa.Table, changes: pa.Table) -> pa.Table:
        names = rows.column_names
        said = changes.filter(pc.not_equal(changes.column(OP), int(Op.UPDATE_BEFORE)))
        both, kept = pa.concat_tables([rows, said.select(names)]), rows.num_rows
        if not self._node.version:
            both = self._of_owners(both, kept)
        if self._node.history:
            self._told = self._steps(both, kept)
        return both.take(self._newest(both))

    def changes(self, old: pa.Table, new: pa.Table, told_apart: Sequence[str] | None) -> pa.Table:
        if not self._node.history:
            return super().changes(old, new, told_apart)
        told, self._told = self._told, None
        return with_op(old, Op.INSERT).slice(0, 0) if told is None else told

    def take_refused(self) -> Iterator[Rejected]:
        found, self._refused = self._refused, []
        return map(Rejected, found)

    def reports(self) -> Iterator[SplitReport]:
        """Who had let the refused rows pass has counted them as used."""
        moved, self._moved = self._moved, Counter()
        for split, rows in moved.items():
            yield SplitReport(self._node.account, split, Counts(used=-rows, quarantined=rows))

    def _steps(self, both: pa.Table, kept: int) -> pa.Table:
        """All that the rows were, one behind the other, from the ``kept`` ones on."""
        before = f"{BEFORE}{self._node.history}"
        values = f"row({', '.join(map(quoted, self._columns))})"
        sql = f"""
            WITH placed AS (
                SELECT *, row_number() OVER keys AS __at, {quoted(OP)} <> {_DELETE} AS __put
                FROM rows_ WINDOW keys AS (PARTITION BY {self._keys} ORDER BY {self._order})
            ), newer AS (
                SELECT * FROM placed QUALIFY __at >= coalesce(
                    max(__at) FILTER ({_AT} < {kept}) OVER (PARTITION BY {self._keys}), 0)
            )
            SELECT {_AT} AS new, coalesce(lag({_AT}) OVER keys, 0) AS was, __put AS put,
                coalesce(lag(__put) OVER keys, false) AS there,
                __put AND {values} IS NOT DISTINCT FROM lag({values}) OVER keys AS same
            FROM newer WINDOW keys AS (PARTITION BY {self._keys} ORDER BY __at)
            ORDER BY {self._keys}, __at"""
        found = self._engine.query(sql, {"rows_": _numbered(both, self._columns, self._places)})
        new, was, put, there, same = (
            single_array(column).to_numpy(zero_copy_only=False) for column in found.columns
        )
        changes = (new >= kept) & ~(there & put & same)
        told = np.stack([changes & there, changes & put], axis=1)
        goes = np.where(put, Op.UPDATE_BEFORE, Op.DELETE)
        comes = np.where(there, Op.UPDATE_AFTER, Op.INSERT)
        ops = np.stack([goes, comes], axis=1)[told].astype(np.int8)
        rows = both.select(self._columns).take(pa.array(np.stack([was, new], axis=1)[told]))
        by = both.take(pa.array(np.stack([new, new], axis=1)[told]))
        rows = rows.append_column(OP, pa.array(ops)).append_column(before, by.column(before))
        rows = rows.append_column(OFFSET, by.column(OFFSET))
        return rows.append_column(SINCE, _since(by, before, self._node.history))

    def _newest(self, both: pa.Table) -> pa.Array:
        """The record of each key that counts."""
        order = f"row({self._order})" if self._node.version else self._order
        sql = f"SELECT arg_max({_AT}, {order}) AS i FROM rows_ GROUP BY {self._keys} ORDER BY i"
        return self._engine.query(sql, {"rows_": _numbered(both, self._places)}).column("i")

    def _of_owners(self, both: pa.Table, kept: int) -> pa.Table:
        """``both``, of which the first rows are ``kept``, without records of other splits."""
        splits = both.column(SPLIT)
        if pc.count_distinct(splits).as_py() < 2:
            return both
        sql = f"""
            SELECT {quoted(SPLIT)} = coalesce(
                any_value({quoted(SPLIT)}) FILTER ({_AT} < {kept}) OVER keys,
                min({quoted(SPLIT)}) FILTER ({quoted(OP)} <> {_DELETE}) OVER keys,
                {quoted(SPLIT)}
            ) AS own
            FROM rows_ WINDOW keys AS (PARTITION BY {self._keys}) ORDER BY {_AT}"""
        own = self._engine.query(sql, {"rows_": _numbered(both, self._places)}).column("own")
        if not pc.all(own).as_py():
            self._refuse(both.filter(pc.invert(own)))
            both = both.filter(own)
        return both

    def _refuse(self, rows: pa.Table) -> None:
        """Notes ``rows`` for the ledger."""
        for split in pc.unique(rows.column(SPLIT)).to_pylist():
            of_split = rows.filter(pc.equal(rows.column(SPLIT), split))
            self._moved[split] += of_split.num_rows
            self._refused.append(
                refused(
                    of_split.select([*self._columns, OFFSET]),
                    self._engine,
                    account=self._node.account,
                    table=self._node.table,
                    split=split,
                    operator="normalize",
                    reasons=Reason.KEY_MOVED.value,
                )
            )


def _since(records: pa.Table, before: str, time: str) -> pa.Array:
    since: Int64s = single_array(records.column(before)).to_numpy()
    if time in records.column_names:
        times, valid = event_times(records.column(time))
        since = np.where(valid, np.maximum(times, since), since)
    return pa.array(since)


def _numbered(rows: pa.Table, *names: Sequence[str]) -> pa.Table:
    """Those columns of ``rows``, and their numbers."""
    columns = dict.fromkeys(name for part in names for name in part)
    return rows.select(list(columns)).append_column(_AT, pa.array(np.arange(rows.num_rows)))
