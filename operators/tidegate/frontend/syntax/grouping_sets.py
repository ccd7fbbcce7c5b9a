"""Reads GROUP BY, whose ROLLUP, CUBE and GROUPING SETS stand for several groupings at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product
from math import prod
from typing import Final, TypeAlias, TypeVar

from tidegate.errors import BindError
from tidegate.frontend.ast.queries import Scalar
from tidegate.frontend.source import Span
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import parse_scalar

SETS_MAX: Final = 64
"""Each grouping is aggregated on its own."""

Keys: TypeAlias = tuple[Scalar, ...]
_T = TypeVar("_T")


def parse_group_by(cursor: Cursor) -> tuple[Keys, tuple[Keys, ...]]:
    """All keys, and the keys of each grouping; no groupings where there is one, and it has keys.

    Raises BindError for more than `SETS_MAX` groupings.
    """
    start = cursor.span
    parts = cursor.listed(_part)
    _check(cursor, start, prod(len(part) for part in parts))
    sets = tuple(_joined(combination) for combination in product(*parts))
    keys = _joined(sets)
    return keys, sets if len(sets) > 1 or not keys else ()


def _check(cursor: Cursor, start: Span, count: int) -> None:
    if count > SETS_MAX:
        raise BindError(
            f"this GROUP BY means {count} groupings, at most {SETS_MAX} are supported",
            start.to(cursor.previous_span).place,
            hint="write those that are needed as GROUPING SETS",
        )


def _part(cursor: Cursor) -> list[Keys]:
    """The groupings for which one part of GROUP BY stands."""
    return _several(cursor) or [(_key(cursor),)]


def _several(cursor: Cursor) -> list[Keys]:
    """The groupings for which GROUPING SETS, ROLLUP or CUBE stands; none where it is another."""
    start, word = cursor.span, cursor.word()
    if cursor.accept("GROUPING", "SETS"):
        return [keys for part in _in_brackets(cursor, _part_of_sets) for keys in part]
    if word in ("ROLLUP", "CUBE") and cursor.word(1) == "(":
        cursor.take()
        parts = _in_brackets(cursor, _element)
        sizes = range(len(parts), -1, -1)
        if word == "ROLLUP":
            return [_joined(parts[:size]) for size in sizes]
        _check(cursor, start, 2 ** len(parts))
        return [_joined(some) for size in sizes for some in combinations(parts, size)]
    return []


def _key(cursor: Cursor) -> Scalar:
    return parse_scalar(cursor, "a column or an expression to group by")


def _part_of_sets(cursor: Cursor) -> list[Keys]:
    return _several(cursor) or [_element(cursor)]


def _element(cursor: Cursor) -> Keys:
    """A key, or several in brackets."""
    if not cursor.at("("):
        return (_key(cursor),)
    if cursor.accept("(", ")"):
        return ()
    return _in_brackets(cursor, _key)


def _in_brackets(cursor: Cursor, read: Callable[[Cursor], _T]) -> tuple[_T, ...]:
    cursor.expect("(")
    parts = cursor.listed(read)
    cursor.expect(")", why="at the end of the list of keys")
    return parts


def _joined(parts: Sequence[Keys]) -> Keys:
    """The keys of ``parts``, each once."""
    keys: list[Scalar] = []
    for part in parts:
        keys += [key for key in part if all(key.node != known.node for known in keys)]
    return tuple(keys)
