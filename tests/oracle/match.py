"""MATCH_RECOGNIZE, row by row, with backtracking (SQL:2016): the first way that there is.

A pattern is a nested tuple: ``("A",)``, ``("seq", p, q)``, ``("alt", p, q)``, ``("rep", p, low,
high, greedy)``. A condition is a function of what has been taken, pairs of variable and row number
with the row being tried as the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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


def matches(
    pattern: Pattern,
    conditions: Mapping[str, Condition],
    times: Sequence[int],
    within: int | None,
    skip: tuple[str, str],
) -> list[Taken]:
    """The matches in one partition, whose rows have ``times``.

    ``skip`` is ``past``, ``next``, ``first`` or ``last``, and the variable of these two.
    """
    found, at = [], 0
    while at < len(times):

        def holds(taken: Taken, start: int = at) -> bool:
            variable, row = taken[-1]
            if row >= len(times) or (within is not None and times[row] - times[start] >= within):
                return False
            return variable not in conditions or conditions[variable](taken)

        way = next(ways(pattern, holds, at, ()), None)
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
