"""Constants that cannot be what they are cast to or compared with are errors of `check` (S15).

When a job runs, such an expression is NULL for every row: a typo in WHERE would lose all of them.
The same holds for patterns that do not compile, and zones that there are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from sqlglot import exp

from tidegate.engine.texts import DOUBLE, INTEGER, MUST, READS, ZONE
from tidegate.errors import BindError
from tidegate.frontend.expressions.functions import call, data_type, sql_of
from tidegate.frontend.expressions.scope import article
from tidegate.frontend.expressions.typecheck import (
    TypeChecker,
    TypeCheckError,
    is_integer,
    is_numeric,
)
from tidegate.frontend.source import Span
from tidegate.plan.nodes import INSTEAD_OF

TypeOf: TypeAlias = Callable[[exp.Expr], str]

_COMPARED: Final = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
)
_PATTERNS: Final = frozenset(
    {"regexp_matches", "regexp_full_match", "regexp_extract", "regexp_extract_all"}
    | {"regexp_replace", "regexp_split_to_array", "string_split_regex", "str_split_regex"}
)
"""Functions whose second argument is a regular expression."""
_TIME: Final = "TIMESTAMP '2000-01-01'"
_PROBES: Final = {
    "timezone": f"{_TIME}::TIMESTAMPTZ",
    "time_bucket": _TIME,
    **dict.fromkeys(("date_diff", "datediff", "date_sub", "datesub"), f"{_TIME}, {_TIME}"),
}
"""Functions that their first argument alone may make fail, and others that do not."""
_BEFORE: Final = "before"
"""Metadata of a node on either side of `INSTEAD_OF`."""
_WRITTEN: Final = {
    "TIMESTAMP": "'YYYY-MM-DD HH:MM:SS'",
    "TIMESTAMP WITH TIME ZONE": "'YYYY-MM-DD HH:MM:SS+00'",
    "DATE": "'YYYY-MM-DD'",
    "TIME": "'HH:MM:SS'",
    "BOOLEAN": "true or false",
}


def read(node: exp.Expr, type_of: TypeOf, checker: TypeChecker, span: Span) -> exp.Expr:
    """``node``, resolved, with its texts read as times where that is what they are used as.

    Raises BindError, at the constant, for one that cannot be what it is used as.
    """
    if isinstance(node, exp.Cast):
        return _cast(node, type_of, checker, span)
    for one, others in _compared(node):
        if _is_text(one):
            continue
        type_ = ""
        for other in filter(_is_text, others):
            type_ = type_ or type_of(one)
            if type_ in READS or is_numeric(type_) or type_ in ("BOOLEAN", "UUID"):
                other.replace(_constant(other, type_, checker, span))
    zone = _zone(node)
    if zone is not None:
        at, hint = _place(zone, span), "write one like 'Europe/Berlin' or 'UTC'"
        message = f"there is no time zone '{zone.name}'"
        if re.fullmatch(ZONE, zone.name) is None:
            raise BindError(message, at.place, hint=hint)
        sql = f"TIMESTAMPTZ '2000-01-01' AT TIME ZONE {sql_of(zone)}"
        _must_run(sql, message, hint, checker, at)
    pattern = _pattern(node)
    if pattern is not None:
        _must_run(
            f"regexp_matches('', {sql_of(pattern)})",
            *(f"'{pattern.name}' is no regular expression", "mask signs that are meant: '\\('"),
            *(checker, _place(pattern, span)),
        )
    return node


def is_constant(node: exp.Expr, checker: TypeChecker) -> bool:
    """Whether ``node``, resolved, has one value: no column, no clock, no user's code is in it."""
    varying = {"getvariable", *(function.name for function in checker.declared)}
    calls = node.find_all(exp.Anonymous)
    reads_row = node.find(exp.Column) is not None
    return not reads_row and all(call.name.lower() not in varying for call in calls)


def check_runs(node: exp.Expr, type_of: TypeOf, checker: TypeChecker, span: Span) -> None:
    """Raises BindError for a call, resolved and within its bounds, that its constants make fail."""
    if not isinstance(node, exp.Anonymous) or not node.expressions:
        return
    name, first = node.name.lower(), node.expressions[0]
    if is_constant(node, checker):
        sql = sql_of(node)
    elif name in _PROBES and len(node.expressions) > 1 and is_constant(first, checker):
        sql = f"{name}({sql_of(first)}, {_PROBES[name]})"
    else:
        return
    type_of(node)  # whose error says more
    hint = "a row would have NULL: write what it takes"
    _must_run(sql, f"{name} fails on these constants", hint, checker, span)


def _cast(node: exp.Cast, type_of: TypeOf, checker: TypeChecker, span: Span) -> exp.Expr:
    inner = node.this.unnest()
    if isinstance(inner, exp.Literal):
        type_ = type_of(node)
        if isinstance(node, exp.TryCast) and not _fits(inner, type_, checker):
            return node
        return _constant(inner, type_, checker, span, node)
    if not node.find(exp.Column) or _BEFORE in node.meta or type_of(node.this) != "VARCHAR":
        return node
    type_, is_tried = type_of(node), isinstance(node, exp.TryCast)
    if type_ in READS:
        return instead_of(node, read_time(node.this, type_, is_tried))
    text = _number(node.this, type_)
    if text is node.this:
        return node
    return instead_of(node, type(node)(this=text, to=node.args["to"]))


def instead_of(was: exp.Expr, now: exp.Expr) -> exp.Expr:
    """What is computed ``now`` where release 0.1 had ``was``."""
    was.meta[_BEFORE] = True
    now.meta[_BEFORE] = True
    return call(INSTEAD_OF, was, now)


def read_time(text: exp.Expr, type_: str, is_tried: bool) -> exp.Expr:
    """``text`` as a time: where it is none NULL if ``is_tried``, else it fails."""
    read = call(READS[type_], text.copy())
    return read if is_tried else call(MUST, text.copy(), read)


def _number(text: exp.Expr, type_: str) -> exp.Expr:
    """``text``, or a text that is no number where DuckDB's cast to ``type_`` would make it one."""
    if is_integer(type_):
        return call(INTEGER, text.copy())
    if type_ in ("DOUBLE", "FLOAT"):
        guess = exp.TryCast(this=text.copy(), to=data_type(type_))
        return call(DOUBLE, text.copy(), guess)
    return text


def _compared(node: exp.Expr) -> list[tuple[exp.Expr, list[exp.Expr]]]:
    """What stands on one side, and what it is compared with."""
    if isinstance(node, _COMPARED):
        return [(node.this, [node.expression]), (node.expression, [node.this])]
    if isinstance(node, exp.Between):
        return [(node.this, [node.args["low"], node.args["high"]])]
    if isinstance(node, exp.In):
        return [(node.this, list(node.expressions))]
    if isinstance(node, exp.Case) and node.this is not None:
        return [(node.this, [branch.this for branch in node.args["ifs"]])]
    return []


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string)


def _zone(node: exp.Expr) -> exp.Expr | None:
    """The zone that stands in ``node`` as a text."""
    if isinstance(node, exp.AtTimeZone):
        found = node.args.get("zone")
    elif isinstance(node, exp.Anonymous) and node.name.lower() == "timezone":
        found = node.expressions[0] if len(node.expressions) == 2 else None
    else:
        return None
    return found if isinstance(found, exp.Literal) and found.is_string else None


def _pattern(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.RegexpLike):
        found = node.expression
    elif isinstance(node, exp.Anonymous) and node.name.lower() in _PATTERNS:
        found = node.expressions[1] if len(node.expressions) > 1 else None
    else:
        return None
    return found if isinstance(found, exp.Literal) and found.is_string else None


def _constant(
    literal: exp.Expr,
    type_: str,
    checker: TypeChecker,
    span: Span,
    whole: exp.Expr | None = None,
) -> exp.Expr:
    """``whole``, a cast of the literal or itself, unless DuckDB would read it otherwise."""
    if not _fits(literal, type_, checker):
        hint = "write a number" if is_numeric(type_) else f"write {_WRITTEN.get(type_, 'another')}"
        shown = f"'{literal.name}'" if _is_text(literal) else literal.name
        raise BindError(f"{shown} is not {article(type_)}", _place(literal, span).place, hint=hint)
    kept = whole if whole is not None else literal.copy()
    if type_ in READS and _is_text(literal):
        text = sql_of(literal)
        same = f"TRY_CAST({text} AS {type_}) IS NOT DISTINCT FROM {READS[type_]}({text})"
        return kept if checker.is_true(same) else call(READS[type_], literal.copy())
    return kept


def _fits(literal: exp.Expr, type_: str, checker: TypeChecker) -> bool:
    if type_ in READS and _is_text(literal):
        return checker.is_true(f"{READS[type_]}({sql_of(literal)}) IS NOT NULL")
    text = _number(literal, type_) if _is_text(literal) else literal
    return checker.is_true(f"TRY_CAST({sql_of(text)} AS {type_}) IS NOT NULL")


def _must_run(sql: str, message: str, hint: str, checker: TypeChecker, at: Span) -> None:
    try:
        checker.is_true(f"({sql}) IS NOT NULL")
    except TypeCheckError as error:
        raise BindError(message, at.place, detail=str(error), hint=hint) from None


def _place(literal: exp.Expr, span: Span) -> Span:
    """Where ``literal`` stands: sqlglot keeps no places of literals, and of a call its name's."""
    text = sql_of(literal)
    start = span.source.text.find(text, span.start)
    return span if start < 0 else span.cut(start, start + len(text))
