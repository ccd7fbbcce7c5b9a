"""Scalar expressions over a chunk: the fast way first, row by row only after a failure.

DuckDB stops a query at the first row on which an expression fails. ``TRY(expr)`` makes it NULL
instead, but costs more and forbids some optimisations, and rows that fail are rare: so expressions
are evaluated plainly, and with TRY only when that raised. Some failures pass through TRY, a zone's
name that there is not among them: the rows are halved then, until those that fail are alone. An
error that lies in the expression itself (a name, a type) is ours or the binder's, never a row's.

A call of the engine costs about a millisecond, so what is a plain column is passed by reference,
and all other expressions of a chunk share one query over the columns that they read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.engine import INVALIDATING, Engine
from tidegate.plan.nodes import Expr
from tidegate.types import END

_FIRST_US: Final = -9_223_372_022_400_000_000
"""The first TIMESTAMP of DuckDB, in 290309 BC; the last one is before `END`, its infinity."""
ROW_ERRORS: Final = (
    duckdb.ConversionException,
    duckdb.InvalidInputException,
    duckdb.InvalidTypeException,
    duckdb.NotImplementedException,
    duckdb.OutOfMemoryException,
    duckdb.OutOfRangeException,
    duckdb.SyntaxException,
    duckdb.TypeMismatchException,
    *INVALIDATING,
)
"""What DuckDB raises where a value of a row is not what a function takes, or its own error."""


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
        tried = [f"TRY({sql})" for sql in sqls]
        return (
            plain_sql(engine, tried, data) if isinstance(data, str) else halved(engine, tried, data)
        )


def halved(engine: Engine, sqls: Sequence[str], data: pa.Table) -> pa.Table:
    """``sqls`` over the rows of ``data``; NULL where one fails on a row."""
    try:
        return plain_sql(engine, sqls, data)
    except ROW_ERRORS as error:
        if data.num_rows > 1:
            half = data.num_rows // 2
            parts = (data.slice(0, half), data.slice(half))
            return pa.concat_tables([halved(engine, sqls, part) for part in parts])
        if len(sqls) > 1:
            columns = [halved(engine, [sql], data).column(0) for sql in sqls]
            return pa.table(columns, names=[f"c{index}" for index in range(len(sqls))])
        if isinstance(error, duckdb.OutOfMemoryException):
            raise  # what a machine has must not decide what a row is
        (failed,) = plain_sql(engine, sqls, data.slice(0, 0)).columns
        return pa.table([pa.nulls(data.num_rows, failed.type)], names=["c0"])


def plain_sql(engine: Engine, sqls: Sequence[str], data: pa.Table | str) -> pa.Table:
    """``sqls`` over the rows of ``data``. Raises duckdb.Error when one fails on a row."""
    outputs = ", ".join(f"{sql} AS c{index}" for index, sql in enumerate(sqls))
    if isinstance(data, str):
        return engine.query(f"SELECT {outputs} FROM {data}")
    result = engine.query(f"SELECT {outputs} FROM rows_", {"rows_": data})
    for index, column in enumerate(result.columns):
        if pa.types.is_timestamp(column.type):
            result = result.set_column(index, f"c{index}", _moments(column))
    return result


def _moments(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """NULL for what is no moment: ``make_timestamp`` makes some that no cast and no sink takes."""
    numbers = column.cast(pa.int64())
    ends = pc.min_max(numbers)
    if (ends["min"].as_py() or 0) >= _FIRST_US and (ends["max"].as_py() or 0) < END:
        return column
    known = pc.and_(pc.greater_equal(numbers, _FIRST_US), pc.less(numbers, END))
    return pc.if_else(known, column, pa.scalar(None, column.type))
