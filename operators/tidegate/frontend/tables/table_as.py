"""``CREATE TABLE t (…) … AS query``: a table with the columns of a query, which is written into it.

Columns that the declaration has besides come first, as in Flink; one that the query gives, too, has
the declared type and the query's place.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.errors import BindError
from tidegate.frontend.ast.queries import Name, Query
from tidegate.frontend.ast.statements import ColumnDef, CreateTable
from tidegate.frontend.expressions.scope import Relation


def given_names(relation: Relation, query: Query) -> tuple[Name, ...]:
    """The names of the query's columns. Raises BindError where two of them are alike."""
    names: list[Name] = []
    for at, field in enumerate(relation.visible):
        explicit = all(item.value is not None for item in query.items)
        span = query.items[at].span if explicit and not query.further else query.head
        if any(field.name.lower() == name.text.lower() for name in names):
            raise BindError(
                f"the query gives two columns '{field.name}'",
                span.place,
                hint="give one of them another name: … AS name",
            )
        names.append(Name(field.name, True, span.cut(span.start, span.start)))
    return tuple(names)


def with_columns_of(entry: CreateTable, relation: Relation, names: tuple[Name, ...]) -> CreateTable:
    """``entry`` with the columns that its query, whose are ``relation`` and ``names``, gives it."""
    declared = {column.name.text.lower(): column for column in entry.columns}
    given = []
    for name, field in zip(names, relation.visible, strict=True):
        made = ColumnDef(name, field.type, None, name.span)
        given.append(declared.pop(name.text.lower(), made))
    return replace(entry, columns=(*declared.values(), *given), query=None)
