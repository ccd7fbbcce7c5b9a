"""``SHOW TABLES``, ``SHOW VIEWS`` and ``SHOW WATERMARKS``: what a file has declared by then."""

from __future__ import annotations

from typing import Final

from tidegate.frontend.ast.statements import ROWTIME, Show
from tidegate.frontend.expressions.functions import SOURCE_WATERMARK
from tidegate.frontend.source import Span
from tidegate.frontend.statements.answers import Listing
from tidegate.frontend.statements.describe import has_default_watermark
from tidegate.frontend.tables.catalog import Catalog

_WATERMARKS: Final = ("Table Name", "Column Name", "Watermark", "Declared")


def shown(catalog: Catalog, statement: Show) -> Listing:
    """The answer to SHOW, in the order of the file."""
    match statement.what:
        case "TABLES":
            rows = [(each.name.text, each.options.get("connector")) for each in catalog.tables]
            header: tuple[str, ...] = ("Table Name", "Connector")
        case "VIEWS":
            rows = [(view.name.text, "materialized" * view.materialized) for view in catalog.views]
            header = ("View Name", "Kind")
        case "WATERMARKS":
            found = tuple(_watermarks(catalog, statement.span))
            return Listing((), "watermarks", _WATERMARKS, found)
    return Listing((), statement.what.lower(), header, tuple(rows))


def _watermarks(catalog: Catalog, near: Span) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for table in catalog.tables:
        name = table.name.text
        for mark in table.watermarks:
            rows.append((name, mark.column, mark.said.shown, mark.span.line(near)))
        if has_default_watermark(table):
            rows.append((name, ROWTIME, f"{SOURCE_WATERMARK.upper()}()", "by default"))
    return rows
