"""The rows that a changing table has, of what its records say of them (S13).

A record puts a row or deletes it; before images are not believed, what the table holds decides. So
equal puts and deletes of nothing are no change. Of the records of a key one counts:

- the last of its split. A key that has a row is its split's, as long as the row is there; of one
  that several splits put at once, the first by name has it. What others say of it is refused
  (`key_moved`): between splits there is no order.
- with a version, the one with the greatest, of equal ones the last of the last split by name,
  whenever they come. So it is kept at which version a row was deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.engine import Engine
from tidegate.executor.changes.block import Block
from tidegate.executor.columns import ledger_rows
from tidegate.plan.nodes import quoted
from tidegate.plan.normalize import Normalize
from tidegate.reasons import Reason
from tidegate.types import OFFSET, OP, RECORD, SPLIT, Counts, Op, Rejected, SplitReport

_DELETE: Final = int(Op.DELETE)


class TableBlock(Block):
    """The rows of ``node``."""

    def __init__(self, node: Normalize, engine: Engine) -> None:
        super().__init__(engine)
        self._node = node
        self._columns = [column.name for column in node.schema]
        self._keys = ", ".join(map(quoted, node.keys))
        self._places = [*node.keys, *node.version, SPLIT, OFFSET, OP]
        self._refused: list[pa.Table] = []
        self._moved = Counter[str]()

    def results(self, tables: list[pa.Table]) -> tuple[pa.Table, list[pa.Table]]:
        (rows,) = tables
        there = rows.filter(pc.not_equal(rows.column(OP), _DELETE))
        return there.select(self._columns), [rows if self._node.version else there]

    def after(self, rows: pa.Table, changes: pa.Table) -> pa.Table:
        names = rows.column_names
        said = changes.filter(pc.not_equal(changes.column(OP), int(Op.UPDATE_BEFORE)))
        both = pa.concat_tables([rows, said.select(names)])
        if not self._node.version:
            both = self._of_owners(both, rows.num_rows)
        return both.take(self._newest(both))

    def take_refused(self) -> Iterator[Rejected]:
        refused, self._refused = self._refused, []
        return map(Rejected, refused)

    def reports(self) -> Iterator[SplitReport]:
        """Who had let the refused rows pass has counted them as used."""
        moved, self._moved = self._moved, Counter()
        for split, rows in moved.items():
            yield SplitReport(self._node.account, split, Counts(used=-rows, quarantined=rows))

    def _newest(self, both: pa.Table) -> pa.Array:
        """The record of each key that counts."""
        order = ", ".join(map(quoted, (*self._node.version, SPLIT, OFFSET)))
        newest = f"row({order})" if self._node.version else quoted(OFFSET)
        sql = f"SELECT arg_max(i, {newest}) AS i FROM rows_ GROUP BY {self._keys} ORDER BY i"
        return self._engine.query(sql, {"rows_": _numbered(both, self._places)}).column("i")

    def _of_owners(self, both: pa.Table, kept: int) -> pa.Table:
        """``both``, of which the first rows are ``kept``, without records of other splits."""
        splits = both.column(SPLIT)
        if pc.count_distinct(splits).as_py() < 2:
            return both
        sql = f"""
            SELECT {quoted(SPLIT)} = coalesce(
                any_value({quoted(SPLIT)}) FILTER (i < {kept}) OVER keys,
                min({quoted(SPLIT)}) FILTER ({quoted(OP)} <> {_DELETE}) OVER keys,
                {quoted(SPLIT)}
            ) AS own
            FROM rows_ WINDOW keys AS (PARTITION BY {self._keys}) ORDER BY i"""
        own = self._engine.query(sql, {"rows_": _numbered(both, self._places)}).column("own")
        if not pc.all(own).as_py():
            self._refuse(both.filter(pc.invert(own)))
            both = both.filter(own)
        return both

    def _refuse(self, rows: pa.Table) -> None:
        """Notes ``rows`` for the ledger, as JSON: their records are not here any more."""
        texts = "SELECT encode(CAST(to_json(rows_) AS VARCHAR)) AS r FROM rows_"
        records = self._engine.query(texts, {"rows_": rows.select(self._columns)}).column("r")
        rows = rows.append_column(RECORD, records)
        for split in pc.unique(rows.column(SPLIT)).to_pylist():
            of_split = rows.filter(pc.equal(rows.column(SPLIT), split))
            self._moved[split] += of_split.num_rows
            self._refused.append(
                ledger_rows(
                    of_split,
                    account=self._node.account,
                    table=self._node.table,
                    split=split,
                    operator="normalize",
                    reasons=Reason.KEY_MOVED.value,
                )
            )


def _numbered(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Those columns of ``rows``, and their numbers as ``i``."""
    columns = dict.fromkeys(names)
    numbers = pa.array(np.arange(rows.num_rows))
    return rows.select(list(columns)).append_column("i", numbers)
