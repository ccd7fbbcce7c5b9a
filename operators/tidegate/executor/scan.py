"""Scan: the foot of a source branch. Decoded rows in, rows with computed columns out.

Contract. Input is what the reader of one split decoded (`SourceChunk`): the table's columns, then
`OFFSET` and `RECORD`, and `BROKER_TIME` where the source has it, in split order, and beside them
the rows that could not be decoded. Output is one `Chunk` of the table's columns, the computed ones
and the hidden ones, with ``split`` set, then one `Rejected` for the malformed rows. Nothing is
emitted for nothing.

Of a changing table (S13) the rows have `OP`. One without a key, or without the version that counts,
is `malformed`. Of a delete nothing else counts: what cannot be computed of it is NULL.

A row whose computed column raises is `malformed`, like one that cannot be decoded (S2). A computed
column that *is* NULL is a value: the two are told apart by ``TRY((expr) IS NULL)``, which is NULL
only where the expression failed.

Counts (S7): every row is read, malformed ones are quarantined. The caller takes the counts and
begins new ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from tidegate.careful import CAREFUL
from tidegate.engine.engine import Engine
from tidegate.executor.columns import Bools, ledger_rows, puts, single_array
from tidegate.executor.evaluate import halved, needed, plain_sql
from tidegate.plan.nodes import Expr, Scan
from tidegate.plan.tables import ChangingTable
from tidegate.ports import SourceChunk
from tidegate.reasons import Reason
from tidegate.types import (
    BROKER_TIME,
    OFFSET,
    OLD_KEY,
    OP,
    RECORD,
    Chunk,
    Counts,
    Message,
    Rejected,
)

_AS_HIDDEN: Final = {"offset": OFFSET, "record": RECORD}
_REASON: Final = "reason"


class SplitScan:
    """The scan of one split."""

    def __init__(self, node: Scan, split: str, engine: Engine) -> None:
        self.node = node
        self.counts = Counts()
        """Since the caller began new ones."""
        self._split = split
        self._engine = engine

    def on_source(self, chunk: SourceChunk) -> Iterator[Message]:
        """Rows that the reader decoded."""
        rejected = []
        if chunk.malformed.num_rows:
            renamed = chunk.malformed.rename_columns(_AS_HIDDEN)
            rejected.append(self._malformed(renamed))
        data = chunk.data
        if data.num_rows:
            data, failed = self._with_computed(data)
            if isinstance(self.node.table, ChangingTable):
                failed = _unfit(data, self.node.table, failed)
            if failed is not None:
                rejected.append(self._malformed(data.filter(pa.array(failed))))
                data = data.filter(pa.array(~failed))
        quarantined = sum(rows.num_rows for rows in rejected)
        self.counts.read += data.num_rows + quarantined
        self.counts.quarantined += quarantined
        if data.num_rows:
            yield Chunk(data, self._split)
        if rejected:
            yield Rejected(pa.concat_tables(rejected))

    def _with_computed(self, data: pa.Table) -> tuple[pa.Table, Bools | None]:
        """``data`` with the computed columns, and where one of them failed (None: nowhere)."""
        failed: Bools | None = None
        exprs = [expr for _, expr in self.node.computed if not expr.is_column]
        columns: dict[Expr, pa.ChunkedArray] = {}
        if exprs:
            values, failed = self._compute(needed(data, exprs), [expr.sql for expr in exprs])
            columns = dict(zip(exprs, values.columns, strict=True))
        result = data.select([column.name for column in self.node.table.columns])
        for name, expr in self.node.computed:
            plain = expr.is_column
            result = result.append_column(
                name, data.column(next(iter(expr.columns))) if plain else columns[expr]
            )
        for name in (OP, OLD_KEY, OFFSET, RECORD, BROKER_TIME):
            if name in data.column_names:
                result = result.append_column(name, data.column(name))
        return result, failed

    def _compute(self, data: pa.Table, sqls: list[str]) -> tuple[pa.Table, Bools | None]:
        try:
            return plain_sql(self._engine, sqls, data), None
        except duckdb.Error:
            values = halved(self._engine, [f"TRY({sql})" for sql in sqls], data)
            probes = halved(self._engine, [f"TRY(({sql}) IS NULL)" for sql in sqls], data)
            failed = np.zeros(data.num_rows, dtype=np.bool_)
            for probe in probes.columns:
                failed |= single_array(probe).is_null().to_numpy(zero_copy_only=False)
            return values, failed

    def _malformed(self, rows: pa.Table) -> pa.Table:
        return ledger_rows(
            rows,
            account=self.node.account,
            table=self.node.table.name,
            split=self._split,
            operator="scan",
            reasons=self._reasons(rows),
        )

    @staticmethod
    def _reasons(rows: pa.Table) -> pa.Array | str:
        if _REASON in rows.column_names:
            return rows.column(_REASON).fill_null(Reason.MALFORMED.value)
        if not CAREFUL.is_on:
            return Reason.MALFORMED.value
        found = [CAREFUL.knows(record) for record in rows.column(RECORD).to_pylist()]
        return pa.array([Reason.CRASHED if kills else Reason.MALFORMED for kills in found])


def _unfit(rows: pa.Table, table: ChangingTable, failed: Bools | None) -> Bools | None:
    """Those of a changing table's rows that say nothing: puts of which something ``failed``, and
    all without a key or version."""
    unfit = np.zeros(rows.num_rows, dtype=np.bool_)
    if failed is not None:
        unfit |= failed & puts(rows)
    for name in (*table.key, *table.version):
        unfit |= single_array(rows.column(name)).is_null().to_numpy(zero_copy_only=False)
    return unfit if unfit.any() else None
