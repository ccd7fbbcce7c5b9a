"""``SHOW TABLES``, ``SHOW VIEWS`` and ``SHOW WATERMARKS``: what a file has declared by then."""

from __future__ import annotations

from typing import Final

from tidegate.frontend.ast.statements import ROWTIME, CreateTable, Show
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
            rows = [(table.name.text, _connector(table)) for table in catalog.tables]
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
            path = ".".join(part.text for part in mark.path)
            rows.append((name, path, mark.said.shown, mark.span.line(near)))
        if has_default_watermark(table):
            rows.append((name, ROWTIME, f"{SOURCE_WATERMARK.upper()}()", "by default"))
    return rows


def _connector(table: CreateTable) -> str:
    """As the declaration says it."""
    for option in table.options.items:
        if option.key.value.lower() == "connector":
            return option.value.value
    return ""
