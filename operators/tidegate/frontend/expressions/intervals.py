"""Reads interval constants: every usual spelling becomes one that DuckDB computes exactly.

DuckDB reads a text such as ``'1.5 hours'`` well, but cuts ``INTERVAL '1.5' HOUR`` to one hour, and
knows neither ``HOUR TO MINUTE`` nor precisions. So constants are read here, as texts, and written
as whole units; an interval that is already one whole number of a plain unit stays as it is.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from tidegate.errors import did_you_mean
from tidegate.frontend.expressions.typecheck import Interval, TypeChecker, TypeCheckError

_UNITS: Final = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_PLAIN: Final = frozenset(
    f"{unit}{plural}"
    for unit in (*_UNITS, "WEEK", "QUARTER", "MILLISECOND", "MICROSECOND")
    for plural in ("", "S")
)
_LIMITS: Final = {"MONTH": 12, "HOUR": 24, "MINUTE": 60, "SECOND": 60}
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_DAYS_AND_TIME: Final = re.compile(r"(?P<sign>[+-]?)(?P<days>\d+) +(?P<time>\d+:[\d:.]+)")
_HINT: Final = "write INTERVAL '5' MINUTE or INTERVAL '1 hour 30 minutes'"


class IntervalError(ValueError):
    """The text is no interval; ``hint`` says how to write one."""

    def __init__(self, message: str, hint: str = _HINT) -> None:
        super().__init__(message)
        self.hint = hint


def normal(node: exp.Interval, checker: TypeChecker) -> exp.Expr:
    """``node`` as DuckDB should compute it. Raises IntervalError for a constant that is none."""
    unit = node.args.get("unit")
    text = _constant(node.this)
    if text is None:
        if not isinstance(unit, exp.Expr) or isinstance(unit, exp.IntervalSpan):
            raise IntervalError("this is not an interval", "write x * INTERVAL '1' MINUTE")
        one = exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this=_word(unit)))
        amount = node.this if isinstance(node.this, exp.Paren) else exp.Paren(this=node.this)
        return exp.Paren(this=exp.Mul(this=amount, expression=normal(one, checker)))
    interval = _read(text, unit, checker)
    if re.fullmatch(r"\d+", text) and isinstance(unit, exp.Var) and unit.name.upper() in _PLAIN:
        return exp.Interval(this=exp.Literal.string(text), unit=unit.copy())
    return literal(interval)


def text_of(text: str, checker: TypeChecker) -> exp.Expr:
    """The interval that stands in a text alone, such as ``'5 minutes'``. Raises IntervalError."""
    return literal(_read(text, None, checker))


def literal(interval: Interval) -> exp.Expr:
    """A constant interval in SQL, to the microsecond."""
    parts = {"months": interval.months, "days": interval.days, "microseconds": interval.us}
    given = [f"{amount} {unit}" for unit, amount in parts.items() if amount]
    return exp.Interval(this=exp.Literal.string(" ".join(given) or "0 days"))


def _constant(node: exp.Expr) -> str | None:
    """A number or text constant, perhaps in parentheses or with a sign."""
    match node:
        case exp.Literal():
            return str(node.name).strip()
        case exp.Paren():
            return _constant(node.this)
        case exp.Neg():
            inner = _constant(node.this)
            return None if inner is None or inner.startswith(("-", "+")) else f"-{inner}"
    return None


def _read(text: str, unit: exp.Expr | None, checker: TypeChecker) -> Interval:
    if isinstance(unit, exp.IntervalSpan):
        wanted = _of_span(text, _word(unit.this), _word(unit.expression))
    elif unit is not None:
        word = _word(unit)
        if not _NUMBER.fullmatch(text):
            raise IntervalError(f"'{text}' is not a number of {word}")
        sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
        wanted = f"{'-' * (sign == '-')}{'0' * digits.startswith('.')}{digits} {word}"
    else:
        wanted = _DAYS_AND_TIME.sub(r"\g<sign>\g<days> days \g<sign>\g<time>", text)
    try:
        found = checker.interval(f"'{wanted.replace(chr(39), chr(39) * 2)}'")
    except TypeCheckError:
        found = None
    if found is None:
        near = did_you_mean(_word(unit), _PLAIN, parts=False) if unit else ""
        raise IntervalError(
            f"'{text}' is not an interval" + (f" of {_word(unit)}" if unit else ""),
            near if near.startswith("did") else _HINT,
        )
    return found


def _of_span(text: str, first: str, last: str) -> str:
    """``'01:30' HOUR TO MINUTE`` as ``1 HOUR 30 MINUTE``."""
    span = f"{first} TO {last}"
    known = [unit for unit in _UNITS if unit in (first, last)]
    months = {"YEAR", "MONTH"}
    if known != [first, last] or len(months & {first, last}) == 1:
        raise IntervalError(f"there are no intervals {span}")
    units = _UNITS[_UNITS.index(first) : _UNITS.index(last) + 1]
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    example = {"YEAR": "1-6", "DAY": "1 02", "HOUR": "01", "MINUTE": "01"}[first]
    example += "".join(":30" for unit in units if unit in ("MINUTE", "SECOND") and unit != first)
    parts = re.split(r"[-: ]", digits)
    separators = re.sub(r"[\d.]", "", digits)
    wanted = re.sub(r"[\d.]", "", example)
    if separators != wanted or not all(_NUMBER.fullmatch(part) for part in parts):
        raise IntervalError(
            f"'{text}' is not an interval {span}", f"write INTERVAL '{example}' {span}"
        )
    for unit, part in list(zip(units, parts, strict=True))[1:]:
        if float(part) >= _LIMITS[unit]:
            raise IntervalError(
                f"'{text}' has {part} for {unit}, which ends at {_LIMITS[unit] - 1}",
                f"write INTERVAL '{example}' {span}",
            )
    minus = "-" * (sign == "-")
    return " ".join(f"{minus}{part} {unit}" for unit, part in zip(units, parts, strict=True))


def _word(unit: exp.Expr | None) -> str:
    """The unit without its precision: ``SECOND(3)`` is SECOND."""
    return "" if unit is None else unit.name.upper()
