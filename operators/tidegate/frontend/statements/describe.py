"""``DESCRIBE [EXTENDED] t``: the columns of a table or view, as Confluent shows them (seed 004)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tidegate.frontend.ast.statements import ROWTIME, ColumnDef, CreateTable, WatermarkDef
from tidegate.frontend.expressions.functions import SOURCE_WATERMARK
from tidegate.frontend.expressions.scope import Field, Relation
from tidegate.frontend.statements.answers import Listing
from tidegate.frontend.syntax.datatypes import shown_type
from tidegate.frontend.tables.layout import connector_of, has_rowtime
from tidegate.plan.derivation import derive
from tidegate.plan.derived import PROCESSING_TIME, Derived
from tidegate.plan.nodes import Scan

_HEADER: Final = ("Column Name", "Data Type", "Nullable", "Extras", "Comment")
_DEFAULT: Final = "scan.watermark.default"


def _description(name: str, rows: Sequence[tuple[str, ...]]) -> Listing:
    return Listing((("table", name),), "columns", _HEADER, tuple(rows))


def describe_table(entry: CreateTable, relation: Relation, extended: bool) -> Listing:
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
        extras = ["PRIMARY KEY"] * is_key + _extras(column)
        extras += [_watermark(mark) for mark in marks]
        nullable = "NOT NULL" if column.not_null or is_key else "NULL"
        type_ = _type(column, fields[name]) + kind
        rows.append((name, type_, nullable, ", ".join(extras), column.comment))
    if extended and has_rowtime(connector_of(entry)):
        rows.append(_rowtime(entry))
    return _description(entry.name.text, rows)


def describe_view(name: str, relation: Relation) -> Listing:
    """The columns of a view and which of them have a watermark."""
    derived = derive(relation.node)
    rows = tuple(
        (field.name, shown_type(field.type) + _kind(derived[field.column]), "NULL", "", "")
        for field in relation.visible
    )
    return _description(name, rows)


def _kind(derived: Derived) -> str:
    if not derived.has_watermark:
        return ""
    return " *PROCTIME*" if derived.is_clock else " *ROWTIME*"


def _type(column: ColumnDef, field: Field) -> str:
    is_written = column.span.end > column.name.span.end  # and not what a query gives
    if not column.type or not is_written:
        return shown_type(field.type, 3 if column.metadata else 6)
    return column.span.cut(column.name.span.end, column.span.end).shown


def _extras(column: ColumnDef) -> list[str]:
    if column.computed is not None:
        return [f"AS {column.computed.span.shown}"]
    if column.metadata is None:
        return []
    key = column.metadata.key.value
    origin = f" FROM '{key}'" * (key != column.name.text)
    return [f"METADATA{origin}{' VIRTUAL' * column.metadata.virtual}"]


def _watermark(mark: WatermarkDef) -> str:
    nested = f" FOR {mark.column}" * (len(mark.path) > 1)
    return f"WATERMARK{nested} AS {mark.said.shown}"


def _rowtime(entry: CreateTable) -> tuple[str, str, str, str, str]:
    """The system column, with the watermark that is declared on it or, by default, its own."""
    marks = [mark for mark in entry.watermarks if mark.path[0].text.lower() == ROWTIME]
    extras = ["METADATA VIRTUAL", *(_watermark(mark) for mark in marks)]
    if has_default_watermark(entry):
        extras.append(f"WATERMARK AS {SOURCE_WATERMARK.upper()}()")
    kind = " *ROWTIME*" * (len(extras) > 1)
    return (ROWTIME, f"TIMESTAMP_LTZ(3){kind}", "NOT NULL", ", ".join(extras), "SYSTEM")


def has_default_watermark(entry: CreateTable) -> bool:
    """Whether ``SOURCE_WATERMARK()`` on the system column is the table's watermark (seed 004)."""
    off = any(
        option.key.value.lower() == _DEFAULT and option.value.value.lower() == "none"
        for option in entry.options.items
    )
    return has_rowtime(connector_of(entry)) and not entry.watermarks and not off


def _clocks(relation: Relation) -> set[str]:
    """The columns that are the processing time."""
    scan = next(node for node in relation.node.walk() if isinstance(node, Scan))
    return {name for name, expr in scan.computed if expr.lost == PROCESSING_TIME}
