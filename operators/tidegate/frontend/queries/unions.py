"""Plans UNION ALL: parts with as many columns, of one type each, under the names of the first."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.errors import BindError
from tidegate.frontend.ast.queries import Query
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.scope import Field, Relation, article, unused
from tidegate.frontend.expressions.typecheck import converted
from tidegate.plan.joins import Union
from tidegate.plan.nodes import Node
from tidegate.plan.projections import projected
from tidegate.types import Column, Schema


def all_of(context: Context, parts: Sequence[tuple[Query, Relation]]) -> Relation:
    """All parts as one relation. Raises BindError where they do not fit together."""
    (_, first), *_ = parts
    names: list[str] = []
    for known in first.visible:
        names.append(unused(known.name, names))
    for query, relation in parts[1:]:
        if len(relation.visible) != len(names):
            raise BindError(
                f"this part gives {len(relation.visible)} columns, the first one {len(names)}",
                query.head.place,
                hint=f"expected: {', '.join(names)}",
            )
    types = [_common(context, parts, index) for index in range(len(names))]
    schema = tuple(Column(name, type_) for name, type_ in zip(names, types, strict=True))
    nodes = tuple(_as(relation, schema) for _, relation in parts)
    fields = tuple(Field.of(column) for column in schema)
    final = all(relation.final for _, relation in parts)
    return Relation(Union(schema, nodes), fields, final=final)


def _common(context: Context, parts: Sequence[tuple[Query, Relation]], index: int) -> str:
    """The type of a column, to which all parts' are converted."""
    # A bare NULL has the type of the others.
    typed = [part for part in parts if not is_null(part[0], index)] or parts
    (_, first), *rest = typed
    common = first.visible[index].type
    for query, relation in rest:
        given = relation.visible[index].type
        found = context.checker.common(common, given)
        if found is None or (found == "VARCHAR" and "VARCHAR" not in (common, given)):
            raise BindError(
                f"column {index + 1} is {article(common)} in the first part, {article(given)} here",
                query.head.place,
                hint=f"write CAST({relation.visible[index].name} AS {common})",
            )
        common = found
    return common


def is_null(query: Query, index: int) -> bool:
    """Whether a column of the result is the word NULL, of no type of its own."""
    if any(item.value is None for item in query.items):
        return False
    value = query.items[index].value
    return value is not None and value.node.key == "null"


def _as(relation: Relation, schema: Schema) -> Node:
    """The visible fields of ``relation`` as the columns of ``schema``."""
    columns = (
        (column.name, converted(known.value, column.type))
        for known, column in zip(relation.visible, schema, strict=True)
    )
    return projected(relation.node, columns)
