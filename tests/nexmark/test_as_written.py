"""Nexmark's queries as Flink's benchmark has them, whose results change: what DuckDB says (S14).

Names are those of our generator. All are one job, so that the events are read once.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import duckdb

from kits.executor import ENGINE
from nexmark.reference import one_job
from nexmark.tables import TABLES
from simulation.run import START_US
from simulation.world import Choices, World
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut

_EVENTS = 50_000
_PAIRS = "a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires"
QUERIES = {
    "q3": """
SELECT p.name, p.city, p.state, a.id
FROM auction AS a INNER JOIN person AS p ON a.seller = p.id
WHERE a.category = 10 AND (p.state = 'OR' OR p.state = 'ID' OR p.state = 'CA')""",
    "q4": f"""
SELECT q.category, avg(q.final) AS average
FROM (
  SELECT max(b.price) AS final, a.category FROM auction AS a, bid AS b WHERE {_PAIRS}
  GROUP BY a.id, a.category
) AS q GROUP BY q.category""",
    "q9": f"""
SELECT id, price FROM (
  SELECT a.*, b.auction, b.bidder, b.price, row_number() OVER (
    PARTITION BY a.id ORDER BY b.price DESC, b.date_time ASC) AS rownum
  FROM auction AS a, bid AS b WHERE {_PAIRS}
) AS x WHERE rownum <= 1""",
    "q18": """
SELECT bidder, auction, date_time FROM (
  SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) AS rank_number
  FROM bid
) AS x WHERE rank_number <= 1""",
    "q19": """
SELECT auction, price, rank_number FROM (
  SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid
) AS x WHERE rank_number <= 10""",
    "q20": """
SELECT b.auction, b.bidder, b.price, a.item_name, a.seller, a.category
FROM bid AS b INNER JOIN auction AS a ON b.auction = a.id WHERE a.category = 10""",
}
_CHOICES = Choices(rows_max=9_000, chunk_rows=3_000, actors_live_on=False, crash_probability=0.1)


def test_queries_give_what_duckdb_says() -> None:
    sources = one_job(_EVENTS).partition("CREATE SINK")[0]
    sinks = "".join(
        f"CREATE SINK {name} AS {query} ALLOW UNBOUNDED WITH (connector = 'blackhole');\n"
        for name, query in QUERIES.items()
    )
    plan = cut(compile_sql(sources + sinks, "job.sql", {}), vnodes=3)
    results = World(plan, Random(1), _CHOICES, ENGINE, START_US).run()
    with duckdb.connect() as connection:
        for table, rows in TABLES.items():
            connection.register(table, rows)
        for name, query in QUERIES.items():
            changes = [row for part in results.outputs[name] for row in part.to_pylist()]
            assert folded(changes) == Counter(connection.execute(query).fetchall()), name


def folded(changes: list[dict[str, object]]) -> Counter[tuple[object, ...]]:
    """The rows that are there at the end."""
    counts: Counter[tuple[object, ...]] = Counter()
    names = [name for name in changes[0] if name != "__op"]
    for change in changes:
        counts[tuple(change[name] for name in names)] += 1 if change["__op"] in (0, 3) else -1
    assert min(counts.values()) >= 0, "more was taken back than was there"
    return +counts
