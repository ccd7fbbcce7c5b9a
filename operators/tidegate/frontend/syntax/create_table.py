"""Reads CREATE TABLE and CREATE SOURCE."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import exp

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.ast.queries import Name, Options, Text
from tidegate.frontend.ast.statements import ColumnDef, CreateTable, Metadata, WatermarkDef
from tidegate.frontend.source import Span
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.datatypes import parse_type
from tidegate.frontend.syntax.dialect import parse_scalar
from tidegate.frontend.syntax.encode import take_options
from tidegate.frontend.syntax.include import take_includes
from tidegate.frontend.syntax.legacy import without_legacy
from tidegate.frontend.syntax.queries import parse_query
from tidegate.frontend.syntax.table_clauses import take_buckets, take_like
from tidegate.frontend.syntax.watermark import parse_watermark

_LATER: Final = {
    "PARTITIONED": ("PARTITIONED BY is not supported", "leave it out"),
    "PARTITION BY": ("PARTITION BY is not supported", "leave it out"),
}
_WITHOUT_COLUMNS: Final = ("AS", "LIKE", "DISTRIBUTED", "WITH", "COMMENT")
"""What may follow the name of a table that declares no columns of its own."""


def parse_create_table(cursor: Cursor, start: Span) -> CreateTable:
    """What follows CREATE TABLE or CREATE SOURCE."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.table_name("the name of the table")
    columns: list[ColumnDef] = []
    watermarks: list[WatermarkDef] = []
    keys: list[Name] = []
    cursor.refuse(_LATER)
    if not cursor.at_any(*_WITHOUT_COLUMNS):
        cursor.expect("(", why=f"with the columns of {name.text}")
        _elements(cursor, columns, watermarks, keys)
    head = start.to(cursor.previous_span)
    cursor.accept("APPEND", "ONLY")  # RisingWave asks for it beside a watermark; all tables are
    columns += take_includes(cursor)
    if cursor.accept("COMMENT"):
        cursor.text("the comment")
    buckets = take_buckets(cursor)
    cursor.refuse(_LATER)
    options = take_options(cursor) or Options((), start.to(name.span))
    cursor.refuse(_LATER)
    options, declared = without_legacy(options)
    watermarks += declared
    like = take_like(cursor)
    query = parse_query(cursor) if like is None and cursor.accept("AS") else None
    if not (columns or like or query):
        raise SqlSyntaxError(
            f"table '{name.text}' has no columns", head.place, hint="declare them: name TYPE, …"
        )
    return CreateTable(
        name, tuple(columns), tuple(watermarks), options, if_not_exists,
        start.to(cursor.previous_span), tuple(keys), buckets, like, query,
    )  # fmt: skip


def _elements(
    cursor: Cursor, columns: list[ColumnDef], watermarks: list[WatermarkDef], keys: list[Name]
) -> None:
    """What stands in the parentheses."""
    while not cursor.at(")"):
        start, known = cursor.span, len(keys)
        if cursor.at("WATERMARK", "FOR") or _at_watermark_without_for(cursor):
            watermarks.append(parse_watermark(cursor))
        elif _at_constraint(cursor):
            keys += _constraint(cursor)
        else:
            columns.append(_column(cursor, keys))
        if known and len(keys) > known:
            raise SqlSyntaxError(
                "a second primary key",
                start.to(cursor.previous_span).place,
                hint="a key of several columns is one: PRIMARY KEY (a, b)",
            )
        if not cursor.accept(","):
            break
    cursor.expect(")", why="or ',' after a column")


def _column(cursor: Cursor, keys: list[Name]) -> ColumnDef:
    """A column; ``keys`` gets its name if it is the primary key."""
    name = cursor.name("a column, WATERMARK FOR or ')'")
    type_, computed = "", None
    if not cursor.at("AS"):
        type_ = parse_type(cursor, f"the type of column {name.text}, or AS and an expression")
    if cursor.accept("AS"):
        computed = parse_scalar(cursor, f"the expression of column {name.text}")
        if type_:  # RisingWave's generated columns say their type
            as_type = exp.DataType(this=exp.DType.USERDEFINED, kind=type_)
            type_, computed = "", replace(computed, node=exp.Cast(this=computed.node, to=as_type))
    column = ColumnDef(name, type_, computed, name.span.to(cursor.previous_span))
    return _with_attributes(cursor, column, keys)


def _with_attributes(cursor: Cursor, column: ColumnDef, keys: list[Name]) -> ColumnDef:
    while True:
        if cursor.accept("NOT", "NULL"):
            column = replace(column, not_null=True)
        elif cursor.accept("NULL"):
            column = replace(column, not_null=False)
        elif cursor.accept("PRIMARY", "KEY"):
            cursor.accept("NOT", "ENFORCED")
            keys.append(column.name)
        elif cursor.accept("COMMENT"):
            column = replace(column, comment=cursor.text("the comment").value)
        elif cursor.at("METADATA") and column.computed is None:
            column = replace(column, metadata=_metadata(cursor, column.name))
        elif cursor.at("DEFAULT"):
            raise cursor.unsupported(
                "DEFAULT columns are not supported",
                f"declare a computed column: {column.name.text} AS expression",
            )
        else:
            return column


def _metadata(cursor: Cursor, name: Name) -> Metadata:
    cursor.expect("METADATA")
    key = Text(name.text if name.quoted else name.text.lower(), name.span)
    if cursor.accept("FROM"):
        key = cursor.text("the key of the metadata as a text, such as 'timestamp'")
    return Metadata(key, cursor.accept("VIRTUAL"))


def _at_watermark_without_for(cursor: Cursor) -> bool:
    """``WATERMARK t AS …``: no column has a type and AS."""
    return cursor.at("WATERMARK") and cursor.word(2) in ("AS", ".")


def _at_constraint(cursor: Cursor) -> bool:
    return (
        cursor.at("PRIMARY", "KEY") or cursor.at("UNIQUE", "(") or cursor.at("CONSTRAINT")
    ) and cursor.word(1) not in ("AS", "BIGINT", "INT", "STRING", "VARCHAR")


def _constraint(cursor: Cursor) -> tuple[Name, ...]:
    """The columns of a primary key. A key is accepted and not enforced."""
    if cursor.accept("CONSTRAINT"):
        cursor.name("the name of the constraint")
    primary = not cursor.accept("UNIQUE")
    if primary:
        cursor.expect("PRIMARY", "KEY")
    names = cursor.columns("with the columns of the key", "after the columns of the key")
    cursor.accept("NOT", "ENFORCED")
    return names if primary else ()
