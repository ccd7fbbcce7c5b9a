"""Functions of the language: those with a meaning of their own, and those that are refused."""

from __future__ import annotations

from typing import Final

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from tidegate.plan.aggregate_types import FUNCTIONS as CATALOGUE
from tidegate.plan.nodes import PROC_TIME_SQL
from tidegate.types import HIDDEN_PREFIX

AGGREGATE_ALIASES: Final = {
    "any_value": "min",
    "approx_count_distinct": "count",
    "arg_max": "max_by",
    "arg_min": "min_by",
    "count_if": "count",
    "countif": "count",
    "every": "bool_and",
    "group_concat": "string_agg",
    "list": "array_agg",
    "listagg": "string_agg",
    "percentile_cont": "quantile_cont",
    "percentile_disc": "quantile_disc",
    "stddev": "stddev_samp",
    "variance": "var_samp",
}
"""Other names of aggregates. What may be any, or nearly right, is the least, and exact (S6)."""
AGGREGATES: Final = CATALOGUE | AGGREGATE_ALIASES.keys()
OVER_AGGREGATES: Final = frozenset(
    {"count", "sum", "min", "max", "avg", "first_value", "last_value", "bool_and", "bool_or"}
)
"""Those that OVER takes."""
GROUPING: Final = frozenset({"grouping", "grouping_id"})
"""Which keys of GROUP BY a row's grouping has."""
OPERATORS: Final = frozenset({"coalesce", "ifnull", "if"})
"""Spelled like functions, but no functions in DuckDB's catalogue."""
PROC_TIME: Final = frozenset(
    {"proc_time", "proctime", "system_proctime", "now", "current_timestamp"}
    | {"transaction_timestamp"}
)
SOURCE_WATERMARK: Final = "source_watermark"
SYSTEM_WATERMARK: Final = "system_watermark"
SYSTEM_ROWTIME: Final = "system_rowtime"
CURRENT_WATERMARK: Final = "current_watermark"
BEFORE_PREFIX: Final = f"{HIDDEN_PREFIX}watermark_of_"
"""How the columns are called, and the time column behind, that `CURRENT_WATERMARK` reads."""
RESERVED: Final = (
    AGGREGATES | GROUPING | OPERATORS | PROC_TIME
    | {SOURCE_WATERMARK, SYSTEM_WATERMARK, SYSTEM_ROWTIME, CURRENT_WATERMARK}
)  # fmt: skip
"""Names that a user's function cannot have, besides DuckDB's."""
LATER: Final = {
    "tumble_proctime": "use TUMBLE_ROWTIME, which is the processing time here",
    "hop_proctime": "use HOP_ROWTIME, which is the processing time here",
    "session_proctime": "use SESSION_ROWTIME, which is the processing time here",
}
MISPLACED: Final = {
    SOURCE_WATERMARK: "it is a whole watermark expression: WATERMARK FOR c AS SOURCE_WATERMARK()",
    SYSTEM_WATERMARK: "it is the whole watermark expression of a column AS SYSTEM_ROWTIME()",
    SYSTEM_ROWTIME: "it is a whole computed column of CREATE TABLE: rowtime AS SYSTEM_ROWTIME()",
    CURRENT_WATERMARK: "it stands in SELECT or WHERE, below grouping and sorting",
    **dict.fromkeys(sorted(GROUPING), "it stands in SELECT or HAVING of a query with GROUP BY"),
    "tumble": "write FROM TUMBLE(table, column, size), or GROUP BY TUMBLE(column, size)",
    "hop": "write FROM HOP(table, column, slide, size), or GROUP BY HOP(column, slide, size)",
    "cumulate": "write FROM CUMULATE(table, column, step, size)",
    "session": "write FROM SESSION(table, column, key, gap), or GROUP BY SESSION(column, gap), key",
} | {
    f"{kind}_{part}": f"it stands in SELECT or HAVING of a query with GROUP BY {kind.upper()}(…)"
    for kind in ("tumble", "hop", "session")
    for part in ("start", "end", "rowtime")
}
"""Parts of a window that stand where there is none."""


def calls(node: exp.Expr, name: str) -> bool:
    """Whether ``node`` is nothing but ``name()``."""
    return isinstance(node, exp.Anonymous) and node.name.lower() == name and not node.expressions


def proc_time() -> exp.Expr:
    """The epoch's recorded time."""
    name, argument = PROC_TIME_SQL.rstrip(")").split("(")
    return call(name, exp.Literal.string(argument.strip("'")))


def sql_of(node: exp.Expr) -> str:
    """DuckDB's SQL of a resolved tree; function names as they are.

    What sqlglot finds doubtful it would tell on stderr; the tree is DuckDB's already.
    """
    return node.sql("duckdb", normalize_functions=False, unsupported_level=ErrorLevel.IGNORE)


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The parts of a condition that its ANDs hold together."""
    node = node.unnest()
    if isinstance(node, exp.And):
        return [*conjuncts(node.this), *conjuncts(node.expression)]
    return [node]


def number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def cast(node: exp.Expr, type_: str) -> exp.Expr:
    return exp.Cast(this=node, to=data_type(type_))


def data_type(name: str) -> exp.DataType:
    """DuckDB's type of that name."""
    return exp.DataType(this=exp.DType.USERDEFINED, kind=name)
