"""EARLY EVERY: what the ticks of early results are made of, and where there can be none (S5)."""

from __future__ import annotations

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.ast.queries import Query, Scalar
from tidegate.frontend.expressions.scalar import Binder
from tidegate.frontend.expressions.times import bind_length, unit_us_in
from tidegate.plan.changes import is_changing, is_early
from tidegate.plan.derivation import derive
from tidegate.plan.early import Early
from tidegate.plan.joins import Union
from tidegate.plan.nodes import Expr, Filter, Node, Project, quoted
from tidegate.plan.windows import Session, Window


def early_of(binder: Binder, key: Expr, name: str, every: Scalar) -> tuple[Early, Expr]:
    """The ticks of groups that the key ``name``, ``key`` over the binder's rows, closes.

    Gives the expression of a row's tick too. Raises SqlError where there can be none.
    """
    node, place = binder.scope.relation.node, every.span.place
    time = _time_of(node, next(iter(key.columns))) if key.is_column else key.monotone_in
    if time is None or derive(node)[time].lost:
        if any(isinstance(part, Session) for part in node.walk()):
            raise UnsupportedError(
                "EARLY EVERY over sessions is not supported",
                place,
                detail="their rows leave when a session is over",
                hint="leave EARLY EVERY out, or group by TUMBLE, HOP or CUMULATE",
            )
        raise BindError(
            f"groups of {name} have no early results",
            place,
            detail=f"{name} is not made of a finer time that the rows have, with a watermark",
            hint="group by windows of a time, or by DATE_TRUNC of one, where the rows are read",
        )
    column = node.column_of(time)
    hint = "leave EARLY EVERY out to have each result once, when it is final"
    unit_us, what = unit_us_in(node, column), "interval of EARLY EVERY"
    early = Early(column, bind_length(binder, every, column, unit_us, what, hint))
    sql = early.tick_sql(quoted(time))
    return early, Expr(sql, "BIGINT", frozenset([time]), time, text=f"tick({time})")


def check_early(query: Query, node: Node) -> None:
    """Raises SqlError where ``query``, planned as ``node``, has no groups to show early."""
    if query.order_by and not query.takes_first and is_changing(node):
        raise UnsupportedError(
            "ORDER BY over results that change is not supported",
            query.order_by[0].span.place,
            hint="leave EARLY EVERY out: the order is one of final results",
        )
    every = query.emit.early if query.emit is not None else None
    if every is None or is_early(node):
        return
    raise BindError(
        "EARLY EVERY is for aggregates, and this query has none of its own",
        every.span.place,
        hint="leave it out: rows of joins, over-windows, patterns and sorts are there once,"
        " when they are final",
    )


def _time_of(node: Node, column: str) -> str | None:
    """The column of ``node`` of which ``column`` is made, and never falls while that rises."""
    match node:
        case Window():
            if any(known.name == column for known in node.input.schema):
                return _time_of(node.input, column)
            return node.time_column
        case Filter():
            return _time_of(node.input, column)
        case Project():
            expr = dict(node.columns)[column]
            time = expr.monotone_in
            if expr.is_column:
                time = _time_of(node.input, next(iter(expr.columns)))
            plain = (n for n, given in node.columns if given.is_column and time in given.columns)
            return next(plain, None)
        case Union():
            times = {_time_of(branch, column) for branch in node.branches}
            return times.pop() if len(times) == 1 else None
    return None
