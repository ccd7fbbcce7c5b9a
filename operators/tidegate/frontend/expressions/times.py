"""Time columns: watermark strategies, units, window sizes (S2, S11, S12)."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from tidegate.connectors.durations import parse_duration
from tidegate.errors import BindError, Position
from tidegate.frontend.ast.queries import Scalar
from tidegate.frontend.expressions import intervals
from tidegate.frontend.expressions.functions import call, cast, sql_of
from tidegate.frontend.expressions.scalar import Binder, plan_column
from tidegate.frontend.expressions.scope import article
from tidegate.frontend.expressions.typecheck import (
    NULL_TYPE,
    TypeCheckError,
    is_integer,
    is_numeric,
)
from tidegate.frontend.source import Span
from tidegate.plan.aggregate_types import PICKS
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.joins import Join
from tidegate.plan.match import MatchRecognize
from tidegate.plan.nodes import Expr, Node, Project, Scan
from tidegate.plan.over import OverCall, OverWindow, RecentRows
from tidegate.plan.tables import Table
from tidegate.plan.windows import Session, Window
from tidegate.types import END, Column, decimal_scale, is_event_time_type

UNITS_US: Final = {"s": 1_000_000, "ms": 1_000, "us": 1, "none": 0}
_SKEW: Final = "scan.watermark.max-future-skew"
UNIT_OPTION: Final = "scan.watermark.unit"
_LOOKS: Final = frozenset({"first", "last", "prev", "min", "max"})
_PICKS: Final = frozenset({"min", "max", "mode", "quantile_disc", "lag", "lead"}) | PICKS
_FIELD: Final = re.compile(r"""(struct_extract\()+"[^"]*"(, '[^']*'\))+""")
"""An expression that is a field of a column."""


def unit_us_of(column: Column, table: Table) -> int:
    """Microseconds in one unit of a time column's 64-bit integer; 0: it is no time."""
    if column.type.startswith("TIMESTAMP"):
        return 1
    scale = decimal_scale(column.type)
    if scale is None:
        return UNITS_US[table.option(UNIT_OPTION, "ms")]
    unit_us = UNITS_US[table.option(UNIT_OPTION, "none")]
    return unit_us // 10**scale if unit_us % 10**scale == 0 else 0


def unit_us_in(node: Node, column: Column) -> int:
    """Microseconds in one unit of ``column`` of ``node``, or of a field in it; 0: not known.

    A number keeps its unit as long as it is passed on as it is; of a computed one, only a
    TIMESTAMP's is known.
    """
    if column.type.startswith("TIMESTAMP"):
        return 1
    name, below = column.name, node.inputs
    match node:
        case Scan():
            return unit_us_of(column, node.table)
        case Project():
            expr = dict(node.columns)[name]
            if not expr.is_column and not _FIELD.fullmatch(expr.sql):
                return 0
            (name,) = expr.columns
        case Window() | Session():
            if all(known.name != name for known in node.input.schema):
                name = node.time_column
        case OverWindow() | RecentRows() | Aggregate() | MatchRecognize():
            picked = _picked_from(node, name)
            if picked is None:
                return 0
            name = picked
        case Join():
            below = tuple(
                side for side in below if any(name == known.name for known in side.schema)
            )
    units = {unit_us_in(part, Column(name, column.type)) for part in below}
    return units.pop() if len(units) == 1 else 0


def _picked_from(
    node: OverWindow | RecentRows | Aggregate | MatchRecognize, name: str
) -> str | None:
    """The column of the input that ``name`` is a value of; None where it is computed."""
    if isinstance(node, MatchRecognize):
        for look in node.looks:
            if look.output.name == name:
                seen = look.argument if look.function in _LOOKS else None
                return seen.name if seen else None
        return name
    for each in node.calls:
        if each.output.name == name:
            given = each.arguments[:1] if isinstance(each, OverCall) else (each.argument,)
            return given[0] if given and each.function in _PICKS else None
    return name


def skew_us_max_of(table: Table) -> int:
    """S11's guard of a table."""
    return parse_duration(table.option(_SKEW, "1 h"))


def require_event_time(column: Column, shown: str, span: Span) -> None:
    """Raises BindError unless ``column`` may carry a watermark (S12)."""
    if is_event_time_type(column.type):
        return
    hint = "declare it as TIMESTAMP, TIMESTAMPTZ, BIGINT or DECIMAL of at most 18 digits"
    if column.type == "VARCHAR":
        hint = f"add a computed column: rowtime AS to_timestamp({shown}), and use that"
    elif is_integer(column.type):
        hint = "declare it as BIGINT"
    raise BindError(
        f"'{shown}' is {article(column.type)}, which cannot be a time column", span.place, hint=hint
    )


def bind_strategy(binder: Binder, strategy: Scalar, column: Column, unit_us: int) -> Expr:
    """The watermark expression with the type of ``column``.

    An INTERVAL means column - interval (RFC); a number for a timestamp is milliseconds (FLIP-66);
    fractions of a unit round up, which for ``<`` is the same.
    """
    node = binder.resolve(strategy)
    given = binder.type_of(node, strategy.span)
    if given == "INTERVAL":
        node, given = _minus(binder, node, strategy, column, unit_us)
    if given == NULL_TYPE:
        node = cast(node, column.type)
    elif given != column.type:
        node = _converted(node, given, column.type, strategy)
    return binder.to_expr(node, strategy.span)


def bind_size(binder: Binder, size: Scalar, column: Column, unit_us: int, what: str) -> int:
    """A length of time, such as ``what`` (the size of the windows), in the unit of ``column``."""
    node = binder.resolve(size)
    place = size.span.place
    if node.find(exp.Column) or node.find(exp.Anonymous):
        raise BindError(f"the {what} must be a constant", place)
    given = binder.type_of(node, size.span)
    sql = sql_of(node)
    if given == "VARCHAR" and size.node.is_string:
        node, given = _text_interval(binder, size), "INTERVAL"
    if given == "INTERVAL":
        return _held(_in_units(binder, node, size, column, unit_us, what), place, what)
    if column.type.startswith("TIMESTAMP") or not is_numeric(given):
        raise BindError(
            f"the {what} is {article(given)}, expected an INTERVAL"
            + ("" if column.type.startswith("TIMESTAMP") else " or a whole number"),
            place,
            hint="write INTERVAL '1' HOUR",
        )
    value = binder.checker.integer(sql, decimal_scale(column.type) or 0)
    if value is None:
        raise BindError(f"the {what} must be whole units of the column", place)
    return _held(value, place, what)


def bind_length(
    binder: Binder, size: Scalar, column: Column, unit_us: int, what: str, hint: str = ""
) -> int:
    """As `bind_size`, of what has a length."""
    length = bind_size(binder, size, column, unit_us, what)
    if length <= 0:
        raise BindError(f"the {what} must be more than 0", size.span.place, hint=hint)
    return length


def _held(value: int, place: Position, what: str) -> int:
    """``value``, which event times can be compared with."""
    if abs(value) > END:
        raise BindError(
            f"the {what} is longer than any time: event times have 64 bits",
            place,
            hint="write it in the unit of the column",
        )
    return value


def _minus(
    binder: Binder, node: exp.Expr, strategy: Scalar, column: Column, unit_us: int
) -> tuple[exp.Expr, str]:
    reference = plan_column(column.name)
    if column.type.startswith("TIMESTAMP"):
        return exp.Sub(this=reference, expression=exp.Paren(this=node)), column.type
    if node.find(exp.Column) or node.find(exp.Anonymous):
        raise BindError(
            f"the delay of {article(column.type)} column must be a constant", strategy.span.place
        )
    units = _in_units(binder, node, strategy, column, unit_us, "delay")
    scale = decimal_scale(column.type) or 0
    amount = exp.Literal.number(units)
    scaled = exp.Div(this=amount, expression=exp.Literal.number(10**scale)) if scale else amount
    difference = exp.Sub(this=reference, expression=exp.Paren(this=scaled))
    return cast(difference, column.type), column.type


def _converted(node: exp.Expr, given: str, wanted: str, strategy: Scalar) -> exp.Expr:
    temporal = given.startswith("TIMESTAMP") or given == "DATE"
    if wanted.startswith("TIMESTAMP"):
        if temporal:
            return cast(node, wanted)
        if is_numeric(given):
            return _from_milliseconds(node, given, wanted)
    elif is_numeric(given):
        if wanted == "BIGINT" and not is_integer(given):
            node = call("ceil", node)
        return cast(node, wanted)
    allowed = f"{wanted} or an INTERVAL"
    if wanted.startswith("TIMESTAMP"):
        allowed = f"{wanted}, an INTERVAL or BIGINT milliseconds"
    raise BindError(
        f"the watermark expression is {article(given)}, expected {allowed}",
        strategy.span.place,
        hint="write it as the time column minus a delay: t - INTERVAL '5' SECOND",
    )


def _from_milliseconds(node: exp.Expr, given: str, wanted: str) -> exp.Expr:
    factor = exp.Literal.number(1000)
    if is_integer(given):
        us: exp.Expr = exp.Mul(this=exp.Paren(this=cast(node, "BIGINT")), expression=factor)
    else:
        product = exp.Mul(this=exp.Paren(this=node), expression=factor)
        us = cast(call("ceil", product), "BIGINT")
    maker = "make_timestamp" if wanted == "TIMESTAMP" else "make_timestamptz"
    return call(maker, us)


def _text_interval(binder: Binder, scalar: Scalar) -> exp.Expr:
    try:
        return intervals.text_of(scalar.node.name, binder.checker)
    except intervals.IntervalError as error:
        place = scalar.span.place
        raise BindError(str(error), place, hint=error.hint) from None


def _in_units(
    binder: Binder, node: exp.Expr, scalar: Scalar, column: Column, unit_us: int, what: str
) -> int:
    """The constant interval ``node``, which ``scalar`` is, in the unit of ``column``."""
    place = scalar.span.place
    try:
        interval = binder.checker.interval(sql_of(node))
    except TypeCheckError as error:
        hint = "write INTERVAL '1' HOUR"
        raise BindError("this is not an interval", place, detail=str(error), hint=hint) from None
    if interval is None:
        raise BindError("this interval is NULL", place)
    us = interval.fixed_us
    if us is None:
        raise BindError(
            f"the {what} has months or years, which have no fixed length",
            place,
            hint="write it in days: INTERVAL '30' DAY",
        )
    if unit_us == 0:
        raise BindError(
            f"an INTERVAL does not fit {article(column.type)} column whose unit is not known",
            place,
            hint="write a number; of a table's column, 'scan.watermark.unit' may say s, ms or us",
        )
    if us % unit_us:
        raise BindError(
            f"this INTERVAL is not a whole number of the column's units of {unit_us} microseconds",
            place,
        )
    return us // unit_us
