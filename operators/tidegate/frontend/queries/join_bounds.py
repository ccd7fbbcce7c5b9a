"""Bounds on the time between the two sides of a join: columns moved by constants, compared (S4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from tidegate.errors import Position, UnsupportedError
from tidegate.frontend.expressions.functions import sql_of
from tidegate.frontend.expressions.monotone import shift_of
from tidegate.frontend.expressions.scalar import Binder, plan_column
from tidegate.frontend.expressions.typecheck import TypeCheckError, is_integer
from tidegate.frontend.queries.closing import ALLOW
from tidegate.plan.derived import Columns
from tidegate.types import column_named, is_event_time_type

SWAPPED: Final[dict[type[exp.Expr], type[exp.Expr]]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
}
"""Comparisons, and what they are with their sides exchanged."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A column moved by a constant, in its unit."""

    column: str
    shift: int


@dataclass(slots=True)
class Bounds:
    """How far the right column may lie from the left one, and the parts of ON that say so."""

    lower: int | None = None
    upper: int | None = None
    said: list[exp.Expr] = field(default_factory=list)

    def add(self, kind: type[exp.Expr], distance: int, part: exp.Expr) -> None:
        """``right - left`` stands in this relation to ``distance``."""
        if kind in (exp.GTE, exp.GT, exp.EQ):
            low = distance + (kind is exp.GT)
            self.lower = low if self.lower is None else max(low, self.lower)
        if kind in (exp.LTE, exp.LT, exp.EQ):
            high = distance - (kind is exp.LT)
            self.upper = high if self.upper is None else min(high, self.upper)
        if part not in self.said:
            self.said.append(part)


def moment(binder: Binder, node: exp.Expr) -> Moment | None:
    node = node.unnest()
    if isinstance(node, exp.Column):
        return Moment(node.name, 0) if is_event_time_type(_type_of(binder, node.name)) else None
    inner = moment(binder, node.this) if isinstance(node, exp.Add | exp.Sub) else None
    shift = None if inner is None else moved_by(binder, inner.column, node)
    return None if inner is None or shift is None else Moment(inner.column, inner.shift + shift)


def apart(binder: Binder, node: exp.Expr, constant: exp.Expr) -> tuple[Moment, Moment] | None:
    """The moments whose comparison says what that of ``node``, a difference, with ``constant``
    says: of ``b - a`` and c they are b and a + c."""
    node = node.unnest()
    if not isinstance(node, exp.Sub):
        return None
    one, other = moment(binder, node.this), moment(binder, node.expression)
    if one is None or other is None:
        return None
    distance = moved_by(binder, other.column, exp.Add(this=node.expression, expression=constant))
    return None if distance is None else (one, Moment(other.column, other.shift + distance))


def moved_by(binder: Binder, column: str, node: exp.Expr) -> int | None:
    """By how much ``node``, a sum, moves ``column``; None where that is no constant."""
    schema, plain = binder.schema, plan_column(column)
    moved = type(node)(this=plain, expression=node.expression.copy())
    shift = shift_of(moved, binder.checker, schema)
    if shift is not None or _type_of(binder, column) != "BIGINT":
        return shift
    if node.expression.find(exp.Column, exp.Anonymous):
        return None
    sql = sql_of(node.expression)
    try:
        if not is_integer(binder.checker.type_of(sql, schema)):
            return None
        value = binder.checker.integer(sql)
    except TypeCheckError:
        return None
    return -value if value is not None and isinstance(node, exp.Sub) else value


def _type_of(binder: Binder, name: str) -> str:
    return column_named(binder.schema, name).type


def unbounded(
    known: tuple[Columns, Columns],
    found: Mapping[tuple[str, str], Bounds],
    shown: Callable[[str], str],
    place: Position,
) -> UnsupportedError:
    """What is missing so that rows of a join can be forgotten.

    Args:
        known: what is known of the columns of the left side and of the right.
        found: the bounds that ON has, none of which is closed.
        shown: how the query names a column.
        place: of the join.
    """
    timed = [[name for name, of in columns.items() if of.has_watermark] for columns in known]
    for index, names in enumerate(timed):
        if not names:
            side, other = (("left", "right"), ("right", "left"))[index]
            lost = {of.lost for of in known[index].values()}
            return UnsupportedError(
                f"the {side} side of the join has no watermark, so rows of the {other} side"
                " would be kept for ever",
                place,
                detail="; ".join(sorted(lost)),
                hint=f"declare WATERMARK FOR a time column of the {side} side{ALLOW}",
            )
    for pair, bounds in found.items():
        left, right = (shown(column) for column in pair)
        missing = "at most" if bounds.upper is None else "at least"
        return UnsupportedError(
            f"the join bounds {right} - {left} on one side only, so rows would be kept for ever",
            place,
            hint=f"say how far apart they may be {missing}: {right} BETWEEN {left} AND {left}"
            f" + INTERVAL '1' HOUR{ALLOW}",
        )
    left, right = (shown(names[0]) for names in timed)
    return UnsupportedError(
        "a join without a bound on the time would keep all rows for ever",
        place,
        hint=f"add AND {right} BETWEEN {left} AND {left} + INTERVAL '1' HOUR; or join windows"
        f" on their window_start and window_end{ALLOW}",
    )
