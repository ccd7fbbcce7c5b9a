"""Says what to write where the types of an operation do not fit."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from tidegate.errors import did_you_mean
from tidegate.frontend.expressions.functions import sql_of
from tidegate.frontend.expressions.scope import article
from tidegate.frontend.expressions.typecheck import TypeChecker, TypeCheckError, is_numeric
from tidegate.types import Schema

_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def explained(node: exp.Expr, checker: TypeChecker, schema: Schema) -> tuple[str, str]:
    """What is wrong with the operands of ``node``, and what to write; empty for other nodes."""
    if not isinstance(node, exp.Binary):
        return "", ""
    try:
        left, right = (
            checker.type_of(sql_of(side), schema) for side in (node.this, node.expression)
        )
    except TypeCheckError:
        return "", ""
    if isinstance(node, exp.Add | exp.Sub) and right == "INTERVAL":
        return _with_interval(node, left, checker)
    temporal = [type_ for type_ in (left, right) if type_.startswith("TIMESTAMP")]
    if isinstance(node, exp.Add | exp.Sub) and left in temporal and right == "VARCHAR":
        return (
            "a text is neither added to nor taken from a time",
            "write an interval: INTERVAL '5' SECOND",
        )
    numbers = [type_ for type_ in (left, right) if is_numeric(type_)]
    if isinstance(node, _COMPARISONS) and temporal and numbers:
        number = node.this if is_numeric(left) else node.expression
        return (
            f"{article(numbers[0])} is not compared with a time",
            f"convert it: TO_TIMESTAMP_LTZ({_shown(number)}, 3) takes milliseconds",
        )
    return "", ""


def _with_interval(node: exp.Binary, type_: str, checker: TypeChecker) -> tuple[str, str]:
    sign = "-" if isinstance(node, exp.Sub) else "+"
    name = _shown(node.this)
    verb = "taken from" if sign == "-" else "added to"
    message = f"an INTERVAL cannot be {verb} {article(type_)}"
    if type_ == "VARCHAR":
        return message, f"convert the text: to_timestamp({name})"
    if not is_numeric(type_):
        return "", ""
    hint = f"compute a time: TO_TIMESTAMP_LTZ({name}, 3) takes milliseconds"
    units = _milliseconds(node.expression, checker)
    if units is not None:
        hint = f"write {name} {sign} {units} where it counts milliseconds; or {hint}"
    return message, hint


def _milliseconds(node: exp.Expr, checker: TypeChecker) -> int | None:
    if node.find(exp.Column, exp.Anonymous):
        return None
    try:
        interval = checker.interval(sql_of(node))
    except TypeCheckError:
        return None
    us = interval.fixed_us if interval else None
    return None if us is None or us % 1000 else us // 1000


def _shown(node: exp.Expr) -> str:
    return node.name if isinstance(node, exp.Column) else "…"


def of_part(message: str) -> tuple[str, str]:
    """Why, and what to do, where DuckDB's ``message`` is about a part of a time; else empty."""
    found = _UNKNOWN_PART.search(message)
    if found is None:
        return "", ""
    near = did_you_mean(found[1].lower(), _PARTS, parts=False)
    return f"'{found[1]}' is no part of a time", near


_UNKNOWN_PART: Final = re.compile(r'specifier "([^"]*)" not recognized')
_PARTS: Final = (
    *("century", "day", "decade", "dow", "doy", "epoch", "hour", "isodow", "isoyear", "millennium"),
    *("microsecond", "millisecond", "minute", "month", "quarter", "second", "week", "year"),
)
