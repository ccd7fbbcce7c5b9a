"""``LATERAL (SELECT …)``: a query that is asked for each row of the tables before it.

It is asked for all rows at once: parts of its WHERE that equate something of it with something of
the row at hand become keys of it, by which it is joined. So its groups and its first rows are those
of each key.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tidegate.errors import UnsupportedError
from tidegate.frontend.ast.queries import Item, JoinRef, Query, Scalar, SubqueryRef
from tidegate.frontend.expressions.scope import Relation, Scope
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.queries.selection import is_grouped, is_one_row
from tidegate.frontend.queries.subqueries import (
    Value,
    column_of,
    equations,
    is_of,
    named,
)

_KEY = "$key"


def asked_at_once(
    query: Query, inner: Relation, outer: Relation, checker: TypeChecker
) -> tuple[Query, list[exp.Expr]]:
    """``query`` with its keys behind its columns, and what they equal of the row at hand.

    ``inner`` is what stands in its FROM, ``outer`` what stands before it. Raises UnsupportedError.
    """
    found = equations(query, inner, checker, "a query")
    scopes = Scope(inner, checker), Scope(outer, checker)
    for value in (item.value for item in query.items if item.value is not None):
        for column in value.node.find_all(exp.Column):
            own, other = (is_of(scope, column, value.span) for scope in scopes)
            if other and not own:
                raise UnsupportedError(
                    "a query may be about the row at hand in its WHERE only",
                    value.span.place,
                    hint="compute it in the SELECT around it",
                )
    if not found.keys:
        return query, []
    _check(query)
    keys = found.keys
    items = (*query.items, *(Item(key, None, None, key.span) for key in keys))
    asked = replace(query, items=items, where=found.own)
    if is_grouped(query):
        sets = tuple((*each, *keys) for each in query.sets)
        span = query.group_span or query.head
        asked = replace(asked, group_by=(*query.group_by, *keys), group_span=span, sets=sets)
    if query.limit is not None:
        asked = replace(asked, limit=replace(query.limit, per=keys))
    return asked, [named(scopes[1], each, query.head) for each in found.outer]


def gives_first_value(query: Query) -> bool:
    """Whether ``query`` gives at most one row, with one value."""
    is_one = query.limit is not None and query.limit.rows == 1 and not query.further
    return is_one and query.value is not None


def first_value(query: Query, inner: Relation, outer: Relation, checker: TypeChecker) -> Value:
    """How such a ``query`` is asked for its value."""
    asked, at_hand = asked_at_once(query, inner, outer, checker)
    return Value(asked, tuple(at_hand), is_count=False)


def joined_by_keys(
    right: Relation, syntax: JoinRef, at_hand: list[exp.Expr], number: int
) -> tuple[Relation, JoinRef]:
    """The result of such a query, and its join: on the keys, the last columns, that are hidden.

    ``number`` tells their names from those of other ones.
    """
    assert isinstance(syntax.right, SubqueryRef)
    names = [f"{_KEY}{number + at}" for at in range(len(at_hand))]
    visible = right.visible
    first = len(visible) - len(names)
    hidden = zip(visible[first:], names, strict=True)
    keys = tuple(replace(field, path=(name,), hidden=True) for field, name in hidden)
    right = replace(right, fields=(*visible[:first], *keys))
    alias = syntax.right.alias.text if syntax.right.alias else ""
    parts: list[exp.Expr] = [
        exp.EQ(this=each.copy(), expression=column_of(alias, name))
        for each, name in zip(at_hand, names, strict=True)
    ]
    said = syntax.condition
    if said is not None and not (isinstance(said.node, exp.Boolean) and said.node.this):
        parts.append(said.node)
    if not parts:
        return right, syntax
    span = syntax.right.span if said is None else said.span
    return right, replace(syntax, condition=Scalar(exp.and_(*parts, copy=True), span))


def _check(query: Query) -> None:
    """Raises UnsupportedError for what would be asked otherwise than of each row."""
    if is_one_row(query):
        raise UnsupportedError(
            "LATERAL of an aggregate without GROUP BY is not supported: it has a row of no rows",
            query.head.place,
            hint="write it where its value stands: SELECT (SELECT max(x) FROM … WHERE …)",
        )
    if query.distinct and query.limit is not None:
        raise UnsupportedError(
            "a query about the row at hand with DISTINCT and LIMIT is not supported",
            query.head.place,
            hint="name the columns in GROUP BY",
        )
    if query.distinct_on or query.qualify or any(_has_over(item.value) for item in query.items):
        raise UnsupportedError(
            "a query about the row at hand with OVER, QUALIFY or DISTINCT ON is not supported",
            query.head.place,
            hint="write ORDER BY … LIMIT n; or join with that query, partitioned by the key",
        )


def _has_over(value: Scalar | None) -> bool:
    return value is not None and value.node.find(exp.Window) is not None
