"""Aliases of the SELECT list in conditions, as seed 000 has: ``WHERE next_price > price``."""

from __future__ import annotations

from sqlglot import exp

from tidegate.frontend.ast.queries import Query, Scalar
from tidegate.frontend.expressions.scalar import identifier_path
from tidegate.frontend.expressions.scope import Scope, matches


def aliased(query: Query, scalar: Scalar, scope: Scope | None = None) -> tuple[Scalar, str] | None:
    """What the alias stands for that ``scalar`` is, and the alias; None for another expression.

    A column of ``scope`` comes before an alias of its name.
    """
    path = identifier_path(scalar.node, scalar.span)
    if path is None or len(path) != 1 or (scope is not None and scope.try_find(path) is not None):
        return None
    items = ((item.value, item.alias) for item in query.items if item.value and item.alias)
    found = ((value, alias.text) for value, alias in items if matches(path[0], alias.text))
    return next(found, None)


def with_aliases(query: Query, scalar: Scalar, scope: Scope) -> Scalar:
    """``scalar`` with what aliases stand for in their place; a column of that name comes first."""

    def replaced(node: exp.Expr) -> exp.Expr:
        found = aliased(query, Scalar(node, scalar.span), scope)
        return node if found is None else exp.Paren(this=found[0].node.copy())

    return Scalar(scalar.node.transform(replaced), scalar.span, scalar.text)
