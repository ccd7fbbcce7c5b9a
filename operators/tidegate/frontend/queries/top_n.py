"""Top-N: a condition on the number of a row in its partition bounds what must be known (S14).

``WHERE rn <= 3`` over ``ROW_NUMBER() OVER (…) AS rn``, in a query around it or as QUALIFY, RANK and
DENSE_RANK too. Rows in the order of time need none of this: their numbers are final. And LIMIT and
DISTINCT ON, which say the same without a number.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tidegate.frontend.ast.queries import Query, Scalar
from tidegate.frontend.expressions.functions import conjuncts
from tidegate.frontend.expressions.scalar import Binder
from tidegate.frontend.expressions.scope import Relation, unused
from tidegate.frontend.queries.outputs import Bind, Output, projected
from tidegate.frontend.queries.sorting import (
    order_columns,
    order_target_of,
    output_of,
    ties_between,
)
from tidegate.plan.derivation import derive
from tidegate.plan.nodes import Expr, Filter, Node, Project, SortKey, quoted
from tidegate.plan.over import ChangingOver, OverCall
from tidegate.types import Column

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
            if call is None:  # one below this one, which looks at all of its rows
                return None
            if call.function not in _NUMBERING or (node.first or (column, 0))[0] != column:
                return None
            known = node.first[1] if node.first is not None else most
            return replace(node, first=(column, min(known, most)))
    return None


def first_rows(
    query: Query, node: Node, outputs: list[Output], bind: Bind, keys: tuple[str, ...] | None
) -> Relation:
    """``outputs`` over ``node``: the first ones, in the order that ``query`` says.

    That is what LIMIT and DISTINCT ON mean; ``keys`` are those of a grouped query.
    """
    extras: list[Output] = []
    columns = order_columns(query, outputs, extras, bind)
    partition = [
        output_of(each.span.shown, bind(order_target_of(each, query)), outputs, extras).column
        for each in query.first_per
    ]
    order: dict[str, SortKey] = {}
    for column, item in zip(columns, query.order_by, strict=True):
        if column not in partition:  # nor does a column that came before decide anything more
            order.setdefault(column, SortKey(column, item.descending, item.nulls_first))
    ties = ties_between(node, outputs, extras, keys)
    below = projected(node, outputs + extras)
    limit, offset = (1, 0) if query.limit is None else (query.limit.rows, query.limit.offset)
    number = Column(unused("row_number", [c.name for c in below.node.schema]), "BIGINT")
    function = "rank" if query.limit is not None and query.limit.ties else "row_number"
    first = next(iter(order), "")
    newest = bool(first) and order[first].descending and not derive(below.node)[first].lost
    over = ChangingOver(
        (*below.node.schema, number), below.node, tuple(partition), "", tuple(order.values()),
        tuple(tie for tie in ties if tie not in order), (OverCall(number, function),), True,
        (number.name, limit + offset), newest,
    )  # fmt: skip
    above: Node = over
    if offset or not limit:
        beyond = f"{quoted(number.name)} > {offset}" if limit else "false"
        above = Filter(over.schema, over, Expr(beyond, "BOOLEAN", frozenset([number.name])))
    return replace(below, node=above)
