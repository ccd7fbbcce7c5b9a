"""What EXPLAIN calls operators, one by one; whole texts are in tests/plans."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kits.executor import expr, leaf, schema
from kits.join import a_join
from tidegate.plan import aggregates, nodes, windows
from tidegate.plan.joins import Join, JoinKind, Union
from tidegate.plan.physical import (
    FinalAggregate,
    MergeRuns,
    PartialAggregate,
    SessionRows,
    SortRuns,
)

BELOW = leaf("t TIMESTAMP, v BIGINT")
NUMBERS = leaf("t BIGINT, v BIGINT")
MINUTE = 60_000_000
AGGREGATE = aggregates.Aggregate(
    schema("v BIGINT, n BIGINT"),
    NUMBERS,
    ("v",),
    (aggregates.AggregateCall(schema("n BIGINT")[0], "count", "t", distinct=True, where="w"),),
    "v",
)


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (nodes.Filter(BELOW.schema, BELOW, expr('"v" > 1', "BOOLEAN", "v")), 'Filter "v" > 1'),
        (
            nodes.Filter(BELOW.schema, BELOW, replace(expr("x", "BOOLEAN"), text="v > 1")),
            "Filter v > 1",
        ),
        (
            nodes.Project(
                schema("v BIGINT, w BIGINT, x BIGINT"),
                BELOW,
                (
                    ("v", expr('"v"', "BIGINT", "v")),
                    ("w", expr('"v"', "BIGINT", "v")),
                    ("x", replace(expr('"v" + 1', "BIGINT", "v"), text="v + 1")),
                ),
            ),
            'Project v, "v" AS w, v + 1 AS x',
        ),
        (windows.Tumble(BELOW.schema, BELOW, "t", MINUTE), "Tumble t by 60 s"),
        (windows.Tumble(NUMBERS.schema, NUMBERS, "t", MINUTE), "Tumble t by 60000000"),
        (
            windows.Tumble(BELOW.schema, BELOW, "t", MINUTE, with_time=True),
            "Tumble t by 60 s, with window_time",
        ),
        (
            windows.Hop(BELOW.schema, BELOW, "t", MINUTE, slide=1_500_000),
            "Hop t by 60 s every 1.5 s",
        ),
        (
            windows.Cumulate(BELOW.schema, BELOW, "t", MINUTE, step=MINUTE // 2),
            "Cumulate t by 30 s up to 60 s",
        ),
        (PartialAggregate(AGGREGATE.schema, NUMBERS, AGGREGATE), "PartialAggregate by v"),
        (
            FinalAggregate(AGGREGATE.schema, NUMBERS, AGGREGATE, ()),
            "Aggregate count(DISTINCT t) FILTER w AS n by v, on window close",
        ),
        (
            FinalAggregate(AGGREGATE.schema, NUMBERS, replace(AGGREGATE, calls=()), ()),
            "Aggregate by v, on window close",
        ),
        (Union(BELOW.schema, (BELOW, BELOW)), "Union"),
        (BELOW, "Node"),
    ],
)
def test_titles(node: nodes.Node, said: str) -> None:
    assert node.title == said


@pytest.mark.parametrize(
    ("keys", "said"), [((), "Session t, gap 60 s"), (("v", "w"), "Session t by v, w, gap 60 s")]
)
def test_sessions(keys: tuple[str, ...], said: str) -> None:
    session = windows.Session(BELOW.schema, BELOW, "t", keys, MINUTE)
    assert SessionRows(session.schema, BELOW, session, ()).title == said


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (nodes.SortKey("v", False, False), "v"),
        (nodes.SortKey("v", True, True), "v DESC"),
        (nodes.SortKey("v", False, True), "v NULLS FIRST"),
        (nodes.SortKey("v", True, False), "v DESC NULLS LAST"),
    ],
)
def test_orders(key: nodes.SortKey, said: str) -> None:
    sort = nodes.Sort(BELOW.schema, BELOW, "t", (), (key,))
    assert SortRuns(BELOW.schema, BELOW, sort, ()).title == f"Sort by t, {said}, on window close"
    assert MergeRuns(BELOW.schema, BELOW, sort, ()).title == f"MergeSort by t, {said}"


@pytest.mark.parametrize(
    ("join", "said"),
    [
        (a_join(), "WindowJoin inner on k = q"),
        (
            a_join(JoinKind.FULL, keys=(("k", "q"), ("t", "u"))),
            "WindowJoin full on k = q, t = u",
        ),
        (a_join(JoinKind.SEMI, -2, 5), "IntervalJoin semi on k = q, u - t between -2 and 5"),
        (a_join(JoinKind.LEFT, 5, 5, keys=()), "IntervalJoin left on u - t between 5 and 5"),
        (
            a_join(JoinKind.ANTI, condition=expr('"v" > "w"', "BOOLEAN", "v", "w")),
            'WindowJoin anti on k = q, "v" > "w"',
        ),
    ],
)
def test_joins(join: Join, said: str) -> None:
    assert join.title == said


def test_a_joins_bounds_are_in_seconds_where_it_has_timestamps() -> None:
    left, right = leaf("t TIMESTAMP"), leaf("u TIMESTAMP")
    join = replace(a_join(lower=-MINUTE, upper=500_000, keys=()), left=left, right=right)
    assert join.title == "IntervalJoin inner on u - t between -60 s and 0.5 s"
