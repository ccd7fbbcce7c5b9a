"""Which expressions keep the order of one column (S4), worked out on the resolved tree.

`order_of` answers for one expression: constant, never falling while one column rises, or lost,
with the reason. A reason is a short clause that EXPLAIN shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from tidegate.frontend.expressions.functions import BEFORE_PREFIX, sql_of
from tidegate.frontend.expressions.typecheck import (
    Interval,
    TypeChecker,
    TypeCheckError,
    is_numeric,
)
from tidegate.plan.derived import PROCESSING_TIME
from tidegate.types import Schema

_RISING: Final = frozenset(
    {"epoch", "epoch_ms", "epoch_us", "epoch_ns", "make_timestamp", "make_timestamptz", "floor"}
    | {"ceil", "ceiling", "to_timestamp", "trunc", "round"}
)
_TRUNCATIONS: Final = frozenset({"date_trunc", "datetrunc"})
_ZONED: Final = "TIMESTAMP WITH TIME ZONE"
_LOCAL: Final = ("TIMESTAMP", "DATE")
_TITLES: Final[Mapping[type[exp.Expr], str]] = {
    exp.Case: "CASE",
    exp.TryCast: "TRY_CAST",
    exp.Mod: "the remainder",
    exp.Neg: "the negative value",
}


@dataclass(frozen=True, slots=True)
class Order:
    """``column`` None and ``lost`` empty: a constant."""

    column: str | None = None
    lost: str = ""

    @property
    def is_constant(self) -> bool:
        return self.column is None and not self.lost


_CONSTANT: Final = Order()


def order_of(node: exp.Expr, checker: TypeChecker, schema: Schema) -> Order:
    """How the value of ``node`` moves with the columns of ``schema``."""
    order = _Analysis(checker, schema).order(node)
    if order.is_constant:
        return Order(None, PROCESSING_TIME if _reads_clock(node) else "it is a constant")
    return order


def shift_of(node: exp.Expr, checker: TypeChecker, schema: Schema) -> int | None:
    """The microseconds by which ``node`` is a timestamp column moved; None: it is something else.

    Only where a day has 24 hours: for TIMESTAMPTZ in a zone without clock changes.
    """
    if not isinstance(node, exp.Add | exp.Sub) or not isinstance(node.this, exp.Column):
        return None
    kind = next((c.type for c in schema if c.name == node.this.name), "")
    if kind != "TIMESTAMP" and not (kind == _ZONED and checker.zone_is_fixed):
        return None
    interval = _Analysis(checker, schema).interval(node.expression)
    length = None if interval is None else interval.fixed_us
    return -length if length is not None and isinstance(node, exp.Sub) else length


class _Analysis:
    def __init__(self, checker: TypeChecker, schema: Schema) -> None:
        self._checker = checker
        self._schema = schema
        self._rules: dict[type[exp.Expr], Callable[[exp.Expr, list[Order]], Order]] = {
            exp.Column: lambda node, _: Order(node.name),
            exp.Paren: lambda _, parts: parts[0],
            exp.Add: self._add,
            exp.Sub: self._subtract,
            exp.Mul: self._scale,
            exp.Div: self._scale,
            exp.IntDiv: self._scale,
            exp.Cast: self._cast,
            exp.Extract: self._extract,
            exp.Anonymous: self._call,
            exp.AtTimeZone: self._at_time_zone,
        }

    def order(self, node: exp.Expr) -> Order:
        columns = {found.name for found in node.find_all(exp.Column)}
        if not columns:
            return _CONSTANT
        clock = ["the processing time"] if _reads_clock(node) else []
        if len(columns) + len(clock) > 1:
            names = " and ".join([*map(_shown, sorted(columns)), *clock])
            return Order(None, f"it depends on {names}")
        rule = self._rules.get(type(node))
        if rule is None:
            title = _TITLES.get(type(node), "this expression")
            return Order(None, f"{title} does not keep the order of {columns.pop()}")
        parts = [self.order(part) for part in node.iter_expressions()]
        lost = next((part for part in parts if part.lost), None)
        return lost or rule(node, parts)

    def _type(self, node: exp.Expr) -> str:
        try:
            return self._checker.type_of(sql_of(node), self._schema)
        except TypeCheckError:
            return ""

    def _add(self, node: exp.Expr, parts: list[Order]) -> Order:
        left, right = parts
        if left.column and right.column:
            rises = all(is_numeric(self._type(side)) for side in (node.this, node.expression))
            return left if rises else self._lost("the sum", left)
        moving, still = (left, node.expression) if left.column else (right, node.this)
        fixed = node.this if left.column else node.expression
        return self._shifted(moving, still, self._type(fixed))

    def _subtract(self, node: exp.Expr, parts: list[Order]) -> Order:
        left, right = parts
        if right.column:
            return self._lost("what is subtracted", right)
        return self._shifted(left, node.expression, self._type(node.this))

    def _shifted(self, moving: Order, still: exp.Expr, moving_type: str) -> Order:
        """A rising value plus or minus a constant."""
        if self._type(still) != "INTERVAL":
            numeric = is_numeric(self._type(still)) and is_numeric(moving_type)
            return moving if numeric else self._lost("this sum", moving)
        interval = self.interval(still)
        if interval is None:
            return self._lost("an interval that is not a constant", moving)
        if interval.months:
            return Order(None, "months and years have no fixed length")
        if interval.days and moving_type == _ZONED and not self._checker.zone_is_fixed:
            return Order(None, f"a day has no fixed length in {self._checker.time_zone}")
        return moving

    def interval(self, node: exp.Expr) -> Interval | None:
        """What ``node`` is, if it is a constant interval."""
        if node.find(exp.Anonymous):
            return None
        try:
            return self._checker.interval(sql_of(node))
        except TypeCheckError:
            return None

    def _scale(self, node: exp.Expr, parts: list[Order]) -> Order:
        left, right = parts
        if right.column and (left.column or not isinstance(node, exp.Mul)):
            return self._lost("this operation", right)
        moving, still = (left, node.expression) if left.column else (right, node.this)
        fixed = node.this if left.column else node.expression
        if not is_numeric(self._type(fixed)) or not self._is_positive(still):
            return self._lost("a factor that is not a positive constant", moving)
        return moving

    def _is_positive(self, node: exp.Expr) -> bool:
        if node.find(exp.Anonymous) or not is_numeric(self._type(node)):
            return False
        try:
            return (self._checker.integer(f"CAST(({sql_of(node)}) > 0 AS INTEGER)") or 0) > 0
        except TypeCheckError:
            return False

    def _cast(self, node: exp.Expr, parts: list[Order]) -> Order:
        inner = parts[0]
        given, wanted = self._type(node.this), self._type(node)
        if given == wanted or (is_numeric(given) and is_numeric(wanted)):
            return inner
        if given in _LOCAL and wanted in _LOCAL:
            return inner
        if _ZONED in (given, wanted) and {given, wanted} <= {_ZONED, *_LOCAL}:
            if self._checker.zone_is_fixed:
                return inner
            return Order(None, f"clocks are turned back in {self._checker.time_zone}")
        return Order(None, f"a cast from {given} to {wanted} does not keep the order")

    def _extract(self, node: exp.Expr, parts: list[Order]) -> Order:
        _, inner = parts
        part = node.name.upper()
        return inner if part == "EPOCH" else self._lost(f"EXTRACT({part})", inner)

    def _at_time_zone(self, node: exp.Expr, parts: list[Order]) -> Order:
        zone = node.args["zone"]
        if zone.is_string and zone.name.upper() in ("UTC", "GMT", "ETC/UTC"):
            return parts[0]
        return Order(None, "clocks are turned back in some time zones")

    def _call(self, node: exp.Expr, orders: list[Order]) -> Order:
        name, arguments = node.name.lower(), node.expressions
        if name in _TRUNCATIONS and orders[0].is_constant:
            if self._type(arguments[1]) == _ZONED and not self._checker.zone_is_fixed:
                return Order(None, f"clocks are turned back in {self._checker.time_zone}")
            return orders[1]
        if name in ("greatest", "least"):
            types = {self._type(argument) for argument in arguments}
            if _ZONED in types and len(types) > 1 and not self._checker.zone_is_fixed:
                return Order(None, f"clocks are turned back in {self._checker.time_zone}")
            return next(order for order in orders if order.column)
        if name in _RISING and orders[0].column:
            return orders[0]
        if name == "time_bucket" and orders[0].is_constant and len(orders) == 2:
            interval = self.interval(arguments[0])
            fixed = interval is not None and not interval.months
            return (
                orders[1] if fixed and self._checker.zone_is_fixed else self._lost(name, orders[1])
            )
        moving = next(order for order in orders if order.column)
        return self._lost(f"{name}()", moving)

    def _lost(self, what: str, order: Order) -> Order:
        return Order(None, f"{what} does not keep the order of {order.column}")


def _reads_clock(node: exp.Expr) -> bool:
    """Whether the value moves from epoch to epoch, the columns being what they are."""
    return any(call.name == "getvariable" for call in node.find_all(exp.Anonymous))


def _shown(column: str) -> str:
    """A column as users know it."""
    if not column.startswith(BEFORE_PREFIX):
        return column
    return f"CURRENT_WATERMARK({column.removeprefix(BEFORE_PREFIX)})"
