"""Tables that change (S13): what tells their rows apart, and which of a key's records counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tidegate.connectors.option_types import names_in
from tidegate.errors import BindError, Position, did_you_mean
from tidegate.frontend.ast.queries import Name
from tidegate.frontend.expressions.scope import Relation, matches
from tidegate.plan.nodes import Scan
from tidegate.plan.normalize import Normalize
from tidegate.plan.tables import ChangingTable, Table

VERSION: Final = "scan.changes.version"
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
