"""The judge: recomputes a job's output and ledger, row by row, in plain Python.

It shares no code with Tidegate and imports none of it, nor DuckDB, numpy or pyarrow
(tests/tidy holds this). It is slow and obvious on purpose. What it does is S1-S12 of the design,
read literally:

    files ─► decode ─► account (the watermark filter, the ledger, the counts) ─► query ─► compare

    decode    lines of JSON to rows of plain Python values, or malformed
    account   for each split, in its order: late, quarantined, accepted; then used or filtered
    query     tumble aggregate, sort and pass-through over the accepted rows
    compare   is what the product wrote the same multiset? says which rows are missing or extra
    jobs      random jobs: the SQL text, the split files, and what must come out

Values in rows: BIGINT and INT are int, DECIMAL is decimal.Decimal, DOUBLE is float, VARCHAR is
str, TIMESTAMP and TIMESTAMPTZ are int microseconds since the epoch (UTC), a struct is a dict,
NULL is None.
"""

from oracle.account import Counts, Epoch, Judgement, LedgerRow, WatermarkOn, judge
from oracle.decode import Column, Computed, MalformedError, Row, Table, json_lines, micros
from oracle.key_watermarks import PerKey
from oracle.query import Aggregate, Output, Pass, Sort, WindowAggregate, Windows
from oracle.source_watermark import SourceWatermark

__all__ = [
    "Aggregate",
    "Column",
    "Computed",
    "Counts",
    "Epoch",
    "Judgement",
    "LedgerRow",
    "MalformedError",
    "Output",
    "Pass",
    "PerKey",
    "Row",
    "Sort",
    "SourceWatermark",
    "Table",
    "WatermarkOn",
    "WindowAggregate",
    "Windows",
    "json_lines",
    "judge",
    "micros",
]
