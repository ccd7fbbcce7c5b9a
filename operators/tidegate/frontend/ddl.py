"""Reads CREATE TABLE and CREATE SOURCE."""

from __future__ import annotations

from typing import Final

from tidegate.errors import SqlSyntaxError, UnsupportedError
from tidegate.frontend.cursor import Cursor
from tidegate.frontend.datatypes import parse_type
from tidegate.frontend.dialect import parse_scalar
from tidegate.frontend.encode import merged, take_encode
from tidegate.frontend.hints import parse_options
from tidegate.frontend.source import Span
from tidegate.frontend.syntax import ColumnDef, CreateTable, Options, WatermarkDef

_LATER: Final = {
    "LIKE": ("CREATE TABLE … LIKE is not there yet", "repeat the columns"),
    "AS": ("CREATE TABLE … AS SELECT is not there yet", "write CREATE TABLE, then INSERT INTO"),
    "DISTRIBUTED": ("DISTRIBUTED BY is not there yet", "leave it out"),
    "PARTITIONED": ("PARTITIONED BY is not there yet", "leave it out"),
    "PARTITION BY": ("PARTITION BY is not there yet", "leave it out"),
}


def parse_create_table(cursor: Cursor, start: Span) -> CreateTable:
    """What follows CREATE TABLE or CREATE SOURCE."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.name("the name of the table")
    if not cursor.at("("):
        _refuse_later(cursor)
    cursor.expect("(", why=f"with the columns of {name.text}")
    columns: list[ColumnDef] = []
    watermarks: list[WatermarkDef] = []
    while not cursor.at(")"):
        if cursor.at("WATERMARK", "FOR") or _at_watermark_without_for(cursor):
            watermarks.append(_watermark(cursor))
        elif _at_constraint(cursor):
            _constraint(cursor)
        else:
            columns.append(_column(cursor))
        if not cursor.accept(","):
            break
    cursor.expect(")", why="or ',' after a column")
    head = start.to(cursor.previous_span)
    if cursor.accept("COMMENT"):
        cursor.text("the comment")
    _refuse_later(cursor)
    options = _options(cursor, Span(start.start, name.span.end))
    _refuse_later(cursor)
    if not columns:
        raise SqlSyntaxError(
            f"table '{name.text}' has no columns",
            cursor.source.position(head),
            hint="declare them: name TYPE, …",
        )
    span = start.to(cursor.previous_span)
    return CreateTable(name, tuple(columns), tuple(watermarks), options, if_not_exists, span)


def _options(cursor: Cursor, head: Span) -> Options:
    start = cursor.span
    items = parse_options(cursor) if cursor.accept("WITH") else ()
    encode, encoded = take_encode(cursor)
    if cursor.span == start:
        return Options((), head, None)
    return Options(merged(cursor, items, encoded), start.to(cursor.previous_span), encode)


def _column(cursor: Cursor) -> ColumnDef:
    name = cursor.name("a column, WATERMARK FOR or ')'")
    if cursor.accept("AS"):
        computed = parse_scalar(cursor, f"the expression of column {name.text}")
        span = name.span.to(cursor.previous_span)
        _column_options(cursor, name.text)
        return ColumnDef(name, "", computed, span)
    type_ = parse_type(cursor, f"the type of column {name.text}, or AS and an expression")
    span = name.span.to(cursor.previous_span)
    _column_options(cursor, name.text)
    return ColumnDef(name, type_, None, span)


def _column_options(cursor: Cursor, name: str) -> None:
    while True:
        if cursor.accept("NOT", "NULL") or cursor.accept("NULL"):
            continue
        if cursor.at("PRIMARY", "KEY"):
            cursor.expect("PRIMARY", "KEY")
            cursor.accept("NOT", "ENFORCED")
        elif cursor.accept("COMMENT"):
            cursor.text("the comment")
        elif cursor.at("METADATA") or cursor.at("DEFAULT"):
            raise UnsupportedError(
                f"{cursor.word()} columns are not there yet",
                cursor.source.position(cursor.span),
                hint=f"declare {name} as a computed column: {name} AS expression",
            )
        else:
            return


def _watermark(cursor: Cursor) -> WatermarkDef:
    start = cursor.expect("WATERMARK", "FOR")
    path = cursor.path("the time column of the watermark")
    text = ".".join(part.text for part in path)
    cursor.expect("AS", why=f"and the watermark expression of {text}")
    strategy = parse_scalar(cursor, f"the watermark expression of {text}")
    return WatermarkDef(path, strategy, start.to(cursor.previous_span))


def _at_watermark_without_for(cursor: Cursor) -> bool:
    """``WATERMARK t AS …``: no column has a type and AS."""
    return cursor.at("WATERMARK") and cursor.word(2) in ("AS", ".")


def _at_constraint(cursor: Cursor) -> bool:
    return (
        cursor.at("PRIMARY", "KEY") or cursor.at("UNIQUE", "(") or cursor.at("CONSTRAINT")
    ) and cursor.word(1) not in ("AS", "BIGINT", "INT", "STRING", "VARCHAR")


def _constraint(cursor: Cursor) -> None:
    """A key is accepted and not enforced."""
    if cursor.accept("CONSTRAINT"):
        cursor.name("the name of the constraint")
    if not cursor.accept("UNIQUE"):
        cursor.expect("PRIMARY", "KEY")
    cursor.expect("(", why="with the columns of the key")
    cursor.name("a column")
    while cursor.accept(","):
        cursor.name("a column")
    cursor.expect(")", why="after the columns of the key")
    cursor.accept("NOT", "ENFORCED")


def _refuse_later(cursor: Cursor) -> None:
    word = cursor.word()
    if word in _LATER:
        message, instead = _LATER[word]
        raise UnsupportedError(message, cursor.source.position(cursor.span), hint=instead)
