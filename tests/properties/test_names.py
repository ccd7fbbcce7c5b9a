"""State is called alike wherever a statement stands in its file, whatever its sink is called."""

from __future__ import annotations

from random import Random

import pytest

from kits.actor import TABLES
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut

_FILES = "WITH (connector = 'filesystem', path = '/o') FORMAT PLAIN ENCODE JSON;\n"
_QUERIES = (
    (
        "SELECT window_end, count(*) AS n FROM TUMBLE(marked, t, 10)"
        " GROUP BY window_end EMIT ON WINDOW CLOSE"
    ),
    (
        "SELECT window_end, v, sum(t) AS s FROM HOP(marked, t, 10, 30) WHERE v > 1"
        " GROUP BY window_end, v EMIT ON WINDOW CLOSE"
    ),
    "SELECT t, v FROM marked ORDER BY t EMIT ON WINDOW CLOSE",
    "SELECT t, v, lag(v) OVER (PARTITION BY v ORDER BY t) AS w FROM marked EMIT ON WINDOW CLOSE",
    (
        "SELECT window_start, window_end, v, count(*) AS n"
        " FROM SESSION(marked PARTITION BY v, t, 5)"
        " GROUP BY window_start, window_end, v EMIT ON WINDOW CLOSE"
    ),
    (
        "SELECT a.t, a.v FROM marked AS a JOIN marked AS b ON a.v = b.v"
        " AND b.t BETWEEN a.t AND a.t + 5 EMIT ON WINDOW CLOSE"
    ),
    "SELECT v FROM plain",
)


def _names(queries: list[str], rng: Random) -> dict[str, set[str]]:
    """Of a job that has these, in an order of its own: all names, by the class of the operator."""
    tables = TABLES.splitlines()
    rng.shuffle(tables)
    sinks = [f"CREATE SINK s{rng.randrange(10**9)} AS {query} {_FILES}" for query in queries]
    rng.shuffle(sinks)
    plan = cut(compile_sql("\n".join([*tables, *sinks]), "f.sql", {}), rng.choice([1, 3, 8]))
    found: dict[str, set[str]] = {}
    for fragment in plan.fragments:
        for node, name in zip(fragment.nodes, fragment.names, strict=True):
            same = found.setdefault(type(node).__name__, set())
            assert name not in same
            same.add(name)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_order_and_sinks_name_nothing(seed: int) -> None:
    rng = Random(seed)
    queries = rng.sample(_QUERIES, rng.randrange(1, len(_QUERIES)))
    assert _names(queries, rng) == _names(queries, rng)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_statement_more_takes_no_name_away(seed: int) -> None:
    rng = Random(seed)
    queries = rng.sample(_QUERIES, rng.randrange(2, len(_QUERIES)))
    fewer, all_ = _names(queries[1:], rng), _names(queries, rng)
    for operator in ("FinalAggregate", "OverRows", "SessionRows", "IntervalJoin"):
        assert fewer.get(operator, set()) <= all_.get(operator, set())
