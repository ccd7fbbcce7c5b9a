"""Rows to what COPY reads: csv, every value in quotes, NULL without.

What PostgreSQL cannot hold is written as what comes next to it, and does not end a job:

    a NUL character in a text                 U+FFFD
    a time before 4714-11-24 BC               -infinity
    a date behind 5874897-12-31               infinity
"""

from __future__ import annotations

from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from tidegate.connectors.formats.json_encode import value_text
from tidegate.connectors.postgres.types import NESTED
from tidegate.engine.engine import Engine
from tidegate.plan.nodes import quoted
from tidegate.types import OP, Schema

POSITION: Final = "__position"
"""The column that orders an epoch's rows; it stands first."""
_FIRST_US: Final = -2_440_588 * 86_400_000_000
"""4714-11-24 BC."""
_WRITE: Final = pc.WriteOptions(include_header=False, quoting_style="all_valid")


class Text:
    """Rows of ``columns`` as csv. ``with_op``: behind each row's position comes its `OP`."""

    def __init__(self, columns: Schema, engine: Engine, *, with_op: bool = False) -> None:
        self._engine = engine
        self._with_op = with_op
        values = [
            f"{_text(quoted(column.name), duckdb.sqltype(column.type))} AS {quoted(column.name)}"
            for column in columns
        ]
        hidden = [f"CAST({name} AS VARCHAR) AS {name}" for name in (POSITION, OP)]
        self._sql = f"SELECT {', '.join([*(hidden if with_op else []), *values])} FROM rows_"

    def encode(self, rows: pa.Table, first: int = 0) -> memoryview:
        """The lines of ``rows``, whose positions begin with ``first``."""
        if self._with_op:
            positions = np.arange(first, first + rows.num_rows, dtype=np.int64)
            rows = rows.append_column(POSITION, pa.array(positions))
        sink = pa.BufferOutputStream()
        pc.write_csv(self._engine.query(self._sql, {"rows_": rows}), sink, _WRITE)
        return memoryview(sink.getvalue())


def _text(sql: str, type_: Any) -> str:
    """DuckDB SQL for a value as PostgreSQL reads it."""
    kind = type_.id
    if kind == "varchar":
        return f"replace({sql}, chr(0), chr(65533))"
    if kind == "blob":
        return f"'\\x' || hex({sql})"
    if kind == "date":
        late = f"WHEN {sql} > DATE '5874897-12-31' THEN 'infinity'"  # timestamps end before
        return _moment(sql, f"{sql} < DATE '4714-11-24 (BC)'", f"CAST({sql} AS VARCHAR)", late)
    if kind == "timestamp":
        early = f"epoch_us({sql}) < {_FIRST_US}"
        return _moment(sql, early, f"CAST({sql} AS VARCHAR)")
    if kind == "timestamp with time zone":
        early = f"epoch_us({sql}) < {_FIRST_US}"
        text = f"CAST(make_timestamp(epoch_us({sql})) AS VARCHAR)"
        return _moment(sql, early, text, zone="+00")
    if kind in NESTED:
        return _without_nul(value_text(sql, type_))
    return f"CAST({sql} AS VARCHAR)"


def _moment(sql: str, early: str, text: str, late: str = "", zone: str = "") -> str:
    """DuckDB writes ``0044-03-15 (BC) 10:00:00``, PostgreSQL ``0044-03-15 10:00:00 BC``."""
    modern = f"{text} || '{zone}'"
    ancient = f"replace({text}, ' (BC)', '') || '{zone} BC'"
    return (
        f"CASE WHEN NOT isfinite({sql}) THEN CAST({sql} AS VARCHAR)"
        f" WHEN {early} THEN '-infinity' {late}"
        f" WHEN contains({text}, ' (BC)') THEN {ancient} ELSE {modern} END"
    )


def _without_nul(json: str) -> str:
    """JSON text without escaped NULs: jsonb has none. No raw control character is in it."""
    held = f"replace({json}, '\\\\', chr(1))"  # a backslash is no beginning of what comes behind
    return f"replace(replace({held}, '\\u0000', chr(65533)), chr(1), '\\\\')"
