"""Nexmark's queries as Flink's benchmark has them, whose results change: what DuckDB says (S14).

All are one job, so that the events are read once.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import duckdb

from kits.executor import ENGINE
from nexmark.as_written import WRITTEN, in_duckdb
from nexmark.reference import one_job
from nexmark.tables import TABLES
from simulation.run import START_US
from simulation.world import Choices, World
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut

_EVENTS = 50_000
_CHOICES = Choices(rows_max=9_000, chunk_rows=3_000, actors_live_on=False, crash_probability=0.1)


def test_queries_give_what_duckdb_says() -> None:
    sources = one_job(_EVENTS).partition("CREATE SINK")[0]
    sinks = "".join(
        f"CREATE SINK {name} AS {query.select} ALLOW UNBOUNDED WITH (connector = 'blackhole');\n"
        for name, query in WRITTEN.items()
    )
    plan = cut(compile_sql(sources + sinks, "job.sql", {}), vnodes=3)
    results = World(plan, Random(1), _CHOICES, ENGINE, START_US).run()
    with duckdb.connect() as connection:
        for table, rows in TABLES.items():
            connection.register(table, rows)
        for name in WRITTEN:
            changes = [row for part in results.outputs[name] for row in part.to_pylist()]
            assert folded(changes) == Counter(connection.execute(in_duckdb(name)).fetchall()), name


def folded(changes: list[dict[str, object]]) -> Counter[tuple[object, ...]]:
    """The rows that are there at the end."""
    counts: Counter[tuple[object, ...]] = Counter()
    names = [name for name in changes[0] if name != "__op"]
    for change in changes:
        counts[tuple(change[name] for name in names)] += (
            1 if change.get("__op", 0) in (0, 3) else -1
        )
    assert min(counts.values()) >= 0, "more was taken back than was there"
    return +counts
