"""Changes for the ledger: rows of which the records are not here any more (S13)."""

from __future__ import annotations

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.columns import ledger_rows
from tidegate.types import OFFSET, RECORD


def refused(
    rows: pa.Table,
    engine: Engine,
    *,
    account: str,
    table: str,
    split: str,
    operator: str,
    reasons: str,
) -> pa.Table:
    """``rows``, with `OFFSET` if it is known, as rows of the ledger: their records are JSON."""
    known = [OFFSET] if OFFSET in rows.column_names else []
    shown = rows.drop_columns(known)
    texts = "SELECT encode(CAST(to_json(__row) AS VARCHAR)) AS r FROM rows_ AS __row"
    records = engine.query(texts, {"rows_": shown}).column("r")
    return ledger_rows(
        rows.select(known).append_column(RECORD, records),
        account=account,
        table=table,
        split=split,
        operator=operator,
        reasons=reasons,
    )
