"""Aliases of the SELECT list in conditions, as seed 000 has: ``WHERE next_price > price``."""

from __future__ import annotations

from sqlglot import exp

from tidegate.frontend.ast.queries import Query, Scalar
from tidegate.frontend.expressions.scalar import identifier_path
from tidegate.frontend.expressions.scope import Scope, matches


def with_aliases(query: Query, scalar: Scalar, scope: Scope) -> Scalar:
    """``scalar`` with what aliases stand for in their place; a column of that name comes first."""

    def replaced(node: exp.Expr) -> exp.Expr:
        path = identifier_path(node, scalar.span) if isinstance(node, exp.Column) else None
        if path is None or len(path) != 1 or scope.try_find(path) is not None:
            return node
        for item in query.items:
            if item.alias and item.value and matches(path[0], item.alias.text):
                return exp.Paren(this=item.value.node.copy())
        return node

    return Scalar(scalar.node.transform(replaced), scalar.span, scalar.text)
