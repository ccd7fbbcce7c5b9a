"""Bounds on what one call may cost: work and memory follow from the size of a row, not its values.

A row of ten kilobytes may ask `levenshtein` for a hundred million steps, and one number asks `lpad`
for two gigabytes. DuckDB is not interrupted within a row, and a bound in seconds would make results
depend on the machine (S6): so the bound is a condition on the arguments. A row that does not meet
it has NULL, as where an expression fails. What constants decide is decided by `check`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from sqlglot import exp

from tidegate.engine.texts import ZONE
from tidegate.errors import BindError
from tidegate.frontend.expressions.constants import is_constant
from tidegate.frontend.expressions.functions import data_type, sql_of
from tidegate.frontend.expressions.typecheck import TypeChecker, TypeCheckError
from tidegate.frontend.source import Source, Span
from tidegate.frontend.syntax.dialect import cursor_over, parse_scalar
from tidegate.types import Schema


@dataclass(frozen=True, slots=True)
class Guard:
    """``condition``, over the arguments ``a0``, ``a1``, …, which means: at most ``bound``.

    Calls with fewer arguments than ``fewest``, or than the condition reads, go without.
    """

    condition: str
    bound: str
    fewest: int = 1


_PADDED: Final = Guard("a1 <= 100000", "a length of 100,000 characters")
_COMPARED: Final = Guard(
    "CAST(length(a0) AS DOUBLE) * length(a1) <= 1000000",
    "a product of the texts' lengths of 1,000,000 characters",
)
_REPLACED: Final = Guard(
    "strlen(a2) <= 16 OR CAST(strlen(a0) AS DOUBLE) * strlen(a2) <= 10000000",
    "a new text of 16 bytes, or a product of its length and the whole one's of 10,000,000 bytes",
)
_JOINED: Final = Guard(
    "strlen(a1) <= 16 OR CAST(len(a0) AS DOUBLE) * strlen(a1) <= 10000000",
    "a separator of 16 bytes, or a product of its length and the list's of 10,000,000 bytes",
)
_SELECTED: Final = Guard(
    "CAST(strlen(CAST(a0 AS VARCHAR)) AS DOUBLE) * len(a1) <= 10000000",
    "a product of the list's bytes and the number of places of 10,000,000",
)
_PATTERN: Final = Guard("strlen(a1) <= 1000", "a pattern of 1,000 bytes")
_FORMAT: Final = Guard(
    r"NOT regexp_matches(a0, '[0-9]{4}|\*|\{[^}]*\{')",
    "widths of 999, none of which is an argument",
)
_MERGED: Final = Guard(
    "CAST(strlen(a0) AS DOUBLE) * strlen(a1) <= 100000000",
    "a product of the texts' lengths of 100,000,000 bytes",
)
_NESTED: Final = Guard(
    "CAST(strlen(a0) - strlen(translate(a0, '[{', '')) AS DOUBLE)"
    " * (1 + strlen(a1) - strlen(translate(a1, '[{', ''))) <= 10000",
    "a product of the texts' numbers of opening brackets and braces of 10,000",
)
_IS_ZONE: Final = (
    "strlen(CAST({0} AS VARCHAR)) <= 50"
    f" AND (typeof({{0}}) <> 'VARCHAR' OR regexp_full_match(CAST({{0}} AS VARCHAR), '{ZONE}'))"
)
_ZONE: Final = "a zone's name of 50 bytes, such as 'Europe/Berlin'"
GUARDS: Final[dict[str, Guard]] = {
    "lpad": _PADDED,
    "rpad": _PADDED,
    "repeat": Guard(
        "a1 <= 1 OR CAST(strlen(CAST(a0 AS VARCHAR)) AS DOUBLE) * a1 <= 100000",
        "a result of 100,000 bytes",
    ),
    "array_select": _SELECTED,
    "list_select": _SELECTED,
    "concat_ws": Guard("strlen(a0) <= 1000", "a separator of 1,000 bytes"),
    "levenshtein": _COMPARED,
    "editdist3": _COMPARED,
    "damerau_levenshtein": _COMPARED,
    "jaro_similarity": _COMPARED,
    "jaro_winkler_similarity": _COMPARED,
    "replace": _REPLACED,
    "regexp_replace": Guard(
        f"strlen(a1) <= 1000 AND ({_REPLACED.condition})", f"{_PATTERN.bound}, {_REPLACED.bound}"
    ),
    "array_to_string": _JOINED,
    "list_string_agg": _JOINED,
    "regexp_extract": _PATTERN,
    "regexp_extract_all": _PATTERN,
    "regexp_full_match": _PATTERN,
    "regexp_matches": _PATTERN,
    "regexp_split_to_array": _PATTERN,
    "str_split_regex": _PATTERN,
    "string_split_regex": _PATTERN,
    "format": _FORMAT,
    "printf": _FORMAT,
    "json_deep_merge": _MERGED,
    "json_merge_patch": _MERGED,
    "json_merge_patch_diff": _MERGED,
    "json_contains": _NESTED,
    "timezone": Guard(_IS_ZONE.format("a0"), _ZONE, fewest=2),
    "time_bucket": Guard(_IS_ZONE.format("a2"), _ZONE),
}
"""By function. Every one of `allowlist` that the fuzz test found to need one."""


def guarded(node: exp.Expr, checker: TypeChecker, schema: Schema, span: Span) -> exp.Expr:
    """``node``, resolved, with NULL where its arguments pass the bound of what it calls.

    Raises BindError where constants do.
    """
    name, arguments = _called(node)
    guard = GUARDS.get(name)
    if guard is None:
        return node
    condition = _condition(guard.condition)
    wanted = {int(column.name[1:]) for column in condition.find_all(exp.Column)}
    if len(arguments) < max(guard.fewest, *(at + 1 for at in wanted)):
        return node
    try:
        checker.type_of(sql_of(node), schema)
    except TypeCheckError:
        return node  # an error of its types
    known = {at: _value(arguments[at], checker, schema) for at in wanted}
    try:
        truth = checker.truth(sql_of(_filled(condition, known)))
    except TypeCheckError as error:
        raise BindError(
            f"{name} has no bound for these types",
            span.place,
            detail=str(error),
            hint="cast them to STRING",
        ) from None
    if truth is None:
        given: dict[int, exp.Expr] = {at: exp.Paren(this=arguments[at]) for at in wanted}
        fails = exp.Is(this=exp.Paren(this=_filled(condition, given)), expression=exp.false())
        return exp.Paren(this=exp.Case(ifs=[exp.If(this=fails, true=exp.Null())], default=node))
    if not truth:
        raise BindError(
            f"{name} asks for more than it may",
            span.place,
            hint=f"it takes at most {guard.bound}",
        )
    return node


def _called(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    if isinstance(node, exp.RegexpLike | exp.RegexpILike):
        return "regexp_matches", [node.this, node.expression]
    if isinstance(node, exp.AtTimeZone):
        return "timezone", [node.args["zone"], node.this]
    if isinstance(node, exp.Anonymous):
        return node.name.lower(), list(node.expressions)
    return "", []


@cache
def _condition(text: str) -> exp.Expr:
    return parse_scalar(cursor_over(Source("", text).whole)).node


def _filled(condition: exp.Expr, values: Mapping[int, exp.Expr]) -> exp.Expr:
    def filled(part: exp.Expr) -> exp.Expr:
        return values[int(part.name[1:])].copy() if isinstance(part, exp.Column) else part

    return condition.copy().transform(filled)


def _value(argument: exp.Expr, checker: TypeChecker, schema: Schema) -> exp.Expr:
    """A constant, or NULL of the type of what rows decide: a bound that needs it is unknown."""
    if is_constant(argument, checker):
        return exp.Paren(this=argument)
    type_ = checker.type_of(sql_of(argument), schema)
    return exp.cast(exp.Null(), data_type(type_))
