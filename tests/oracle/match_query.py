"""MATCH_RECOGNIZE over the accepted rows (see `match`), and random ones with their SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from oracle.account import Where
from oracle.decode import Column, Row, Values, value_at
from oracle.match import (
    Pattern,
    Taken,
    at,
    differ,
    has_end,
    known,
    less,
    matches,
    names_of,
    random_pattern,
    sql,
    total,
)
from oracle.query import Expression, Output
from oracle.vocabulary import TimeColumn

Rows: TypeAlias = Sequence[Values]
Rule: TypeAlias = Callable[[Taken, Rows], "bool | None"]


def _taken(taken: Taken, rows: Rows, variable: str, column: str) -> list[Any]:
    """The values of the rows that ``variable`` has taken; of all where it is empty."""
    return [rows[row][column] for name, row in taken if variable in ("", name)]


def _now(taken: Taken, rows: Rows, column: str) -> Any:
    return rows[taken[-1][1]][column]


def _before(taken: Taken, rows: Rows, column: str) -> Any:
    row = taken[-1][1]
    return rows[row - 1][column] if row else None


_RULES: Sequence[tuple[str, str, Rule]] = (
    ("{v}.price > 40", "", lambda t, r: less(40, _now(t, r, "price"))),
    ("region > 1", "", lambda t, r: less(1, _now(t, r, "region"))),
    (
        "{v}.price > PREV({v}.price)",
        "",
        lambda t, r: less(_before(t, r, "price"), _now(t, r, "price")),
    ),
    (
        "price < LAST(price, 1)",
        "",
        lambda t, r: less(_now(t, r, "price"), at(_taken(t, r, "", "price"), -2)),
    ),
    (
        "{v}.price >= A.price OR {v}.flag",
        "A",
        lambda t, r: (
            _now(t, r, "flag") is True
            or less(_now(t, r, "price"), at(_taken(t, r, "A", "price"), -1)) is False
        ),
    ),
    (
        "FIRST(B.region) <> {v}.region",
        "B",
        lambda t, r: differ(at(_taken(t, r, "B", "region"), 0), _now(t, r, "region")),
    ),
    (
        "SUM(A.region * 2) < 9",
        "A",
        lambda t, r: less(_double(total(_taken(t, r, "A", "region"))), 9),
    ),
    ("COUNT(*) <= 3", "", lambda t, _: len(t) <= 3),
    (
        "MAX(C.price) < 90 AND COUNT(C.flag) < 3",
        "C",
        lambda t, r: (
            less(max(known(_taken(t, r, "C", "price")), default=None), 90) is True
            and len(known(_taken(t, r, "C", "flag"))) < 3
        ),
    ),
)
"""Conditions of a variable ``{v}``, the variable that they need besides, and what they mean."""


def _double(value: Any) -> Any:
    return None if value is None else 2 * value


def _first_id(taken: Taken, rows: Rows) -> Any:
    """The id of a match's first row."""
    return rows[taken[0][1]]["id"]


def _two_before(taken: Taken, rows: Rows) -> Any:
    of_a = [row for name, row in taken if name == "A"]
    return rows[of_a[-1] - 2]["customer"] if of_a and of_a[-1] >= 2 else None


_MEASURES: Sequence[tuple[str, str, Column, Callable[[Taken, Rows], Any]]] = (
    ("LAST(A.id)", "A", Column("last_a", "BIGINT"), lambda t, r: at(_taken(t, r, "A", "id"), -1)),
    ("FIRST(B.id, 1)", "B", Column("b_1", "BIGINT"), lambda t, r: at(_taken(t, r, "B", "id"), 1)),
    ("id", "", Column("id", "BIGINT"), lambda t, r: _now(t, r, "id")),
    ("FIRST(id) + 1", "", Column("one", "BIGINT"), lambda t, r: _first_id(t, r) + 1),
    (
        "SUM(C.price)",
        "C",
        Column("total", "DECIMAL(38,2)"),
        lambda t, r: total(_taken(t, r, "C", "price")),
    ),
    ("COUNT(*)", "", Column("many", "BIGINT"), lambda t, _: len(t)),
    ("COUNT(A.*)", "A", Column("as_a", "BIGINT"), lambda t, r: len(_taken(t, r, "A", "id"))),
    ("CLASSIFIER()", "", Column("ended", "VARCHAR"), lambda t, _: t[-1][0]),
    (
        "PREV(A.customer, 2)",
        "A",
        Column("earlier", "VARCHAR"),
        _two_before,
    ),
)


@dataclass(frozen=True)
class MatchQuery:
    """A row for each match: ``keys``, the times of its first and last row, then ``measures``."""

    time: str
    keys: tuple[tuple[Column, Expression], ...]
    pattern: Pattern
    rules: Mapping[str, Rule]
    within: int | None
    skip: tuple[str, str]
    measures: tuple[tuple[Column, Callable[[Taken, Rows], Any]], ...]
    time_type: str
    where: Where | None = None

    @property
    def filter(self) -> Where | None:
        """What keeps a row from being used (S7)."""
        return self.where

    @property
    def columns(self) -> tuple[Column, ...]:
        """What it gives."""
        times = (Column("began", self.time_type), Column("over", self.time_type))
        measured = tuple(column for column, _ in self.measures)
        return (*(column for column, _ in self.keys), *times, *measured)

    def run(self, rows: Sequence[Row], watermark: int | None, bounded: bool) -> Output:
        """The output for accepted ``rows``; of an unbounded job, what nothing changes any more."""
        partitions: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows:
            is_known = bounded or (watermark is not None and self._at(row) < watermark)
            if is_known and (self.where is None or self.where(row.values) is True):
                key = tuple(expression(row.values) for _, expression in self.keys)
                partitions.setdefault(key, []).append(row)
        bound = None if bounded else watermark
        found = [row for key, part in partitions.items() for row in self._of(key, part, bound)]
        return Output(self.columns, found)

    def _of(self, key: tuple[Any, ...], rows: list[Row], bound: int | None) -> list[Values]:
        rows = sorted(rows, key=lambda row: (self._at(row), row.split, row.offset))
        times, values = [self._at(row) for row in rows], [row.values for row in rows]
        holds = {
            name: (lambda taken, rule=rule: rule(taken, values) is True)
            for name, rule in self.rules.items()
        }
        found = []
        for way in matches(self.pattern, holds, times, self.within, self.skip, bound):
            result = dict(zip((column.name for column, _ in self.keys), key, strict=True))
            result |= {"began": times[way[0][1]], "over": times[way[-1][1]]}
            result |= {column.name: measure(way, values) for column, measure in self.measures}
            found.append(result)
        return found

    def _at(self, row: Row) -> int:
        time = value_at(row.values, self.time)
        assert isinstance(time, int), "the filter lets no NULL time pass"
        return time


def random_match(
    random: Random, time: TimeColumn, source: str, keys: Sequence[tuple[Column, Expression]]
) -> tuple[MatchQuery, str]:
    """A query over ``source``, and what stands in FROM for it."""
    pattern = random_pattern(random)
    names = names_of(pattern)

    def fits(needed: str) -> bool:
        return not needed or needed in names

    rules = {}
    for name in names:
        if random.random() < 0.85:
            rules[name] = random.choice([rule for rule in _RULES if fits(rule[1])])
    name = random.choice(names)
    skip, words = random.choice(
        [
            (("past", ""), ""),
            (("past", ""), "AFTER MATCH SKIP PAST LAST ROW"),
            (("next", ""), "AFTER MATCH SKIP TO NEXT ROW"),
            (("first", name), f"AFTER MATCH SKIP TO FIRST {name}"),
            (("last", name), f"AFTER MATCH SKIP TO LAST {name}"),
            (("last", name), f"AFTER MATCH SKIP TO {name}"),
        ]
    )
    seconds = random.choice([None, 2, 10, 60])
    fitting = [each for each in _MEASURES if fits(each[1])]
    measures = random.sample(fitting, min(3, len(fitting)))
    defined = [f"{name} AS {rule[0].format(v=name)}" for name, rule in rules.items()]
    defined = defined or [f"{names[0]} AS true"]
    measured = [
        f"FIRST({time.path}) AS began",
        f"LAST({time.path}) AS over",
        *(f"{text} AS {column.name}" for text, _, column, _ in measures),
    ]
    parts = [
        f"PARTITION BY {', '.join(column.name for column, _ in keys)}" if keys else "",
        f"ORDER BY {time.path}",
        f"MEASURES {', '.join(measured)}",
        "ONE ROW PER MATCH" if random.random() < 0.5 else "",
        words,
        f"PATTERN ({sql(pattern)})",
        "" if seconds is None else f"WITHIN {time.size(seconds)}",
        f"DEFINE {', '.join(defined)}",
    ]
    text = "\n  ".join(part for part in parts if part)
    query = MatchQuery(
        time.path,
        tuple(keys),
        pattern,
        {name: rule[2] for name, rule in rules.items()},
        None if seconds is None else time.units(seconds),
        skip,
        tuple((column, measure) for _, _, column, measure in measures),
        time.type,
    )
    return query, f"{source} MATCH_RECOGNIZE (\n  {text}\n)"


def grows(query: MatchQuery) -> bool:
    """Whether a match may go on for ever."""
    return query.within is None and not has_end(query.pattern)
