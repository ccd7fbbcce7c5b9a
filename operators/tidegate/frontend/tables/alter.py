"""``ALTER TABLE t MODIFY WATERMARK FOR c AS e``: another watermark for what follows in the file.

Flink's ``ADD``, ``MODIFY`` and ``DROP WATERMARK``, with or without its parentheses.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.statements.ddl import parse_watermark
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.source import Span
from tidegate.frontend.syntax.statement_syntax import AlterTable, CreateTable, WatermarkDef

_HINT = "there are ADD WATERMARK FOR c AS e, MODIFY WATERMARK FOR c AS e and DROP WATERMARK"


def parse_alter(cursor: Cursor, start: Span) -> AlterTable:
    """What follows ALTER."""
    if not cursor.at("TABLE"):
        raise UnsupportedError(
            "only tables can be altered",
            cursor.span.place,
            hint="write ALTER TABLE t MODIFY WATERMARK FOR c AS e",
        )
    cursor.expect("TABLE")
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


def altered(table: CreateTable, statement: AlterTable) -> CreateTable:
    """``table`` after ``statement``. Raises BindError where it does not fit the declaration."""
    marks = table.watermarks
    name, place = table.name.text, statement.span.place
    declared = ", ".join(_column(mark) for mark in marks)
    if statement.watermark is None:
        if not marks:
            raise BindError(
                f"table '{name}' declares no watermark",
                place,
                hint="leave the statement out; of a kafka table,"
                " 'scan.watermark.default' = 'none' turns the default one off",
            )
        return replace(table, watermarks=())
    column = _column(statement.watermark)
    same = [mark for mark in marks if _column(mark).lower() == column.lower()]
    if statement.action == "ADD":
        if same:
            raise BindError(
                f"table '{name}' has a watermark on {column} already",
                place,
                hint="write MODIFY WATERMARK",
            )
        return replace(table, watermarks=(*marks, statement.watermark))
    if len(marks) > 1 and not same:
        raise BindError(
            f"table '{name}' has watermarks on {declared}, and none on {column}",
            place,
            hint="write ADD WATERMARK, or modify one of those",
        )
    if not same:
        return replace(table, watermarks=(statement.watermark,))
    new = (statement.watermark if mark in same else mark for mark in marks)
    return replace(table, watermarks=tuple(new))


def _column(mark: WatermarkDef) -> str:
    return ".".join(name.text for name in mark.path)


def _only_watermarks(cursor: Cursor) -> UnsupportedError:
    return UnsupportedError(
        "ALTER TABLE changes watermarks only",
        cursor.span.place,
        hint=f"{_HINT}; for the rest, change the CREATE TABLE statement",
    )
