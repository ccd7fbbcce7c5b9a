"""``DESCRIBE [EXTENDED] t``: the columns of a table or view, as Confluent shows them (seed 004)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tidegate.frontend.datatypes import shown_type
from tidegate.frontend.functions import SOURCE_WATERMARK
from tidegate.frontend.layout import connector_of, has_rowtime
from tidegate.frontend.scope import Field, Relation
from tidegate.frontend.source import Source, Span
from tidegate.frontend.syntax import ROWTIME, ColumnDef, CreateTable, WatermarkDef
from tidegate.plan.derivation import PROCESSING_TIME, derive
from tidegate.plan.nodes import Scan

_HEADER: Final = ("Column Name", "Data Type", "Nullable", "Extras", "Comment")
_DEFAULT: Final = "scan.watermark.default"


@dataclass(frozen=True, slots=True)
class Description:
    """What DESCRIBE says of ``name``; a row for each column."""

    name: str
    rows: tuple[tuple[str, str, str, str, str], ...]

    def text(self) -> str:
        """The table for people."""
        lines = [_HEADER, *self.rows]
        widths = [max(len(line[at]) for line in lines) for at in range(len(_HEADER))]
        rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"

        def line(cells: tuple[str, ...]) -> str:
            padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
            return "| " + " | ".join(padded) + " |"

        return "\n".join([rule, line(_HEADER), rule, *map(line, self.rows), rule])

    def document(self) -> dict[str, Any]:
        """The same for programs."""
        keys = [name.lower().replace(" ", "_") for name in _HEADER]
        columns = [dict(zip(keys, row, strict=True)) for row in self.rows]
        return {"table": self.name, "columns": columns}


def describe_table(
    source: Source, entry: CreateTable, relation: Relation, extended: bool
) -> Description:
    """A declared table; ``relation`` is its plan, ``extended`` adds the system column."""
    fields = {field.column: field for field in relation.fields}
    clocks = _clocks(relation)
    keys = {name.text.lower() for name in entry.keys}
    rows = []
    for column in entry.columns:
        name = column.name.text
        marks = [mark for mark in entry.watermarks if mark.path[0].text.lower() == name.lower()]
        direct = any(len(mark.path) == 1 for mark in marks)
        kind = " *ROWTIME*" if direct and name not in clocks else ""
        kind = " *PROCTIME*" if name in clocks else kind
        is_key = name.lower() in keys
        extras = ["PRIMARY KEY"] * is_key + _extras(source, column)
        extras += [_watermark(source, mark) for mark in marks]
        nullable = "NOT NULL" if column.not_null or is_key else "NULL"
        type_ = _type(source, column, fields[name]) + kind
        rows.append((name, type_, nullable, ", ".join(extras), column.comment))
    if extended and has_rowtime(connector_of(entry)):
        rows.append(_rowtime(source, entry))
    return Description(entry.name.text, tuple(rows))


def describe_view(name: str, relation: Relation) -> Description:
    """The columns of a view and which of them have a watermark."""
    derived = derive(relation.node)
    rows = tuple(
        (
            field.name,
            shown_type(field.type) + " *ROWTIME*" * derived[field.column].has_watermark,
            "NULL",
            "",
            "",
        )
        for field in relation.visible
    )
    return Description(name, rows)


def _type(source: Source, column: ColumnDef, field: Field) -> str:
    if not column.type:
        return shown_type(field.type, 3 if column.metadata else 6)
    return source.snippet(Span(column.name.span.end, column.span.end))


def _extras(source: Source, column: ColumnDef) -> list[str]:
    if column.computed is not None:
        return [f"AS {source.snippet(column.computed.span)}"]
    if column.metadata is None:
        return []
    key = column.metadata.key.value
    origin = f" FROM '{key}'" * (key != column.name.text)
    return [f"METADATA{origin}{' VIRTUAL' * column.metadata.virtual}"]


def _watermark(source: Source, mark: WatermarkDef) -> str:
    path = ".".join(name.text for name in mark.path)
    nested = f" FOR {path}" * (len(mark.path) > 1)
    return f"WATERMARK{nested} AS {source.snippet(mark.strategy.span)}"


def _rowtime(source: Source, entry: CreateTable) -> tuple[str, str, str, str, str]:
    """The system column, with the watermark that is declared on it or, by default, its own."""
    marks = [mark for mark in entry.watermarks if mark.path[0].text.lower() == ROWTIME]
    extras = ["METADATA VIRTUAL", *(_watermark(source, mark) for mark in marks)]
    off = any(
        option.key.value.lower() == _DEFAULT and option.value.value.lower() == "none"
        for option in entry.options.items
    )
    if not entry.watermarks and not off:
        extras.append(f"WATERMARK AS {SOURCE_WATERMARK.upper()}()")
    kind = " *ROWTIME*" * (len(extras) > 1)
    return (ROWTIME, f"TIMESTAMP_LTZ(3){kind}", "NOT NULL", ", ".join(extras), "SYSTEM")


def _clocks(relation: Relation) -> set[str]:
    """The columns that are the processing time."""
    scan = next(node for node in relation.node.walk() if isinstance(node, Scan))
    return {name for name, expr in scan.computed if expr.lost == PROCESSING_TIME}
