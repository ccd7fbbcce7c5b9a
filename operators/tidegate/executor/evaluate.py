"""Scalar expressions over a chunk: the fast way first, row by row only after a failure.

DuckDB stops a query at the first row on which an expression fails. ``TRY(expr)`` makes it NULL
instead, but costs more and forbids some optimisations, and rows that fail are rare: so expressions
are evaluated plainly, and with TRY only when that raised. An error that lies in the expression
itself (a name, a type) raises both times and is ours or the binder's, never a row's.

A call of the engine costs about a millisecond, so what is a plain column is passed by reference,
and all other expressions of a chunk share one query over the columns that they read.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.plan.nodes import Expr


def needed(data: pa.Table, exprs: Sequence[Expr]) -> pa.Table:
    """The columns of ``data`` that ``exprs`` read; one of them at least, to have its rows."""
    read = frozenset[str]().union(*(expr.columns for expr in exprs))
    names = [name for name in data.column_names if name in read]
    return data.select(names or data.column_names[:1])


def evaluate(engine: Engine, data: pa.Table, exprs: Sequence[Expr]) -> list[pa.ChunkedArray]:
    """One column per expression, as long as ``data``; NULL where the expression fails on a row."""
    computed = [expr for expr in exprs if not expr.is_column]
    columns: dict[Expr, pa.ChunkedArray] = {}
    if computed:
        result = try_sql(engine, [expr.sql for expr in computed], needed(data, computed))
        columns = dict(zip(computed, result.columns, strict=True))
    return [
        data.column(next(iter(expr.columns))) if expr.is_column else columns[expr] for expr in exprs
    ]


def try_sql(engine: Engine, sqls: Sequence[str], data: pa.Table | str) -> pa.Table:
    """``sqls`` over the rows of ``data``, a table or a FROM clause; NULL where one fails."""
    try:
        return plain_sql(engine, sqls, data)
    except duckdb.Error:
        return plain_sql(engine, [f"TRY({sql})" for sql in sqls], data)


def plain_sql(engine: Engine, sqls: Sequence[str], data: pa.Table | str) -> pa.Table:
    """``sqls`` over the rows of ``data``. Raises duckdb.Error when one fails on a row."""
    outputs = ", ".join(f"{sql} AS c{index}" for index, sql in enumerate(sqls))
    if isinstance(data, str):
        return engine.query(f"SELECT {outputs} FROM {data}")
    return engine.query(f"SELECT {outputs} FROM rows_", {"rows_": data})
