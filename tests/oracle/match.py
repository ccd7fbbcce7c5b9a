"""MATCH_RECOGNIZE, row by row, with backtracking (SQL:2016): the first way that there is.

A pattern is a nested tuple: ``("A",)``, ``("seq", p, q)``, ``("alt", p, q)``, ``("rep", p, low,
high, greedy)``. A condition is a function of what has been taken, pairs of variable and row number
with the row being tried as the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

Pattern: TypeAlias = tuple[Any, ...]
Taken: TypeAlias = tuple[tuple[str, int], ...]
Condition: TypeAlias = Callable[[Taken], bool]


def ways(
    pattern: Pattern, holds: Callable[[Taken], bool], at: int, taken: Taken
) -> Iterator[Taken]:
    """The ways to go through ``pattern`` with the rows from ``at`` on, preferred ones first."""
    if len(pattern) == 1:
        more = (*taken, (pattern[0], at))
        if holds(more):
            yield more
        return
    kind, *parts = pattern
    if kind == "alt":
        for part in parts:
            yield from ways(part, holds, at, taken)
    elif kind == "seq":
        yield from _sequence(parts, holds, at, taken)
    else:
        part, low, high, greedy = parts
        yield from _repeated((part, low, high, greedy), 0, holds, at, taken)


def _sequence(
    parts: Sequence[Pattern], holds: Callable[[Taken], bool], at: int, taken: Taken
) -> Iterator[Taken]:
    if not parts:
        yield taken
        return
    for way in ways(parts[0], holds, at, taken):
        yield from _sequence(parts[1:], holds, at + len(way) - len(taken), way)


def _repeated(
    repeat: tuple[Pattern, int, int | None, bool],
    count: int,
    holds: Callable[[Taken], bool],
    at: int,
    taken: Taken,
) -> Iterator[Taken]:
    part, low, high, greedy = repeat
    if not greedy and count >= low:
        yield taken
    if high is None or count < high:
        for way in ways(part, holds, at, taken):
            if len(way) > len(taken) or count < low:
                yield from _repeated(repeat, count + 1, holds, at + len(way) - len(taken), way)
    if greedy and count >= low:
        yield taken


class OpenError(Exception):
    """A row that is not known yet decides."""


def matches(
    pattern: Pattern,
    conditions: Mapping[str, Condition],
    times: Sequence[int],
    within: int | None,
    skip: tuple[str, str],
    bound: int | None = None,
) -> list[Taken]:
    """The matches in one partition, whose rows have ``times``.

    ``skip`` is ``past``, ``next``, ``first`` or ``last``, and the variable of these two. With
    ``bound`` more rows may come, at it or above: what they may change is left out.
    """
    found, at = [], 0
    while at < len(times):

        def holds(taken: Taken, start: int = at) -> bool:
            variable, row = taken[-1]
            if row >= len(times):
                if bound is None or (within is not None and bound - times[start] >= within):
                    return False
                raise OpenError
            if within is not None and times[row] - times[start] >= within:
                return False
            return variable not in conditions or conditions[variable](taken)

        try:
            way = next(ways(pattern, holds, at, ()), None)
        except OpenError:
            break
        if not way:
            at += 1
            continue
        found.append(way)
        kind, variable = skip
        rows = [row for name, row in way if name == variable]
        to = {
            "past": way[-1][1] + 1,
            "next": at + 1,
            "first": min(rows, default=0),
            "last": max(rows, default=0),
        }[kind]
        at = max(to, at + 1)
    return found


def less(a: Any, b: Any) -> bool | None:
    """SQL's ``a < b``."""
    return None if a is None or b is None else a < b


def differ(a: Any, b: Any) -> bool | None:
    """SQL's ``a <> b``."""
    return None if a is None or b is None else a != b


def at(values: Sequence[Any], place: int) -> Any:
    """One of ``values``, from either end; None where there is none."""
    return values[place] if -len(values) <= place < len(values) else None


def known(values: Sequence[Any]) -> list[Any]:
    """Those that are not NULL."""
    return [value for value in values if value is not None]


def total(values: Sequence[Any]) -> Any:
    """SQL's sum."""
    return sum(known(values)) if known(values) else None


def may_be_empty(pattern: Pattern) -> bool:
    """Whether no row at all is a match."""
    if len(pattern) == 1:
        return False
    kind, *parts = pattern
    if kind == "rep":
        return parts[1] == 0 or may_be_empty(parts[0])
    return (any if kind == "alt" else all)(may_be_empty(part) for part in parts)


def has_end(pattern: Pattern) -> bool:
    """Whether a match has so many rows at most."""
    if len(pattern) == 1:
        return True
    kind, *parts = pattern
    if kind == "rep":
        return parts[2] is not None and has_end(parts[0])
    return all(has_end(part) for part in parts)


def names_of(pattern: Pattern) -> list[str]:
    """The variables, each once."""
    if len(pattern) == 1:
        return [pattern[0]]
    kind, *parts = pattern
    inner = parts[:1] if kind == "rep" else parts
    return list(dict.fromkeys(name for part in inner for name in names_of(part)))


def random_pattern(random: Random, depth: int = 2) -> Pattern:
    """A pattern of A, B and C that has a row at least."""
    while True:
        drawn = _random(random, depth)
        if not may_be_empty(drawn):
            return drawn


def _random(random: Random, depth: int) -> Pattern:
    if depth == 0 or random.random() < 0.25:
        return (random.choice("ABC"),)
    kind = random.choice(["seq", "seq", "alt", "rep", "rep"])
    if kind == "rep":
        low = random.choice([0, 0, 1, 1, 2])
        high = random.choice([None, None, max(1, low + random.randrange(2))])
        return ("rep", _random(random, depth - 1), low, high, random.random() < 0.7)
    return (kind, *(_random(random, depth - 1) for _ in range(random.choice([2, 2, 3]))))


def sql(pattern: Pattern) -> str:
    """The words behind PATTERN."""
    if len(pattern) == 1:
        return str(pattern[0])
    kind, *parts = pattern
    if kind == "rep":
        part, low, high, greedy = parts
        short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
        bounds = short or f"{{{low},{'' if high is None else high}}}"
        return f"({sql(part)}){bounds}" + "?" * (not greedy)
    return f"({(' | ' if kind == 'alt' else ' ').join(sql(part) for part in parts)})"
