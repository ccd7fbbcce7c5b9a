"""Reads ORDER BY."""

from __future__ import annotations

from tidegate.frontend.ast.queries import OrderItem
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import parse_scalar


def parse_order_by(cursor: Cursor) -> tuple[OrderItem, ...]:
    """What stands behind ORDER BY."""
    items = []
    while True:
        start = cursor.span
        value = parse_scalar(cursor, "a column to order by")
        descending = cursor.accept("DESC")
        if not descending:
            cursor.accept("ASC")
        nulls_first = descending
        if cursor.accept("NULLS"):
            nulls_first = cursor.at("FIRST")
            if not cursor.accept("FIRST") and not cursor.accept("LAST"):
                raise cursor.expected("FIRST or LAST after NULLS")
        items.append(OrderItem(value, descending, nulls_first, start.to(cursor.previous_span)))
        if not cursor.accept(","):
            return tuple(items)
