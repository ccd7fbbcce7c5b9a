"""``t > now() - INTERVAL '1' HOUR`` in WHERE, of results that may change (S14).

Where a sink takes only final rows, and with EMIT ON WINDOW CLOSE, the clock is read when a row
comes, as any expression reads it.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tidegate.frontend.ast.queries import Scalar
from tidegate.frontend.expressions.functions import conjuncts, sql_of
from tidegate.frontend.expressions.scalar import Binder
from tidegate.frontend.queries.join_bounds import SWAPPED, Moment, moment, moved_by
from tidegate.plan.nodes import PROC_TIME_SQL, Node
from tidegate.plan.temporal_filter import TemporalFilter
from tidegate.types import column_named

_TYPES = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE")


def near_the_present(binder: Binder, condition: Scalar) -> tuple[Node, list[Scalar]]:
    """The rows of the binder's relation for which what ``condition`` says of a time and now holds,
    and the other parts of it."""
    node, rest = binder.scope.relation.node, []
    for part in conjuncts(condition.node):
        resolved = binder.resolve(Scalar(part, condition.span))
        text = condition.span.shown if part is condition.node else sql_of(part)
        comparisons = _compared(resolved)
        found = [_bounds(binder, each) for each in comparisons]
        if not found or any(each is None for each in found):
            rest.append(Scalar(part, condition.span, text))
            continue
        for each in found:
            assert each is not None
            column, enters, leaves = each
            node = _limited(node, TemporalFilter(node.schema, node, column, enters, leaves, text))
    return node, [condition] if node is binder.scope.relation.node else rest


def _limited(node: Node, by: TemporalFilter) -> TemporalFilter:
    """``by``, as one with what stands below if that is about the same time."""
    if not isinstance(node, TemporalFilter) or node.column != by.column:
        return by
    enters = [each for each in (node.enters, by.enters) if each is not None]
    leaves = [each for each in (node.leaves, by.leaves) if each is not None]
    text = by.text if by.text == node.text else f"{node.text} AND {by.text}"
    return replace(
        node,
        enters=max(enters, default=None),
        leaves=min(leaves, default=None),
        text=text,
    )


def _compared(node: exp.Expr) -> list[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low = exp.GTE(this=node.this, expression=node.args["low"])
        return [low, exp.LTE(this=node.this.copy(), expression=node.args["high"])]
    return [node] if type(node) in SWAPPED else []


def _bounds(binder: Binder, node: exp.Expr) -> tuple[str, int | None, int | None] | None:
    """Column, and from which and up to which distance to now the comparison holds."""
    kind = type(node)
    time = moment(binder, node.this)
    clock = None if time is None else _clock(binder, time.column, node.expression)
    if clock is None:
        kind = SWAPPED[kind]
        time = moment(binder, node.expression)
        clock = None if time is None else _clock(binder, time.column, node.this)
    if time is None or clock is None:
        return None
    if column_named(binder.schema, time.column).type not in _TYPES:
        return None
    distance = time.shift - clock.shift  # column + distance <kind> now
    if kind is exp.GT:
        return time.column, None, distance
    if kind is exp.GTE:
        return time.column, None, distance + 1
    if kind is exp.LT:
        return time.column, distance + 1, None
    return (time.column, distance, None) if kind is exp.LTE else None


def _clock(binder: Binder, column: str, node: exp.Expr) -> Moment | None:
    """``node`` as the present moved by a constant, in the unit of ``column``."""
    node = node.unnest()
    if isinstance(node, exp.Cast) or sql_of(node) == PROC_TIME_SQL:
        inner = node.this if isinstance(node, exp.Cast) else node
        return Moment(column, 0) if sql_of(inner.unnest()) == PROC_TIME_SQL else None
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    below = _clock(binder, column, node.this)
    shift = None if below is None else moved_by(binder, column, node)
    return None if below is None or shift is None else Moment(column, below.shift + shift)
