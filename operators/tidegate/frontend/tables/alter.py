"""``ALTER TABLE t MODIFY WATERMARK FOR c AS e``: another watermark for what follows in the file.

Flink's ``ADD``, ``MODIFY`` and ``DROP WATERMARK``, with or without its parentheses.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.errors import BindError
from tidegate.frontend.ast.statements import AlterTable, CreateTable


def altered(table: CreateTable, statement: AlterTable) -> CreateTable:
    """``table`` after ``statement``. Raises BindError where it does not fit the declaration."""
    marks = table.watermarks
    name, place = table.name.text, statement.span.place
    declared = ", ".join(mark.column for mark in marks)
    if statement.watermark is None:
        if not marks:
            raise BindError(
                f"table '{name}' declares no watermark",
                place,
                hint="leave the statement out; of a kafka table,"
                " 'scan.watermark.default' = 'none' turns the default one off",
            )
        return replace(table, watermarks=())
    column = statement.watermark.column
    same = [mark for mark in marks if mark.column.lower() == column.lower()]
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
