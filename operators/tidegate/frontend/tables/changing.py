"""Tables that change (S13): what tells their rows apart, and which of a key's records counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tidegate.connectors.option_types import OP_COLUMN, TIME_UNIT, VERSION, names_in
from tidegate.errors import BindError, Position, did_you_mean
from tidegate.frontend.ast.queries import Name
from tidegate.frontend.expressions.scope import Relation, article, matches
from tidegate.plan.nodes import Scan
from tidegate.plan.normalize import Normalize
from tidegate.plan.tables import ChangingTable, Table

_KEY: Final = "declare what tells its rows apart: PRIMARY KEY (…) NOT ENFORCED"


def changing(table: Table, key: tuple[Name, ...], place: Position | None) -> ChangingTable:
    """``table``, whose records put and delete rows, by the ``key`` that is declared. Raises
    BindError, at ``place`` where no key is to be seen."""
    if not key:
        raise BindError(f"table '{table.name}' changes, and has no PRIMARY KEY", place, hint=_KEY)
    names = [column.name for column in table.columns]
    found = [next((n for n in names if matches(part, n)), None) for part in key]
    for part, name in zip(key, found, strict=True):
        if name is None:
            raise BindError(
                f"PRIMARY KEY names '{part.text}', which is no column that is read",
                part.span.place,
                hint=f"it may have columns that are read, not computed ones: {', '.join(names)}",
            )
        _check_key(table, part, name)
    return ChangingTable(
        table.name,
        table.columns,
        table.connector,
        table.format,
        table.options,
        table.metadata,
        tuple(name for name in found if name is not None),
        names_in(table.option(VERSION)),
    )


def _check_key(table: Table, part: Name, name: str) -> None:
    """Raises BindError for a column that puts and deletes of one row may have different."""
    given = dict(table.metadata).get(name, "key")
    types = {column.name: column.type for column in table.columns}
    if given != "key" or name == table.option(OP_COLUMN):
        raise BindError(
            f"PRIMARY KEY names '{name}', which is of the change, not of the row",
            part.span.place,
            hint="name the columns that tell rows apart",
        )
    if types[name].endswith("]") or types[name].startswith(("STRUCT", "MAP")):
        raise BindError(
            f"PRIMARY KEY names '{name}', which is {article(types[name])}: it is not supported",
            part.span.place,
            hint="name columns of plain types",
        )


def refuse_unused(table: Table, places: Mapping[str, Position]) -> None:
    """Raises BindError for options that are about changes, where there are none."""
    for option in (VERSION, TIME_UNIT):
        if table.option(option):
            raise BindError(
                f"'{option}' is for tables that change, and '{table.name}' only gets rows",
                places.get(option),
                hint="leave it out; or say what happens, with a format such as 'debezium-json'",
            )


def normalized(relation: Relation, table: Table, place: Position | None) -> Relation:
    """What the table holds, if it changes. Raises BindError, at ``place``, where its version is no
    column."""
    if not isinstance(table, ChangingTable):
        return relation
    names = [field.column for field in relation.visible]
    for name in table.version:
        if name not in names:
            raise BindError(
                f"'{VERSION}' names '{name}', which is no column of table '{table.name}'",
                place,
                hint=did_you_mean(name, names),
            )
    below = relation.node
    (account,) = {node.account for node in below.walk() if isinstance(node, Scan)}
    node = Normalize(below.schema, below, table.key, table.version, table.name, account)
    return replace(relation, node=node)
