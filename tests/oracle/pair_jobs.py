"""Random jobs over two tables: joins of every kind and UNION ALL, as SQL and as what must come out.

Used like `oracle.jobs`; `Expected` and the comparison are its own.
"""

from __future__ import annotations

from random import Random
from typing import Any

from oracle import lookup_jobs
from oracle.account import Where
from oracle.decode import Column, Table, Values, micros, value_at
from oracle.pair_spec import CONDITIONS, WORDS, PairSpec, dearer, holds, shown, with_options
from oracle.pairs import (
    JoinQuery,
    PairQuery,
    UnionCount,
    UnionQuery,
    VersionQuery,
)
from oracle.query import Windows
from oracle.splitdata import FUTURES_US, DataPlan, random_splits
from oracle.vocabulary import PAYLOAD, PREDICATES, TIME_COLUMNS, sql_type

_TRIES = 20
_KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")


def random_pair_job(
    seed: int, *, rows_max: int = 25, splits_max: int = 3, queries: int | None = None
) -> PairSpec:
    """The job of ``seed``, whose outputs and ledger are never empty.

    It has so many ``queries``, and lookups of all kinds; None: a few.
    """
    rng = Random(seed)
    while True:
        draw = _Draw(rng, rows_max, splits_max)
        spec = draw.job(f"pair-{seed}", queries)
        if _says_something(spec):
            break
    further = Random(f"lookup {seed}")  # of its own: the other draws stay what they were
    if queries is None and further.random() > 0.3:
        return spec
    kinds = [further.choice(lookup_jobs.KINDS)] if queries is None else lookup_jobs.KINDS
    for _ in range(_TRIES):  # of few rows, all of which have NULL for a key, nothing may come
        more = lookup_jobs.with_lookups(spec, further, draw.plan, kinds)
        if _says_something(more):
            return more
    return spec


def _says_something(spec: PairSpec) -> bool:
    result = spec.expected()
    return bool(result.ledger) and all(output.rows for output in result.outputs.values())


class _Draw:
    def __init__(self, rng: Random, rows_max: int, splits_max: int) -> None:
        self.rng = rng
        self.time = TIME_COLUMNS[rng.choice(["timestamp", "timestamptz", "bigint"])]
        self.bounded = rng.random() < 0.6
        self.delay_s = rng.choice([0, 1, 2, 5])
        self.table = Table("orders", (*PAYLOAD, *self.time.columns))
        self.names = ["orders"] if rng.random() < 0.15 else ["orders", "returns"]
        base_us = micros("2024-03-01 10:00:00")
        self.plan = DataPlan(self.time, self.delay_s, base_us, rows_max, splits_max, FUTURES_US[:1])

    def job(self, name: str, count: int | None) -> PairSpec:
        tables = {}
        for table in self.names:
            splits = random_splits(self.rng, self.plan)
            tables[table] = {f"{table[0]}-{split}": files for split, files in splits.items()}
        statements = [self._source(table) for table in self.names]
        queries = []
        for number in range(count or self.rng.choice([1, 1, 2, 3])):
            sides = (self.names[0], self.names[-1])
            if self.rng.random() < 0.2:
                sides = (sides[1], sides[0])
            query, text = self._query(sides)
            sink = f"sink_{number}"
            statements.append(f"CREATE SINK {sink} AS\n{text}\n{with_options(f'out/{sink}')};\n")
            queries.append((sink, query, sides))
        return PairSpec(
            name, "\n".join(statements), tables, self.table, self.time, self.delay_s,
            tuple(queries), self.bounded,
        )  # fmt: skip

    def _source(self, table: str) -> str:
        columns = [f"{c.name} {sql_type(c, 'risingwave')}" for c in self.table.columns]
        delay = self.time.shifted("-", self.delay_s, "risingwave")
        columns.append(f"WATERMARK FOR {self.time.path} AS {delay}")
        body = ",\n".join(f"  {column}" for column in columns)
        more = "" if self.bounded else ", 'source.monitor-interval' = '1 s'"
        return f"CREATE SOURCE {table} (\n{body}\n){with_options(f'in/{table}', more)};\n"

    def _query(self, sides: tuple[str, str]) -> tuple[PairQuery, str]:
        kind = self.rng.choice(
            ["window join", "interval join", "interval join", "union", "versions"]
        )
        if kind == "union":
            return self._union(sides)
        if kind == "versions":
            return self._versions(sides)
        windows = kind == "window join"
        return self._join(sides, windows and self.rng.random() < 0.8, windows)

    def _wheres(self) -> tuple[tuple[str, Where | None], tuple[str, Where | None]]:
        found = []
        for _ in range(2):
            sql, where = ("", None)
            if self.rng.random() < 0.25:
                sql, where = self.rng.choice(PREDICATES)
            found.append((f" WHERE {sql}" if sql else "", where))
        return found[0], found[1]

    def _join(
        self, sides: tuple[str, str], windows: bool, at_one_time: bool
    ) -> tuple[JoinQuery, str]:
        rng, time = self.rng, self.time.path
        kind = rng.choice(_KINDS)
        wheres = self._wheres()
        conditions = [c for c in CONDITIONS if rng.random() < 0.4]
        sliding, sources, bounds, lower, upper = None, list(sides), [], 0, 0
        if windows:
            sliding, sources = self._windows(sides)
            bounds = ["l.window_start = r.window_start", "r.window_end = l.window_end"]
        elif at_one_time:
            bounds = [f"l.{time} = r.{time}"]
        else:
            before, behind = rng.choice([(2, 0), (0, 5), (1, 3), (5, 5), (-1, 4), (20, 60)])
            lower, upper = -self.time.units(before), self.time.units(behind)
            bounds = self._bounds(before, behind)
        texts = [
            f"{'(SELECT * FROM ' + source + where + ')' if where else source} AS {alias}"
            for source, (where, _), alias in zip(sources, wheres, "lr", strict=True)
        ]
        on = [*bounds, *(sql for sql, _ in conditions)]
        rng.shuffle(on)
        if kind == "INNER" and rng.random() < 0.3:
            source = f"{texts[0]}, {texts[1]}\nWHERE {' AND '.join(on)}"
        else:
            source = f"{texts[0]}\n{WORDS.get(kind, kind)} JOIN {texts[1]}\nON {' AND '.join(on)}"
        names = [("id", "BIGINT"), ("customer", "VARCHAR"), (time, self.time.type)]
        if windows:
            names += [("window_start", self.time.type), ("window_end", self.time.type)]
        items, select = shown("l" if kind in ("SEMI", "ANTI") else "lr", names)
        emit = "\nEMIT ON WINDOW CLOSE" if rng.random() < 0.5 else ""

        def is_on(left: Values, right: Values) -> bool:
            return all(condition(left, right) is True for _, condition in conditions)

        filters = (wheres[0][1], wheres[1][1])
        query = JoinQuery(kind, time, sliding, lower, upper, is_on, select, filters)
        return query, f"SELECT {items}\nFROM {source}{emit}"

    def _versions(self, sides: tuple[str, str]) -> tuple[VersionQuery, str]:
        rng, time = self.rng, self.time.path
        kind, wheres = rng.choice(["INNER", "LEFT"]), self._wheres()
        key = rng.choice(["customer", "region"])
        left, right = (
            f"(SELECT * FROM {side}{where})" if where else side
            for side, (where, _) in zip(sides, wheres, strict=True)
        )
        on, is_on = f"r.{key} = l.{key}", holds
        if rng.random() < 0.3:
            on, is_on = f"{on} AND l.price > r.price", dearer
        type_of_key = next(column.type for column in PAYLOAD if column.name == key)
        names = [("id", "BIGINT"), (key, type_of_key), (time, self.time.type)]
        items, select = shown("lr", names)
        filters = (wheres[0][1], wheres[1][1])
        query = VersionQuery(kind, time, key, is_on, select, filters)
        joined = f"{kind} JOIN {right} FOR SYSTEM_TIME AS OF l.{time} AS r ON {on}"
        return query, f"SELECT {items}\nFROM {left} AS l\n{joined}"

    def _bounds(self, before: int, behind: int) -> list[str]:
        """``right - left`` from ``-before`` to ``behind`` seconds, in one of several spellings."""
        left, right = f"l.{self.time.path}", f"r.{self.time.path}"
        lower, upper = -self.time.units(before), self.time.units(behind)
        low, high = self._moved(left, lower), self._moved(left, upper)
        spelled = self.rng.randrange(4)
        if spelled == 0:
            return [f"{right} BETWEEN {low} AND {high}"]
        if spelled == 1:
            return [f"{right} >= {low}", f"{high} >= {right}"]
        if spelled == 2:
            back, fore = self._moved(right, -upper), self._moved(right, -lower)
            return [f"({left} BETWEEN {back} AND {fore})"]
        return [
            f"{right} > {self._moved(left, lower - 1)}",
            f"{right} < {self._moved(left, upper + 1)}",
        ]

    def _moved(self, column: str, units: int) -> str:
        """SQL: ``column`` moved by ``units`` of its own."""
        if units == 0:
            return column
        sign, length = ("-" if units < 0 else "+"), abs(units)
        if self.time.kind == "bigint":
            return f"{column} {sign} {length}"
        if length % 1_000_000:
            return f"{column} {sign} INTERVAL '{length}' MICROSECOND"
        return f"{column} {sign} INTERVAL '{length // 1_000_000}' SECOND"

    def _windows(self, sides: tuple[str, str]) -> tuple[Windows, list[str]]:
        size_s, step_s = self.rng.choice([(2, 0), (10, 0), (10, 5)])
        lengths = [self.time.size(each) for each in (step_s, size_s) if each]
        word = "HOP" if step_s else "TUMBLE"
        texts = [f"{word}({side}, {self.time.path}, {', '.join(lengths)})" for side in sides]
        kind = word.lower()
        return Windows(kind, self.time.units(size_s), self.time.units(step_s)), texts

    def _union(self, sides: tuple[str, str]) -> tuple[PairQuery, str]:
        time, wheres = self.time.path, self._wheres()
        columns = [Column(time, self.time.type), *PAYLOAD[:3]]
        names = ", ".join(column.name for column in columns)
        parts = [
            f"SELECT {names} FROM {side}{where}"
            for side, (where, _) in zip(sides, wheres, strict=True)
        ]
        text = "\nUNION ALL\n".join(parts)
        select = tuple((column, _value(column.name)) for column in columns)
        filters = (wheres[0][1], wheres[1][1])
        ordered = sides[0] != sides[1] and self.rng.random() < 0.4
        union = UnionQuery(time, select, filters, ordered)
        if ordered:
            return union, f"{text}\nORDER BY {time}\nEMIT ON WINDOW CLOSE"
        if self.rng.random() < 0.3:
            return union, text
        windows, (window, _) = self._windows((f"({text})", ""))
        aggregates = f"count(*) AS n, sum(region) AS regions, first_value(id ORDER BY {time})"
        return UnionCount(union, windows, self.time.type), (
            f"SELECT window_start, window_end, {aggregates} AS first_id\nFROM {window}\n"
            "GROUP BY window_start, window_end\nEMIT ON WINDOW CLOSE"
        )


def _value(name: str) -> Any:
    return lambda row: value_at(row, name)
