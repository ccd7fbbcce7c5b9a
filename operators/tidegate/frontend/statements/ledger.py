"""``tidegate.ledger.table``: a table of the file that gets late and quarantined rows (S7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tidegate.errors import BindError, OptionsError, Position, did_you_mean
from tidegate.frontend.ast.statements import CreateTable, SetOption
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.tables.catalog import Catalog
from tidegate.frontend.tables.connections import connect
from tidegate.frontend.tables.layout import sink_layout
from tidegate.plan.ledger import NAMES, ledger_sql
from tidegate.plan.nodes import LedgerCopy
from tidegate.plan.tables import Table

SETTING: Final = "tidegate.ledger.table"


def ledger_copy(
    context: Context, name: str, file: str, statements: Sequence[SetOption]
) -> LedgerCopy:
    """The table called ``name`` as a copy of the ledger. Raises BindError or OptionsError."""
    place = _place(statements)
    entry = declared(context.catalog, name, file, place)
    table = sink_of(context.checker, entry)
    columns = []
    for column in table.columns:
        if column.name not in NAMES:
            raise BindError(
                f"table '{entry.name.text}' is for ledger rows, which have no '{column.name}'",
                entry.name.span.place,
                hint=did_you_mean(column.name, NAMES),
            )
        columns.append((column.name, ledger_sql(column.name, column.type)))
    return LedgerCopy(table, tuple(columns))


def declared(catalog: Catalog, name: str, file: str, place: Position | None) -> CreateTable:
    """The table of the file called ``name``, in any case."""
    for entry in catalog.tables:
        if entry.name.text.lower() == name.lower():
            return entry
    hint = did_you_mean(name, [entry.name.text for entry in catalog.tables])
    message = f"there is no table '{name}' in {file}"
    if place is None:
        raise OptionsError(message, hint=hint)
    raise BindError(message, place, hint=hint)


def sink_of(checker: TypeChecker, entry: CreateTable) -> Table:
    """A declared table as one that is written."""
    name, keys, buckets = entry.name.text, entry.keys, entry.buckets
    connection = connect(f"table '{name}'", entry.options, (), "sink", key=keys, buckets=buckets)
    layout = sink_layout(entry, checker, connection.connector)
    return connection.table(name, layout.columns, "sink", layout.metadata)


def _place(statements: Sequence[SetOption]) -> Position | None:
    """Where the file says so; None where the command line does."""
    for statement in reversed(statements):
        if statement.option.key.value.strip().lower() == SETTING:
            return statement.option.value.span.place
    return None
