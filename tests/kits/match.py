"""What the tests of MATCH_RECOGNIZE share: patterns and conditions for the executor and the oracle.

Rows are ``k t v``; split and offset are added (see `over_kit`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kits.executor import expr, leaf
from kits.over import COLUMNS, HIDDEN
from oracle.match import Condition as Holds
from oracle.match import Taken, at, differ, known, less, total
from tidegate.plan.match import Condition, Look, MatchRecognize, SkipTo
from tidegate.plan.nodes import SortKey
from tidegate.plan.pattern import Alternation, Pattern, Repeat, Variable
from tidegate.plan.pattern import Sequence as Parts
from tidegate.types import Column

Values: TypeAlias = list[int | None]
V, T, K = Column("v", "BIGINT"), Column("t", "BIGINT"), Column("k", "VARCHAR")
NAMES = "ABC"


def look(function: str, variable: str = "", argument: Column | None = V, offset: int = 0) -> Look:
    """A look, under the name that it has in conditions and in the output."""
    types = {"count": "BIGINT", "sum": "DECIMAL(38,0)", "avg": "DOUBLE", "classifier": "VARCHAR"}
    type_ = types.get(function) or (argument.type if argument else "BIGINT")
    name = f"{function}_{variable}_{argument.name if argument else ''}_{offset}"
    return Look(Column(name, type_), function, variable, argument, offset)


@dataclass(frozen=True)
class Rule:
    """A condition in SQL, ``{0}``… being its looks, and what it means."""

    sql: str
    looks: tuple[Look, ...]
    meaning: Callable[[Taken, Values], bool | None]

    def of(self, variable: str) -> Condition:
        names = [each.output.name for each in self.looks]
        sql = self.sql.format(*(f'"{name}"' for name in names))
        predicate = expr(sql, "BOOLEAN", *names, *["v"] * ("v" in self.sql.split()))
        return Condition(variable, predicate, self.looks)

    def holds(self, values: Values) -> Holds:
        return lambda taken: bool(self.meaning(taken, values))


def now(taken: Taken, values: Values) -> int | None:
    return values[taken[-1][1]]


def of(taken: Taken, variable: str, values: Values) -> list[int | None]:
    """The values of the rows that ``variable`` has taken."""
    return [values[row] for name, row in taken if name == variable or not variable]


def before(taken: Taken, variable: str, offset: int, values: Values) -> int | None:
    rows = [row for name, row in taken if name == variable or not variable]
    place = rows[-1] - offset if rows else -1
    return values[place] if place >= 0 else None


RULES: Sequence[Rule] = (
    Rule("v < 5", (), lambda s, v: less(now(s, v), 5)),
    Rule("v > {0}", (look("prev", offset=1),), lambda s, v: less(before(s, "", 1, v), now(s, v))),
    Rule("v >= {0}", (look("last", "A"),), lambda s, v: not_less(now(s, v), at(of(s, "A", v), -1))),
    Rule("v > {0}", (look("first", "B"),), lambda s, v: less(at(of(s, "B", v), 0), now(s, v))),
    Rule(
        "v > {0} OR {0} IS NULL",
        (look("last", "B", offset=1),),
        lambda s, v: at(of(s, "B", v), -2) is None or less(at(of(s, "B", v), -2), now(s, v)),
    ),
    Rule("coalesce({0}, 0) < 7", (look("sum", "A"),), lambda s, v: (total(of(s, "A", v)) or 0) < 7),
    Rule("{0} <= 3", (look("count", "", None),), lambda s, _: len(s) <= 3),
    Rule("{0} < 5", (look("max", "B"),), lambda s, v: less(most(of(s, "B", v)), 5)),
    Rule("{0} >= v", (look("avg", ""),), lambda s, v: not_less(mean(of(s, "", v)), now(s, v))),
    Rule(
        "v > {0}",
        (look("prev", "A", offset=1),),
        lambda s, v: less(before(s, "A", 1, v), now(s, v)),
    ),
    Rule(
        "v <> {0}",
        (look("last", "", offset=2),),
        lambda s, v: differ(now(s, v), at(of(s, "", v), -3)),
    ),
    Rule(
        "v <> {0}",
        (look("first", "", offset=1),),
        lambda s, v: differ(now(s, v), at(of(s, "", v), 1)),
    ),
    Rule(
        "v <> {0}",
        (look("first", "A", offset=1),),
        lambda s, v: differ(now(s, v), at(of(s, "A", v), 1)),
    ),
)


UP = RULES[1]


def not_less(a: float | None, b: float | None) -> bool | None:
    return None if a is None or b is None else a >= b


def most(values: list[int | None]) -> int | None:
    return max(known(values), default=None)


def mean(values: list[int | None]) -> float | None:
    there = known(values)
    return sum(there) / len(there) if there else None


def planned(pattern: tuple[Any, ...]) -> Pattern:
    """The oracle's pattern as the plan's."""
    if len(pattern) == 1:
        return Variable(pattern[0])
    kind, *parts = pattern
    if kind == "rep":
        part, low, high, greedy = parts
        return Repeat(planned(part), low, high, greedy)
    return (Parts if kind == "seq" else Alternation)(tuple(planned(part) for part in parts))


LOOKS = (
    look("first", "", T),
    look("last", "", T),
    look("last", "A"),
    look("first", "B", V, 1),
    look("last", "B", V, 1),
    look("sum", "A"),
    look("count", "", None),
    look("count", "C"),
    look("prev", "A", V, 2),
    look("classifier", "", None),
)


def a_node(
    pattern: Pattern,
    rules: dict[str, Rule],
    within: int | None = None,
    skip: tuple[SkipTo, str] = (SkipTo.PAST_LAST, ""),
    looks: tuple[Look, ...] = LOOKS,
) -> MatchRecognize:
    """The node over ``k t v``, by k in the order of t."""
    below = leaf(COLUMNS)
    schema = (K, *(each.output for each in looks))
    conditions = tuple(rule.of(name) for name, rule in rules.items())
    return MatchRecognize(
        schema, below, ("k",), (SortKey("t"),), HIDDEN, pattern, conditions, looks, within, *skip
    )


def expected(way: Taken, key: str, times: Sequence[int], values: Values) -> tuple[Any, ...]:
    """The row of `LOOKS` of a match."""
    a, b = of(way, "A", values), of(way, "B", values)
    return (
        key, times[way[0][1]], times[way[-1][1]], at(a, -1), at(b, 1), at(b, -2), total(a),
        len(way), sum(value is not None for value in of(way, "C", values)),
        before(way, "A", 2, values), way[-1][0],
    )  # fmt: skip
