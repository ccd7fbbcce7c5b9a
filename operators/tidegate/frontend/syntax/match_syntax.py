"""Reads MATCH_RECOGNIZE (SQL:2016), its WITHIN behind the pattern as Flink has it."""

from __future__ import annotations

from typing import Final

from sqlglot.tokenizer_core import TokenType

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.ast.queries import Define, MatchRef, Measure, Name, Relation, Scalar
from tidegate.frontend.source import Span
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import parse_scalar, parse_scalars
from tidegate.frontend.syntax.order_syntax import parse_order_by
from tidegate.frontend.syntax.table_functions import parse_alias
from tidegate.plan.match import SkipTo
from tidegate.plan.pattern import Alternation, Pattern, Repeat, Sequence, Variable

_LATER: Final = {
    "^": ("anchors in a pattern are not supported", "leave it out"),
    "$": ("anchors in a pattern are not supported", "leave it out"),
    "PERMUTE": ("PERMUTE is not supported", "write the orders out: (A B | B A)"),
    "{": ("{- … -} in a pattern is not supported", "leave it out: a match is one row"),
}
_BEHIND: Final = {"PERMUTE": "(", "{": "-"}
"""What stands behind them where they mean that."""
_AN_EXAMPLE: Final = "PATTERN (A B+ C)"
_DIGITS_MAX: Final = 9


def parse_match(cursor: Cursor, start: Span, below: Relation) -> MatchRef:
    """What follows MATCH_RECOGNIZE, behind ``below``, which begins at ``start``."""
    cursor.expect("(", why="after MATCH_RECOGNIZE")
    keys: tuple[Scalar, ...] = ()
    if cursor.accept("PARTITION BY"):
        keys = parse_scalars(cursor, "a column to partition by")
    cursor.expect("ORDER BY", why="of MATCH_RECOGNIZE: a time column that has a watermark")
    order = parse_order_by(cursor)
    measures: tuple[Measure, ...] = ()
    if cursor.accept("MEASURES"):
        measures = cursor.listed(_measure)
    _take_rows(cursor)
    skip, skip_variable = _skip(cursor)
    cursor.expect("PATTERN", why=f"such as {_AN_EXAMPLE}")
    opening = cursor.expect("(", why="after PATTERN")
    names: dict[str, Name] = {}
    pattern = _alternation(cursor, names)
    cursor.expect(")", why="at the end of the pattern")
    pattern_span = opening.to(cursor.previous_span)
    within = parse_scalar(cursor, "an INTERVAL") if cursor.accept("WITHIN") else None
    if cursor.at("SUBSET"):
        raise cursor.unsupported("SUBSET is not supported", "name each variable")
    cursor.expect("DEFINE", why="and what the variables are")
    defines = cursor.listed(_define)
    cursor.expect(")", why="at the end of MATCH_RECOGNIZE (…)")
    alias = parse_alias(cursor)
    return MatchRef(
        below, keys, order, measures, skip, skip_variable, pattern, pattern_span,
        tuple(names.values()), within, defines, alias, start.to(cursor.previous_span),
    )  # fmt: skip


def variable_of(name: Name) -> str:
    """The variable that is meant: in upper case, unless it stands in quotes."""
    return name.text if name.quoted else name.text.upper()


def _measure(cursor: Cursor) -> Measure:
    is_word = cursor.at_any("FINAL", "RUNNING") and cursor.word(1) not in (".", "(", "AS")
    if is_word and not cursor.accept("FINAL"):
        raise cursor.unsupported(
            "RUNNING is not supported", "a match is one row, all of it is known then"
        )
    value = parse_scalar(cursor, "a measure")
    cursor.expect("AS", why="and the name of the measure")
    return Measure(value, cursor.name("the name of the measure"))


def _define(cursor: Cursor) -> Define:
    variable = cursor.name("a variable of the pattern")
    cursor.expect("AS", why=f"and the condition of {variable.text}")
    return Define(variable, parse_scalar(cursor, "a condition"))


def _take_rows(cursor: Cursor) -> None:
    if cursor.at("ALL", "ROWS"):
        raise cursor.unsupported(
            "ALL ROWS PER MATCH is not supported",
            "write ONE ROW PER MATCH, and what you need as MEASURES",
        )
    if cursor.accept("ONE"):
        cursor.expect("ROW", "PER", "MATCH", why="after ONE")


def _skip(cursor: Cursor) -> tuple[SkipTo, Name | None]:
    """``AFTER MATCH SKIP …``; without it, past the last row (SQL:2016, and Flink)."""
    if not cursor.accept("AFTER"):
        return SkipTo.PAST_LAST, None
    cursor.expect("MATCH", "SKIP", why="after AFTER")
    if cursor.accept("PAST"):
        cursor.expect("LAST", "ROW", why="after SKIP PAST")
        return SkipTo.PAST_LAST, None
    cursor.expect("TO", why="or PAST LAST ROW after SKIP")
    if cursor.accept("NEXT", "ROW"):
        return SkipTo.NEXT, None
    skip = SkipTo.LAST
    if cursor.word(1) != "PATTERN":  # else it is a variable's name
        skip = SkipTo.FIRST if cursor.accept("FIRST") else SkipTo.LAST
        cursor.accept("LAST")
    return skip, cursor.name("a variable of the pattern, or NEXT ROW")


def _alternation(cursor: Cursor, names: dict[str, Name]) -> Pattern:
    parts = [_sequence(cursor, names)]
    while cursor.accept("|"):
        parts.append(_sequence(cursor, names))
    return parts[0] if len(parts) == 1 else Alternation(tuple(parts))


def _sequence(cursor: Cursor, names: dict[str, Name]) -> Pattern:
    parts = [_repeated(cursor, names)]
    while not (cursor.at_end or cursor.at_any(")", "|")):
        parts.append(_repeated(cursor, names))
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def _repeated(cursor: Cursor, names: dict[str, Name]) -> Pattern:
    """A variable, or a pattern in parentheses, and how often."""
    word = cursor.word()
    if word in _LATER and cursor.word(1) == _BEHIND.get(word, cursor.word(1)):
        raise cursor.unsupported(*_LATER[word])
    if cursor.accept("("):
        part = _alternation(cursor, names)
        cursor.expect(")", why="in the pattern")
    else:
        name = cursor.name(f"a variable of the pattern, as in {_AN_EXAMPLE}")
        part = Variable(variable_of(name))
        names.setdefault(part.name, name)
    bounds = _bounds(cursor)
    if bounds is None:
        return part
    low, high, greedy = bounds
    if greedy and cursor.accept("?"):
        greedy = False
    return Repeat(part, low, high, greedy)


def _bounds(cursor: Cursor) -> tuple[int, int | None, bool] | None:
    """How often the part before the cursor is there: least, most, and whether rather more."""
    for word, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
        if cursor.accept(word):
            return least, most, True
    if cursor.accept("??"):
        return 0, 1, False
    if not (cursor.at("{") and cursor.word(1) != "-"):
        return None
    start = cursor.span
    cursor.take()
    low = _count(cursor)
    high = low
    if cursor.accept(","):
        high = _count(cursor)
    elif low is None:
        raise cursor.expected("how often, as in {2,3}")
    cursor.expect("}", why="after how often")
    if high is not None and (high < (low or 0) or high == 0):
        raise SqlSyntaxError(
            "the most that a quantifier allows is less than the least, or nothing",
            start.to(cursor.previous_span).place,
            hint="write {2,3}: at least 2, at most 3",
        )
    return low or 0, high, True


def _count(cursor: Cursor) -> int | None:
    if cursor.kind() is not TokenType.NUMBER:
        return None
    token = cursor.take()
    if not token.text.isdigit() or len(token.text) > _DIGITS_MAX:
        raise SqlSyntaxError(f"'{token.text}' is not a number of rows", cursor.previous_span.place)
    return int(token.text)
