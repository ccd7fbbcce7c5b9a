"""Top-N: a condition on the number of a row in its partition bounds what must be known (S14).

``WHERE rn <= 3`` over ``ROW_NUMBER() OVER (…) AS rn``, in a query around it or as QUALIFY, RANK and
DENSE_RANK too. Rows in the order of time need none of this: their numbers are final.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tidegate.frontend.ast.queries import Scalar
from tidegate.frontend.expressions.functions import conjuncts
from tidegate.frontend.expressions.scalar import Binder
from tidegate.plan.nodes import Filter, Node, Project
from tidegate.plan.over import ChangingOver

_NUMBERING = ("row_number", "rank", "dense_rank")


def limited(binder: Binder, condition: Scalar) -> tuple[Node, bool]:
    """The rows of ``binder``, at most those for which ``condition`` holds.

    And whether it holds for all of these, so that no filter is needed.
    """
    node, every = binder.scope.relation.node, True
    if not any(isinstance(part, ChangingOver) for part in node.walk()):
        return node, False
    for part in conjuncts(condition.node):
        limit = _limit(part)
        found = None
        if limit is not None:
            bound = binder.bind(Scalar(part, condition.span))
            if len(bound.columns) == 1:
                found = _with_first(node, next(iter(bound.columns)), limit[0])
        node = found or node
        every = every and found is not None and limit is not None and limit[1]
    return node, every


def _limit(condition: exp.Expr) -> tuple[int, bool] | None:
    """Up to which number the condition holds, and whether it does for all from 1 on."""
    while isinstance(condition, exp.Paren):
        condition = condition.this
    kinds: dict[type[exp.Expr], int] = {exp.LTE: 0, exp.LT: -1, exp.EQ: 0, exp.GTE: 0, exp.GT: -1}
    less = kinds.get(type(condition))
    if less is None:
        return None
    left, right = condition.this, condition.expression
    if isinstance(condition, exp.GTE | exp.GT) or (
        isinstance(condition, exp.EQ) and isinstance(left, exp.Literal)
    ):
        left, right = right, left
    is_number = isinstance(right, exp.Literal) and not right.is_string and right.name.isdigit()
    if not is_number or not isinstance(left, exp.Column | exp.Dot | exp.Window):
        return None
    most = int(right.name) + less
    if most < 1:
        return None
    return most, not isinstance(condition, exp.EQ) or most == 1


def _with_first(node: Node, column: str, most: int) -> Node | None:
    """``node`` where its ``column``, a row's number, is at most ``most``; None if it is none."""
    match node:
        case Project():
            expr = dict(node.columns)[column]
            if not expr.is_column:
                return None
            below = _with_first(node.input, next(iter(expr.columns)), most)
            return None if below is None else replace(node, input=below)
        case Filter():
            below = _with_first(node.input, column, most)
            return None if below is None else replace(node, input=below)
        case ChangingOver():
            call = next((call for call in node.calls if call.output.name == column), None)
            if call is None:  # an over-window above this one has passed it on
                below = _with_first(node.input, column, most)
                return None if below is None else replace(node, input=below)
            if call.function not in _NUMBERING or (node.first or (column, 0))[0] != column:
                return None
            known = node.first[1] if node.first is not None else most
            return replace(node, first=(column, min(known, most)))
    return None
