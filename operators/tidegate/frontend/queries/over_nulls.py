"""``IGNORE NULLS`` of FIRST_VALUE, LAST_VALUE, LAG and LEAD: rows whose value is NULL do not count.

FIRST_VALUE and LAST_VALUE are those of the frame's other rows. LAG is the LAST_VALUE of all rows
before the current one, LEAD the FIRST_VALUE of all behind it, which is known only of partitions
that are whole.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import exp

from tidegate.errors import BindError, Position, UnsupportedError
from tidegate.plan.nodes import Expr
from tidegate.plan.over import Frame, OverCall

IGNORING: Final = ("first_value", "last_value", "lag", "lead")


def unwrapped(call: exp.Expr, place: Position) -> tuple[exp.Expr, exp.Expr | None, bool]:
    """The call that stands before OVER, its FILTER, and whether it ignores NULLs.

    The words may stand behind the call or within it: ``lag(c IGNORE NULLS)``; twice only if they
    are the same. Raises BindError.
    """
    where, said = None, set[bool]()
    while isinstance(call, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        if isinstance(call, exp.Filter):
            where = call.args["expression"].this
        else:
            said.add(isinstance(call, exp.IgnoreNulls))
        call = call.this
    last = call.expressions[-1] if call.expressions else None
    if isinstance(last, exp.IgnoreNulls | exp.RespectNulls):
        said.add(isinstance(last, exp.IgnoreNulls))
        call = call.copy()
        call.set("expressions", [*call.expressions[:-1], last.this.copy()])
    if len(said) > 1:
        raise BindError(
            "IGNORE NULLS and RESPECT NULLS say the opposite of each other",
            place,
            hint="leave one of them out; RESPECT NULLS is what holds without",
        )
    return call, where, True in said


def is_there(value: Expr, where: Expr | None = None) -> Expr:
    """The condition that ``value`` is not NULL, and that ``where`` holds."""
    sql, columns = f"({value.sql}) IS NOT NULL", value.columns
    if where is not None:
        sql, columns = f"({where.sql}) AND {sql}", columns | where.columns
    return Expr(sql, "BOOLEAN", columns, None, "a condition does not keep an order", sql)


def ignoring(call: OverCall, condition: str, *, by_partition: bool, place: Position) -> OverCall:
    """LAG or LEAD as a call over rows for which the column ``condition`` holds."""
    if call.offset != 1 or call.default is not None:
        raise UnsupportedError(
            f"{call.function} IGNORE NULLS looks one value away, and has no default",
            place,
            hint=f"write {call.function}(column) IGNORE NULLS OVER …, and coalesce(…) around it in"
            " a query above",
        )
    if call.function == "lag":
        return replace(
            call, function="last_value", frame=Frame(True, None, -1), offset=0, where=condition
        )
    if not by_partition:
        raise UnsupportedError(
            "lead IGNORE NULLS in the order of time might wait for ever",
            place,
            hint="say how far it looks: first_value(column) IGNORE NULLS OVER (… ROWS BETWEEN"
            " 1 FOLLOWING AND 10 FOLLOWING)",
        )
    return replace(
        call, function="first_value", frame=Frame(True, 1, None), offset=0, where=condition
    )
