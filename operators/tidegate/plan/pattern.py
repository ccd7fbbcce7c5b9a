"""Row patterns (SQL:2016, MATCH_RECOGNIZE), and the automaton that reads them row by row.

The automaton has a state for each place of the pattern at which a row is taken. What may follow
comes in the order of preference: of an alternation the left part first, of a greedy quantifier
another row first, of a reluctant one the end first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from tidegate.plan.nodes import quoted

ACCEPT: Final = -1
"""Among what may follow: the pattern is complete."""
STATES_MAX: Final = 1_000
STEPS_MAX: Final = 10_000
"""Of an automaton: its states, and its ways from one to the next.

``{2,5}`` stands for five copies of what is before it.
"""


@dataclass(frozen=True, slots=True)
class Variable:
    """One row, for which the variable's condition holds."""

    name: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """The parts one behind the other."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of the parts, the first ones rather."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``part`` from ``low`` to ``high`` times; None: without an end."""

    part: Pattern
    low: int
    high: int | None
    greedy: bool = True


Pattern: TypeAlias = Variable | Sequence | Alternation | Repeat
_Follow: TypeAlias = tuple[int, ...]


def variables(pattern: Pattern) -> tuple[str, ...]:
    """The names in ``pattern``, in their order, each once."""
    return tuple(dict.fromkeys(_names(pattern)))


def text(pattern: Pattern) -> str:
    """``pattern`` as SQL."""
    match pattern:
        case Variable():
            plain = pattern.name.isidentifier() and pattern.name.isupper()
            return pattern.name if plain else quoted(pattern.name)
        case Sequence():
            return " ".join(_inner(part) for part in pattern.parts)
        case Alternation():
            return " | ".join(text(part) for part in pattern.parts)
        case Repeat():
            part = text(pattern.part)
            part = part if isinstance(pattern.part, Variable) else f"({part})"
            return part + _quantifier(pattern)


def size(pattern: Pattern) -> int:
    """The number of the automaton's states."""
    match pattern:
        case Variable():
            return 1
        case Sequence() | Alternation():
            return sum(size(part) for part in pattern.parts)
        case Repeat():
            return size(pattern.part) * max(pattern.low, pattern.high or 0, 1)


def longest(pattern: Pattern) -> int | None:
    """How many rows a match may have; None: there is no end to it."""
    match pattern:
        case Variable():
            return 1
        case Repeat():
            part = longest(pattern.part)
            return None if part is None or pattern.high is None else part * pattern.high
    found = [longest(part) for part in pattern.parts]
    known = [length for length in found if length is not None]
    if len(known) < len(found):
        return None
    return sum(known) if isinstance(pattern, Sequence) else max(known)


@dataclass(frozen=True, slots=True)
class Automaton:
    """``variables[s]`` is what state s takes a row as; ``entry`` may come first, ``after[s]`` next.

    In `entry` and `after` are states, in the order of preference, or `ACCEPT`.
    """

    variables: tuple[str, ...]
    entry: _Follow
    after: tuple[_Follow, ...]

    @classmethod
    def of(cls, pattern: Pattern) -> Automaton:
        """The automaton of ``pattern``, which has at most `STATES_MAX` states."""
        builder = _Builder()
        start = builder.build(pattern, builder.add(()))
        follow = [builder.closure(builder.steps[state]) for state in builder.states]
        return cls(tuple(builder.names), builder.closure((start,)), tuple(follow))

    @property
    def steps(self) -> int:
        """The number of ways from state to state."""
        return sum(len(states) for states in (self.entry, *self.after))

    @property
    def may_be_empty(self) -> bool:
        """Whether no row at all is a match."""
        return ACCEPT in self.entry


class _Builder:
    """Nodes from which the automaton is read: those that take a row, and those that branch."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.states: list[int] = []  # nodes that take a row, by the number of their state
        self.steps: list[_Follow] = []  # where each node leads to, in the order of preference
        self._state_of: dict[int, int] = {}

    def add(self, steps: _Follow) -> int:
        self.steps.append(steps)
        return len(self.steps) - 1

    def build(self, pattern: Pattern, following: int) -> int:
        """The node at which ``pattern`` begins, if node ``following`` is behind it.

        Node 0 is the end.
        """
        match pattern:
            case Variable():
                node = self.add((following,))
                self._state_of[node] = len(self.states)
                self.states.append(node)
                self.names.append(pattern.name)
                return node
            case Sequence():
                for part in reversed(pattern.parts):
                    following = self.build(part, following)
                return following
            case Alternation():
                return self.add(tuple(self.build(part, following) for part in pattern.parts))
            case Repeat():
                return self._repeated(pattern, following)

    def closure(self, nodes: _Follow) -> _Follow:
        """What comes next at ``nodes``, the first ones rather."""
        found: dict[int, None] = {}
        seen: set[int] = set()
        open_ = list(reversed(nodes))
        while open_:
            node = open_.pop()
            if node in seen:
                continue
            seen.add(node)
            if node == 0:
                found[ACCEPT] = None
            elif node in self._state_of:
                found[self._state_of[node]] = None
            else:
                open_ += reversed(self.steps[node])
        return tuple(found)

    def _repeated(self, pattern: Repeat, following: int) -> int:
        if pattern.high is None:
            loop = self.add(())
            start = self.build(pattern.part, loop)
            self.steps[loop] = _ordered(start, following, pattern.greedy)
            begin = loop if pattern.low == 0 else start
            optional, needed = 0, max(pattern.low - 1, 0)
        else:
            begin = following
            optional, needed = pattern.high - pattern.low, pattern.low
        for _ in range(optional):
            start = self.build(pattern.part, begin)
            begin = self.add(_ordered(start, following, pattern.greedy))
        for _ in range(needed):
            begin = self.build(pattern.part, begin)
        return begin


def _ordered(again: int, following: int, greedy: bool) -> _Follow:
    return (again, following) if greedy else (following, again)


def _names(pattern: Pattern) -> Iterator[str]:
    match pattern:
        case Variable():
            yield pattern.name
        case Repeat():
            yield from _names(pattern.part)
        case _:
            for part in pattern.parts:
                yield from _names(part)


def _inner(pattern: Pattern) -> str:
    return f"({text(pattern)})" if isinstance(pattern, Alternation) else text(pattern)


def _quantifier(pattern: Repeat) -> str:
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((pattern.low, pattern.high))
    high = "" if pattern.high is None else str(pattern.high)
    exact = f"{{{pattern.low}}}" if pattern.low == pattern.high else f"{{{pattern.low},{high}}}"
    return (short or exact) + "?" * (not pattern.greedy)
