"""Reads what declares watermarks: ``WATERMARK FOR …``, and Flink's ``ALTER TABLE … WATERMARK``."""

from __future__ import annotations

from typing import Final

from tidegate.errors import SqlSyntaxError, UnsupportedError
from tidegate.frontend.ast.queries import Per
from tidegate.frontend.ast.statements import AlterTable, WatermarkDef
from tidegate.frontend.source import Span
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import parse_scalar, parse_scalars

_EXAMPLE: Final = "PER (device) EXPIRE AFTER INTERVAL '10' MINUTE"
_HINT: Final = "there are ADD WATERMARK FOR c AS e, MODIFY WATERMARK FOR c AS e and DROP WATERMARK"


def parse_watermark(cursor: Cursor) -> WatermarkDef:
    """``WATERMARK FOR path AS strategy [PER …]``."""
    start = cursor.expect("WATERMARK", "FOR")
    path = cursor.path("the time column of the watermark")
    text = ".".join(part.text for part in path)
    cursor.expect("AS", why=f"and the watermark expression of {text}")
    strategy = parse_scalar(cursor, f"the watermark expression of {text}")
    per = take_per(cursor)
    return WatermarkDef(path, strategy, start.to(cursor.previous_span), per)


def take_per(cursor: Cursor) -> Per | None:
    """The clause, if it is there."""
    start = cursor.span
    if not cursor.accept("PER"):
        return None
    cursor.expect("(", why=f"with the columns of the key, as in {_EXAMPLE}")
    keys = parse_scalars(cursor, "a column of the key")
    cursor.expect(")", why="after the columns of the key")
    if not cursor.accept("EXPIRE"):
        raise SqlSyntaxError(
            "PER needs EXPIRE AFTER: a key that stops would hold the watermark for ever",
            start.to(cursor.previous_span).place,
            hint="add EXPIRE AFTER INTERVAL '10' MINUTE, which is how far a key may fall behind the"
            " greatest before nobody waits for it",
        )
    cursor.expect("AFTER", why="and an interval")
    expiry = parse_scalar(cursor, "how far a key may fall behind")
    return Per(keys, expiry, start.to(cursor.previous_span))


def parse_alter(cursor: Cursor, start: Span) -> AlterTable:
    """What follows ALTER."""
    if not cursor.accept("TABLE"):
        raise cursor.unsupported(
            "only tables can be altered", "write ALTER TABLE t MODIFY WATERMARK FOR c AS e"
        )
    cursor.accept("IF", "EXISTS")
    name = cursor.table_name("the name of the table")
    if cursor.accept("DROP", "WATERMARK"):
        return AlterTable(name, "DROP", None, start.to(cursor.previous_span))
    if not cursor.at_any("ADD", "MODIFY"):
        raise _only_watermarks(cursor)
    modify = cursor.take().text.upper() == "MODIFY"
    parenthesis = cursor.accept("(")
    if not cursor.at("WATERMARK"):
        raise _only_watermarks(cursor)
    watermark = parse_watermark(cursor)
    if parenthesis:
        cursor.expect(")", why="after the watermark")
    span = start.to(cursor.previous_span)
    return AlterTable(name, "MODIFY" if modify else "ADD", watermark, span)


def _only_watermarks(cursor: Cursor) -> UnsupportedError:
    return cursor.unsupported(
        "ALTER TABLE changes watermarks only",
        f"{_HINT}; for the rest, change the CREATE TABLE statement",
    )
