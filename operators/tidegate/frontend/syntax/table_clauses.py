"""Reads what stands behind the columns of a table: ``DISTRIBUTED BY …`` and ``LIKE …``."""

from __future__ import annotations

from typing import Final, get_args

from sqlglot.tokenizer_core import TokenType

from tidegate.errors import SqlSyntaxError, did_you_mean
from tidegate.frontend.ast.queries import Name
from tidegate.frontend.ast.statements import Buckets, Feature, Like, Merging
from tidegate.frontend.syntax.cursor import Cursor

_MERGINGS: Final[tuple[Merging, ...]] = get_args(Merging)
_FEATURES: Final[tuple[Feature, ...]] = get_args(Feature)
_REPLACEABLE: Final = ("GENERATED", "METADATA", "OPTIONS", "WATERMARKS")
"""What OVERWRITING goes with."""


def take_buckets(cursor: Cursor) -> Buckets | None:
    """The clause, where it stands; without HASH it is one by hash, and either half may be alone."""
    start = cursor.span
    if not cursor.accept("DISTRIBUTED"):
        return None
    keys, count = tuple[Name, ...](), 0
    if cursor.accept("BY"):
        if cursor.at("RANGE"):
            raise cursor.unsupported(
                "DISTRIBUTED BY RANGE is not supported",
                "write DISTRIBUTED BY HASH(column) INTO n BUCKETS",
            )
        cursor.accept("HASH")
        keys = cursor.columns("with the columns that choose the bucket")
    if cursor.at("INTO") or not keys:
        cursor.expect("INTO", why="and the number of buckets")
        count = _count(cursor)
        cursor.expect("BUCKETS", why="after their number")
    return Buckets(keys, count, start.to(cursor.previous_span))


def _count(cursor: Cursor) -> int:
    text = cursor.take().text if cursor.kind() is TokenType.NUMBER else ""
    if not text.isdigit() or int(text) == 0:
        cursor.index -= bool(text)
        raise cursor.expected("the number of buckets, 1 or more")
    return int(text)


def take_like(cursor: Cursor) -> Like | None:
    """The clause, where it stands. Options of the new table win unless it says otherwise."""
    start = cursor.span
    if not cursor.accept("LIKE"):
        return None
    base = cursor.table_name("the table that this one is like")
    rules: dict[Feature, Merging] = dict.fromkeys(_FEATURES, "INCLUDING")
    rules["OPTIONS"] = "OVERWRITING"
    said: set[str] = set()
    if cursor.accept("("):
        while not cursor.at(")"):
            _take_rule(cursor, rules, said)
            cursor.accept(",")
        cursor.expect(")", why="after what is taken over")
    return Like(base, rules, start.to(cursor.previous_span))


def _take_rule(cursor: Cursor, rules: dict[Feature, Merging], said: set[str]) -> None:
    """One of the rules; ALL is about those of which nothing is said, whatever the order."""
    word = next((merging for merging in _MERGINGS if cursor.at(merging)), None)
    if word is None:
        raise cursor.expected("INCLUDING, EXCLUDING or OVERWRITING")
    cursor.take()
    place, what = cursor.span, cursor.word()
    choice = _REPLACEABLE if word == "OVERWRITING" else ("ALL", *_FEATURES)
    if what not in choice:
        hint = did_you_mean(what, choice) if what else ""
        raise cursor.expected(f"{', '.join(choice[:-1])} or {choice[-1]} after {word}", hint=hint)
    cursor.take()
    if what in said:
        raise SqlSyntaxError(f"{what} is declared twice", place.place)
    said.add(what)
    for feature in _FEATURES:
        if what == feature or (what == "ALL" and feature not in said):
            rules[feature] = word
