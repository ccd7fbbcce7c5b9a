"""Random queries over rows that change, judged by DuckDB at every barrier (S14).

    PYTHONPATH=operators:tests python -m simulation.changing [--seeds N] [--only SEED]

The oracle is DuckDB: the text of the query, over the rows that were read until the barrier. What
the job has emitted until then must fold to that table. Queries are blocks in each other, all with
the columns ``k``, ``v``, ``w``; so each block may have rows that were taken back below it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Final

import duckdb

from kits.keyed import small_merges
from oracle.changes import OP, UPDATE_BEFORE, ends_in
from simulation.change_tables import ChangeTable, Row, draw_changes
from simulation.changing_page import Cells, cells, section, write
from simulation.check import engine
from simulation.run import START_US
from simulation.world import Choices, World
from tidegate.epochs.offsets import Offset
from tidegate.epochs.targets import TO_SINK
from tidegate.frontend import compile as compile_sql
from tidegate.plan.changes import changing_key
from tidegate.plan.fragments import cut

_DEPTH: Final = 3
_TABLE: Final = """
CREATE TABLE {name} (k BIGINT, v BIGINT, w BIGINT, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH (connector = 'filesystem', path = '{path}', format = 'json');
"""
_AGGREGATES: Final = (
    "count(*)", "count(v)", "CAST(sum(v) AS BIGINT)", "min(v)", "max(w)",
    "count(DISTINCT v)", "CAST(sum(v) FILTER (WHERE w > 2) AS BIGINT)",
)  # fmt: skip
_OVERS: Final = (
    "CAST(sum(v) OVER (PARTITION BY k) AS BIGINT)",
    "count(*) OVER (PARTITION BY k, w)",
    "max(w) OVER ()",
    "lag(v) OVER (PARTITION BY k ORDER BY v, w)",
    "CAST(sum(w) OVER (PARTITION BY k ORDER BY v DESC, w) AS BIGINT)",
    "row_number() OVER (PARTITION BY k ORDER BY w DESC, v)",
    "count(v) OVER (PARTITION BY k ORDER BY w, v ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
)
_NULLS: Final = "nulls_last_on_asc_first_on_desc"
"""NULL is the largest value (S12)."""
_NOW: Final = "now()"
_BEGIN: Final = "TIMESTAMP '2026-01-01 00:00:02'"
"""When the worlds begin, or soon after."""
_NUMBERS: Final = ("row_number", "rank", "dense_rank")


@dataclass(frozen=True, slots=True)
class Spec:
    """A job: the rows of each split of each table, and the query."""

    tables: dict[str, list[list[Row]] | ChangeTable]
    query: str

    def write(self, folder: Path) -> str:
        """The job's text; its tables are written to ``folder``."""
        sql = ""
        for name, table in self.tables.items():
            path = folder / name
            if isinstance(table, ChangeTable):
                splits, declared = table.lines, table.sql(name, path)
            else:
                splits, declared = list(map(_lines, table)), _TABLE.format(name=name, path=path)
            sql += declared
            for number, lines in enumerate(splits):
                split = path / f"s{number}"
                split.mkdir(parents=True)
                (split / "0.json").write_text("".join(f"{line}\n" for line in lines))
        end = "WITH (connector = 'blackhole')"
        return sql + f"CREATE SINK s AS {self.query} ALLOW UNBOUNDED {end};"

    def answer(self, read: dict[str, list[int]], now_us: int) -> Counter[tuple[Any, ...]]:
        """What the query says of so many rows of each split, at a time."""
        with duckdb.connect() as connection:
            connection.execute(f"SET default_null_order = '{_NULLS}'")
            for name, table in self.tables.items():
                connection.execute(f"CREATE TABLE {name} (k BIGINT, v BIGINT, w BIGINT)")
                rows = _rows(table, read[name])
                if rows:
                    connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
            query = self.query.replace(_NOW, f"make_timestamp({now_us})")
            return Counter(connection.execute(query).fetchall())


def _rows(table: list[list[Row]] | ChangeTable, read: list[int]) -> list[Row]:
    """What a table holds when so many records of each split are read."""
    if isinstance(table, ChangeTable):
        return table.rows(read)
    return [row for split, count in zip(table, read, strict=True) for row in split[:count]]


def _lines(rows: list[Row]) -> list[str]:
    times = (f"2024-01-01 00:{at // 60:02}:{at % 60:02}" for at in range(len(rows)))
    values = (dict(zip("kvw", row, strict=True)) for row in rows)
    return [json.dumps({**row, "ts": time}) for row, time in zip(values, times, strict=True)]


class _Queries:
    """Draws queries, all with the columns ``k``, ``v`` and ``w``."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._blocks: tuple[Callable[[int], str], ...] = (
            self._filtered, self._grouped, self._grouped_anew, self._whole, self._distinct,
            self._first, self._first, self._over, self._joined, self._joined, self._together,
            self._limited, self._one_of_each, self._asking, self._asking, self._present,
            self._lateral,
        )  # fmt: skip

    def draw(self, depth: int) -> str:
        if depth == 0:
            return f"SELECT k, v, w FROM {self._rng.choice('ab')}"
        return self._rng.choice(self._blocks)(depth)

    def _below(self, depth: int) -> str:
        deep = self._rng.random() < 0.6
        return f"({self.draw(depth - 1 if deep else self._rng.randint(0, depth - 1))})"

    def _filtered(self, depth: int) -> str:
        condition = self._rng.choice(["v > 1", "w < 4", "k IS NOT NULL", "v <> w"])
        return f"SELECT k, v, w FROM {self._below(depth)} AS x WHERE {condition}"

    def _present(self, depth: int) -> str:
        """Rows whose time is near now, which is `_NOW` in the oracle's query."""
        rng, seconds = self._rng, self._rng.choice([0, 1, 3, 10])
        condition = rng.choice(
            [
                f"t > {_NOW} - INTERVAL '{seconds}' SECOND",
                f"t + INTERVAL '{seconds}' SECOND >= {_NOW}",
                f"t <= {_NOW} - INTERVAL '{seconds}' SECOND",
                f"{_NOW} > t",
                f"t BETWEEN {_NOW} - INTERVAL '4' SECOND AND {_NOW} - INTERVAL '{seconds}' SECOND",
                f"w > 1 AND t >= {_NOW} AND v IS NOT NULL",
            ]
        )
        time = f"{_BEGIN} + w * INTERVAL '1' SECOND"
        below = f"SELECT k, v, w, {time} AS t FROM {self._below(depth)} AS x"
        return f"SELECT k, v, w FROM ({below}) AS y WHERE {condition}"

    def _grouped(self, depth: int) -> str:
        v, w = self._rng.sample(_AGGREGATES, 2)
        having = self._rng.choice(["", "", " HAVING count(*) > 1"])
        return f"SELECT k, {v} AS v, {w} AS w FROM {self._below(depth)} AS x GROUP BY k{having}"

    def _grouped_anew(self, depth: int) -> str:
        below = self._below(depth)
        return f"SELECT v AS k, count(*) AS v, max(w) AS w FROM {below} AS x GROUP BY v"

    def _whole(self, depth: int) -> str:
        v, w = self._rng.sample(_AGGREGATES, 2)
        below = self._below(depth)
        return f"SELECT max(k) AS k, {v} AS v, {w} AS w FROM {below} AS x"

    def _distinct(self, depth: int) -> str:
        return f"SELECT DISTINCT k, v, CAST(0 AS BIGINT) AS w FROM {self._below(depth)} AS x"

    def _first(self, depth: int) -> str:
        rng = self._rng
        partition = rng.choice(["PARTITION BY k ", "PARTITION BY v ", ""])
        function = rng.choice(_NUMBERS)
        order = rng.choice(["v DESC, w", "w, v DESC", "v, w", "v"])
        if function == "row_number":
            order = rng.choice(["v DESC NULLS LAST, w, k", "v, w, k"])
        over = f"{function}() OVER ({partition}ORDER BY {order}) AS rn"
        k = rng.choice(["k", "rn AS k"])
        condition = rng.choice(["rn <= 2", "rn = 1", "rn < 4", "rn = 2", "2 >= rn"])
        grouped = depth > 1 and rng.random() < 0.4
        rows = f"({self._grouped_anew(1)})" if grouped else self._below(depth)
        below = f"SELECT *, {over} FROM {rows} AS x"
        return f"SELECT {k}, v, w FROM ({below}) AS y WHERE {condition}"

    def _limited(self, depth: int) -> str:
        rng = self._rng
        order = rng.choice(["v DESC, w, k", "w, v, k DESC", "k, v + w, w"])
        offset = rng.choice(["", "", " OFFSET 1"])
        below = f"SELECT k, v, w FROM {self._below(depth)} AS x ORDER BY {order}"
        return f"SELECT k, v, w FROM ({below} LIMIT {rng.randint(0, 4)}{offset}) AS y"

    def _one_of_each(self, depth: int) -> str:
        order = self._rng.choice(["k, v DESC, w", "k, w, v"])
        below = f"SELECT DISTINCT ON (k) k, v, w FROM {self._below(depth)} AS x ORDER BY {order}"
        return f"SELECT k, v, w FROM ({below}) AS y"

    def _over(self, depth: int) -> str:
        value = self._rng.choice(_OVERS)
        return f"SELECT k, {value} AS v, w FROM {self._below(depth)} AS x"

    def _joined(self, depth: int) -> str:
        rng = self._rng
        kind = rng.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        on = rng.choice(
            ["l.k = r.k", "l.k = r.k AND l.v < r.v", "l.k = r.v", "l.k = r.k AND l.v = r.v"]
        )
        k = rng.choice(["l.k", "r.k", "coalesce(l.k, r.k)"])
        left, right = self._below(depth), self._below(depth)
        if k == "l.k" and " < " in on and kind in ("JOIN", "LEFT JOIN"):  # of equal rows: any one
            kind = f"ASOF {kind}"
            right = f"(SELECT k, v, max(w) AS w FROM {right} AS x GROUP BY k, v)"
        return f"SELECT {k} AS k, l.v AS v, r.w AS w FROM {left} AS l {kind} {right} AS r ON {on}"

    def _asking(self, depth: int) -> str:
        rng, below, other = self._rng, self._below(depth), self._below(depth)
        no = rng.choice(["", "NOT "])
        condition = rng.choice(
            [
                f"x.k {no}IN (SELECT v FROM {other} AS y)",
                f"x.v {no}IN (SELECT v FROM {other} AS y WHERE y.k = x.k)",
                f"{no}EXISTS (SELECT 1 FROM {other} AS y WHERE y.k = x.v AND y.w < 4)",
                f"{no}EXISTS (SELECT * FROM {other} AS y WHERE x.k = y.k AND y.v > x.v)",
                f"{no}EXISTS (SELECT * FROM {other} AS y WHERE v > 2)",
                f"x.k > 1 AND x.k {no}IN (SELECT k FROM {other} AS y GROUP BY k)",
                f"{no}x.v >= (SELECT min(v) FROM {other} AS y)",
                f"x.w > (SELECT count(*) FROM {other} AS y WHERE y.k = x.k AND v < 3)",
            ]
        )
        value = rng.choice(
            [
                "v",
                "v",
                f"(SELECT max(w) FROM {other} AS y WHERE y.v = x.k) AS v",
                f"(SELECT w FROM {other} AS y WHERE y.v = x.k ORDER BY w DESC LIMIT 1) AS v",
            ]
        )
        return f"SELECT k, {value}, w FROM {below} AS x WHERE {condition}"

    def _lateral(self, depth: int) -> str:
        rng, below, other = self._rng, self._below(depth), self._below(depth)
        asked = rng.choice(
            [
                f"SELECT v, w FROM {other} AS y WHERE y.k = x.k ORDER BY v DESC, w LIMIT 2",
                f"SELECT w, v FROM {other} AS y WHERE k = x.v ORDER BY w, v LIMIT 1 OFFSET 1",
                f"SELECT v, max(w) AS w FROM {other} AS y WHERE y.k = x.k AND w < 4 GROUP BY v",
                f"SELECT v, count(*) AS w FROM {other} WHERE k = x.v GROUP BY v ORDER BY v LIMIT 2",
                f"SELECT DISTINCT v, w FROM {other} AS y WHERE x.k = y.v + 1",
            ]
        )
        join, on = rng.choice([(",", ""), (" CROSS JOIN", ""), (" LEFT JOIN", " ON true")])
        return f"SELECT x.k, z.v, z.w FROM {below} AS x{join} LATERAL ({asked}) AS z{on}"

    def _together(self, depth: int) -> str:
        word = self._rng.choice(["UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT"])
        one, *others = (self._below(depth) for _ in range(self._rng.randint(2, 3)))
        parts = [f"SELECT k, v, w FROM {part} AS x" for part in (one, *others)]
        return f" {word} ".join(parts)


def draw(seed: int) -> Spec:
    """The job of a seed."""
    rng = Random(seed)

    def row() -> Row:
        return rng.choice([None, 1, 2, 3]), rng.choice([None, 0, 1, 2, 3]), rng.randrange(6)

    tables: dict[str, list[list[Row]] | ChangeTable] = {}
    for name in "ab":
        splits = rng.randint(1, 2)
        if rng.random() < 0.5:
            tables[name] = draw_changes(rng, splits, row)
        else:
            sizes = [rng.choice([0, 1, 5, 12]) for _ in range(splits)]
            tables[name] = [[row() for _ in range(size)] for size in sizes]
    return Spec(tables, _Queries(rng).draw(rng.randint(0, _DEPTH)))


MOVING: Final = (
    (
        "SELECT l.k, l.v, r.w FROM (SELECT k, count(*) AS v FROM a GROUP BY k) AS l LEFT JOIN"
        " (SELECT v AS k, max(w) AS w FROM b GROUP BY v) AS r ON l.v = r.k"
    ),
    (
        "SELECT l.k, l.v FROM (SELECT k, max(v) AS v FROM b GROUP BY k) AS l WHERE l.v IN"
        " (SELECT k FROM a)"
    ),
    (
        "SELECT l.k, l.t FROM (SELECT k, max({begin} + w * INTERVAL '1' SECOND) AS t FROM a"
        " GROUP BY k) AS l WHERE l.t > {now} - INTERVAL '1' SECOND"
    ),
    "SELECT CAST(NULL AS BIGINT) AS k, count(*) AS v, CAST(sum(w) AS BIGINT) AS w FROM a",
)
"""Queries whose rows are told apart by what is not the key of a join: they move between actors. And
one of a row that is always there."""


def check_moving(seed: int, query: str) -> str:
    """As `check_seed`, of the tables of the seed and one of `MOVING`."""
    text = query.format(begin=_BEGIN, now=_NOW)
    spec = replace(draw(seed), query=text)
    difference = _difference(spec, seed, Counter())
    return f"seed {seed}: {text}\n{spec.tables}\n{difference}" if difference else ""


def check_seed(seed: int, counts: Cells | None = None) -> str:
    """What is wrong with the seed's job; the empty text if nothing is. Then it ``counts``."""
    spec = draw(seed)
    try:
        difference = _difference(spec, seed, Counter() if counts is None else counts)
    except Exception:
        difference = traceback.format_exc()
    return f"seed {seed}: {spec.query}\n{spec.tables}\n{difference}" if difference else ""


def _difference(spec: Spec, seed: int, counts: Cells) -> str:
    rng = Random(seed)
    with tempfile.TemporaryDirectory(prefix="tidegate-changing-") as directory, small_merges():
        plan = cut(compile_sql(spec.write(Path(directory)), "job.sql", {}), rng.choice([1, 2, 3]))
        choices = Choices.draw(rng)
        world = World(plan, rng, choices, engine(), START_US)
        last = world.run().last
    published = world.local.outputs.published[TO_SINK]
    key = changing_key(plan.job.sinks[0].input)
    rows: list[dict[str, Any]] = []
    for epoch in range(1, last.epoch + 1):
        places = sorted(place for place in published if place[0] == epoch)
        new = [row for place in places for row in published[place].to_pylist()]
        if twice := _changed_twice(new, key):
            return f"epoch {epoch} changes more than once: {twice}"
        rows += new
        found = Counter(tuple(row.values()) for row in ends_in(rows))
        planned = world.course.planned[epoch]
        wanted = spec.answer(_read(planned, spec), planned.time_us)
        if found != wanted:
            more, less = dict(found - wanted), dict(wanted - found)
            return f"after epoch {epoch} of {last.epoch}: too many {more}, missing {less}"
    counts.update(cells(plan.job, choices, plan.vnodes, world.crashes))
    return ""


def _changed_twice(rows: list[dict[str, Any]], key: tuple[str, ...] | None) -> list[Any]:
    """The rows that ``key`` tells apart, of which an epoch says more than once what becomes of
    them: a sink could take the one or the other."""
    told = [row for row in rows if row.get(OP) != UPDATE_BEFORE]
    counts = Counter(tuple(row[name] for name in key or ()) for row in told if OP in row)
    return [each for each, count in counts.items() if count > 1] if key else []


def _read(offset: Offset, spec: Spec) -> dict[str, list[int]]:
    """How many rows of each split are read at the end of an epoch."""
    found = {}
    for name, table in spec.tables.items():
        read = offset.tables.get(name, {})
        splits = table.splits if isinstance(table, ChangeTable) else table
        counts = [read.get(f"s{number}", (0,))[0] for number in range(len(splits))]
        found[name] = [count if isinstance(count, int) else 0 for count in counts]
    return found


def main() -> int:
    """Judges seeds; gives how many fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds) if given.only is None else [given.only]
    counts: Cells = Counter()
    failed = [found for seed in seeds if (found := check_seed(seed, counts))]
    print("\n\n".join(failed))
    print(f"{len(seeds)} seeds, {len(failed)} failed")
    if given.page and not failed:
        from simulation.on_spark import blocks_on_spark

        write(section(counts, len(seeds), blocks_on_spark()))
    return len(failed)


if __name__ == "__main__":
    sys.exit(bool(main()))
