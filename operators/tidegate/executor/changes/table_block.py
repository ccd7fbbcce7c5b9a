"""The rows that a changing table has, of what its records say of them (S13).

A record puts a row or deletes it; before images are not believed, what the table holds decides. So
equal puts and deletes of nothing are no change. Of the records of a key one counts:

- the last of its split. A key is the split's that has its row, as long as it does not delete that;
  then it is that of the first by name that puts one. What others put is refused (`key_moved`):
  between splits there is no order. Which of them has it may so depend on where epochs end (S6).
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
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.engine import Engine
from tidegate.executor.changes.as_changes import with_op
from tidegate.executor.changes.block import Block
from tidegate.executor.changes.refusals import refused
from tidegate.executor.columns import INT64_MIN, Bools, event_times, single_array
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
_LATEST: Final = f"{HIDDEN_PREFIX}latest"
"""The greatest time that a row has had; of a delete it counts when it came."""


class TableBlock(Block):
    """The rows of ``node``."""

    def __init__(self, node: Normalize, engine: Engine) -> None:
        super().__init__(engine)
        self._node = node
        self._columns = [column.name for column in node.schema]
        self._keys = ", ".join(map(quoted, node.keys))
        by_version = ", ".join(map(quoted, (*node.version, SPLIT, OFFSET)))
        self._order = by_version if node.version else _AT
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
        for at, field in enumerate(said.schema):
            if pa.types.is_floating(field.type):  # -0.0 is equal to 0.0, so a row has one of them
                plus = pa.scalar(0.0, field.type)
                said = said.set_column(at, field, pc.add(said.column(at), plus))
        both, kept = pa.concat_tables([rows, said.select(names)]), rows.num_rows
        if not self._node.version:
            both, kept = self._of_owners(both, kept)
        if not self._node.history:
            return both.take(self._newest(both))
        both = self._with_latest(both, kept)
        self._told = self._steps(both, kept)
        newest = both.take(self._newest(both))
        before = newest.column_names.index(f"{BEFORE}{self._node.history}")
        newest = newest.set_column(before, newest.field(before), newest.column(_LATEST))
        return newest.drop_columns([_LATEST])

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

    def _with_latest(self, both: pa.Table, kept: int) -> pa.Table:
        """``both`` with the greatest time that each row has had up to each record, which stands in
        the place of `BEFORE` of what was ``kept``."""
        before, time = f"{BEFORE}{self._node.history}", self._node.history
        own = single_array(both.column(before)).to_numpy()
        if time in both.column_names:
            times, valid = event_times(both.column(time))
            said = np.where(valid, times, INT64_MIN)[kept:]
            is_put = single_array(both.column(OP)).to_numpy()[kept:] != _DELETE
            new = np.where(is_put, said, np.maximum(own[kept:], said))
            own = np.concatenate([own[:kept], new])
        sql = f"""
            WITH rows_with AS (
                SELECT *, count(*) FILTER ({quoted(OP)} = {_DELETE}) OVER (
                    PARTITION BY {self._keys} ORDER BY {self._order}
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ) AS __row FROM rows_
            )
            SELECT max(__own) OVER (PARTITION BY {self._keys}, __row ORDER BY {self._order}) AS l
            FROM rows_with ORDER BY {_AT}"""
        rows = _numbered(both, self._places).append_column("__own", pa.array(own))
        latest = self._engine.query(sql, {"rows_": rows}).column("l")
        return both.append_column(_LATEST, latest)

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
        return rows.append_column(SINCE, by.column(_LATEST))

    def _newest(self, both: pa.Table) -> pa.Array:
        """The record of each key that counts."""
        order = f"row({self._order})" if self._node.version else self._order
        sql = f"SELECT arg_max({_AT}, {order}) AS i FROM rows_ GROUP BY {self._keys} ORDER BY i"
        return self._engine.query(sql, {"rows_": _numbered(both, self._places)}).column("i")

    def _of_owners(self, both: pa.Table, kept: int) -> tuple[pa.Table, int]:
        """``both``, of which the first rows are ``kept``, in their order, without records of other
        splits; and how many are kept then."""
        own = single_array(both.column(OFFSET)).to_numpy()
        ranks = np.zeros(len(own), np.int8)
        if pc.count_distinct(both.column(SPLIT)).as_py() > 1:
            refused, ranks = self._ranks(both, kept)
            if refused.any():
                self._refuse(both.filter(pa.array(refused)))
        is_new = np.arange(len(own)) >= kept
        order = np.lexsort((own, ranks, is_new))
        order = order[ranks[order] >= 0]
        return both.take(pa.array(order)), int(np.count_nonzero(order < kept))

    def _ranks(self, both: pa.Table, kept: int) -> tuple[Bools, npt.NDArray[np.int8]]:
        """Which records are refused; and which count before others, or not at all (below 0).

        A key is the split's that has its row, unless it deletes it now; else of the first that puts
        one. Who has put a row and deletes it again has said nothing.
        """
        split, op = quoted(SPLIT), quoted(OP)
        sql = f"""
            WITH ended AS (
                SELECT *, arg_max({op}, {quoted(OFFSET)}) OVER own <> {_DELETE} AS __puts,
                    bool_or({_AT} < {kept}) OVER own AS __had
                FROM rows_ WINDOW own AS (PARTITION BY {self._keys}, {split})
            ), owned AS (
                SELECT *, {split} = coalesce(
                    any_value({split}) FILTER (__had AND __puts) OVER keys,
                    min({split}) FILTER (__puts) OVER keys,
                    any_value({split}) FILTER (__had) OVER keys,
                    {split}
                ) AS __own
                FROM ended WINDOW keys AS (PARTITION BY {self._keys})
            )
            SELECT NOT __own AND NOT __had AND __puts AS refused,
                CAST(if(__own, 1, if(__had, 0, -1)) AS TINYINT) AS rank
            FROM owned ORDER BY {_AT}"""
        found = self._engine.query(sql, {"rows_": _numbered(both, self._places)})
        refused, ranks = (single_array(column) for column in found.columns)
        refused_ = refused.to_numpy(zero_copy_only=False).astype(np.bool_)
        return refused_, ranks.to_numpy()

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


def _numbered(rows: pa.Table, *names: Sequence[str]) -> pa.Table:
    """Those columns of ``rows``, and their numbers."""
    columns = dict.fromkeys(name for part in names for name in part)
    return rows.select(list(columns)).append_column(_AT, pa.array(np.arange(rows.num_rows)))
