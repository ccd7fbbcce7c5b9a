"""Conditions that ask of another query: ``IN (SELECT …)``, ``EXISTS (SELECT …)``, and their NOT.

Each is a semi or an anti join of what stands in FROM with the other query. Parts of the other
query's WHERE that name columns of this one become conditions of that join; so it may be about the
row at hand, as long as it has no groups and no first rows of its own.

``x NOT IN (…)`` is not known to be true where ``x`` is NULL, or one of the others is, but of no
rows at all: a row meets all those that it might be equal to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from sqlglot import exp

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.ast.queries import Query, Scalar
from tidegate.frontend.expressions.functions import conjuncts
from tidegate.frontend.expressions.scalar import identifier_path, path_node
from tidegate.frontend.expressions.scope import Relation, Scope
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.source import Span
from tidegate.frontend.syntax.dialect import InnerQuery

ASKED: Final = "$asked"
VALUE: Final = "value"
"""What the other query's result, and its column, are called."""


class Asked(NamedTuple):
    """A condition that asks ``query``: for any row, or for one that is ``tested``."""

    query: Query
    is_not: bool
    tested: exp.Expr | None
    span: Span


def asked(condition: Scalar) -> Asked | None:
    """What a part of WHERE asks of another query; None where it asks none.

    Raises UnsupportedError where the answer is a part of an expression.
    """
    node, is_not = condition.node.unnest(), False
    while isinstance(node, exp.Not):
        node, is_not = node.this.unnest(), not is_not
    inner = node.find(InnerQuery)
    if inner is None:
        return None
    query: Query = inner.args["query"]
    if isinstance(node, exp.In) and not node.this.find(InnerQuery):
        return Asked(query, is_not, node.this, condition.span)
    if isinstance(node, exp.Exists):
        return Asked(query, is_not, None, condition.span)
    raise UnsupportedError(
        "a query inside an expression is not supported",
        query.head.place,
        hint="ask with IN (SELECT …) or EXISTS (SELECT …), as a condition of its own between ANDs;"
        " or join with the query",
    )


def divided(
    conditions: Iterable[Scalar],
) -> tuple[list[Scalar], list[Asked]]:
    """The ``conditions`` of a WHERE that ask nothing, and what the others ask."""
    plain, asking = [], []
    for whole in conditions:
        if whole.node.find(InnerQuery) is None:
            plain.append(whole)
            continue
        for part in conjuncts(whole.node):
            one = Scalar(part, whole.span)
            found = asked(one)
            if found is None:
                plain.append(one)
            else:
                asking.append(found)
    return plain, asking


class Question(NamedTuple):
    """How it is asked: what holds of both sides, and ``own``, what of the other one alone.

    ``is_whole``: of the result of the other query, which has one column, `VALUE`, if that matters.
    Else of the rows in its FROM.
    """

    condition: Scalar | None
    own: Scalar | None
    is_whole: bool


def question(each: Asked, inner: Relation | None, checker: TypeChecker) -> Question:
    """How ``each`` is asked. ``inner`` is what stands in FROM of its query, if that has rows as
    they are, so that it can be about the row at hand."""
    query = each.query
    if each.tested is not None and (len(query.items) > 1 or query.items[0].value is None):
        raise BindError(
            "IN takes a query of one column", query.head.place, hint="name that column alone"
        )
    if inner is None or query.where is None:
        return _of_whole(each)
    scope, span = Scope(inner, checker), query.where.span
    own, outer = list[exp.Expr](), list[exp.Expr]()
    for part in conjuncts(query.where.node):
        (own if _is_of(scope, part, span) else outer).append(part)
    if not outer:
        return _of_whole(each)
    conditions = [_named(scope, part, span) for part in outer]
    item = query.items[0].value
    if each.tested is not None and item is not None:
        conditions.insert(0, _equal(each, _named(scope, item.node, item.span)))
    return Question(_all(conditions, each.span), _all(own, span), is_whole=False)


def _of_whole(each: Asked) -> Question:
    if each.tested is None:
        return Question(None, None, is_whole=True)
    table, name = (exp.Identifier(this=text, quoted=True) for text in (ASKED, VALUE))
    same = _equal(each, exp.Column(this=name, table=table))
    return Question(Scalar(same, each.span), None, is_whole=True)


def _all(parts: Sequence[exp.Expr], span: Span) -> Scalar | None:
    return Scalar(exp.and_(*parts, copy=True), span) if parts else None


def _equal(each: Asked, value: exp.Expr) -> exp.Expr:
    assert each.tested is not None
    tested = each.tested
    same = exp.EQ(this=tested.copy(), expression=value.copy())
    if not each.is_not:
        return same
    nulls = (exp.Is(this=side.copy(), expression=exp.Null()) for side in (tested, value))
    return exp.Paren(this=exp.or_(same, *nulls, copy=False))


def _is_of(scope: Scope, node: exp.Expr, span: Span) -> bool:
    """Whether all that ``node`` names is there."""
    columns = node.find_all(exp.Column, exp.Dot)
    named = (column for column in columns if not isinstance(column.parent, exp.Dot))
    paths = (identifier_path(column, span) for column in named)
    return all(path is None or scope.try_find(path) is not None for path in paths)


def _named(scope: Scope, node: exp.Expr, span: Span) -> exp.Expr:
    """``node`` with the table before each column that ``scope`` has: the other query's own come
    first, whatever this one has of the name."""

    def named(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column) or part.args.get("table") is not None:
            return part
        path = identifier_path(part, span)
        found = None if path is None else scope.try_find(path)
        if path is None or found is None:
            return part
        table = found.field.table or scope.relation.alias
        if not table:
            return part
        first = replace(path[0], text=table, quoted=True)
        return path_node((first, *path))

    return node.transform(named)
