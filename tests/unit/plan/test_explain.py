"""EXPLAIN line by line; whole texts are in tests/plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kits.actor import plan
from tidegate.plan.explain import explain
from tidegate.plan.fragments import Plan, cut
from tidegate.plan.nodes import Node, Sink, Unary, WatermarkFilter, column_expr
from tidegate.plan.strategies import Adaptive, PerKey
from tidegate.types import Column

WINDOWS = (
    "SELECT window_end, count(DISTINCT v) AS n FROM TUMBLE(marked, t, 10)"
    " GROUP BY window_end EMIT ON WINDOW CLOSE"
)


def _lines(*queries: str, pushdown: bool = True) -> list[str]:
    return [line.strip() for line in explain(plan(*queries, pushdown=pushdown)).splitlines()]


def test_the_first_line_counts() -> None:
    assert _lines(WINDOWS)[0] == "job f: 1 source, 1 sink, 2 fragments, 1 exchange, 2 vnodes"


def test_where_a_watermark_comes_from_across_exchanges() -> None:
    said = "watermark on window_end: tumble_end(t), from filter marked.t"
    assert _lines(WINDOWS, pushdown=False).count(said) == 2


def test_where_one_is_lost() -> None:
    lines = _lines("SELECT t + v AS u FROM marked")
    assert "none on u: it depends on t and v" in lines
    assert "| loses the watermark on u: it depends on t and v" in lines


def _changed(node: Node, changes: dict[str, Any]) -> Node:
    if isinstance(node, WatermarkFilter):
        return replace(node, **changes)
    assert isinstance(node, Unary)
    return replace(node, input=_changed(node.input, changes))


def _marked(**changes: Any) -> Plan:
    """The plan of ``SELECT t FROM marked`` with another watermark filter."""
    job = plan("SELECT t FROM marked").job
    if "adaptive" in changes:
        column = column_expr(Column("t", "BIGINT"))
        changes["strategy"] = replace(column, text="SOURCE_WATERMARK()")
    sink = _changed(job.sinks[0], changes)
    assert isinstance(sink, Sink)
    return cut(replace(job, sinks=(sink,)), 2)


USUAL = Adaptive()
MONTH = 30 * 86_400_000_000


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "t - 2"),
        ({"periodic_us": 200_000}, "t - 2, on-periodic every 200 ms"),
        ({"periodic_us": 1_500}, "t - 2, on-periodic every 1500 us"),
        ({"before": "w"}, "t - 2, with CURRENT_WATERMARK(t)"),
        ({"adaptive": USUAL}, "SOURCE_WATERMARK()"),
        (
            {"adaptive": replace(USUAL, quantile=0.995), "periodic_us": 60_000_000},
            "SOURCE_WATERMARK(), 99.5 % of 5,000 records, on-periodic every 1 min",
        ),
        (
            {"adaptive": replace(USUAL, delay_us_min=0, delay_us_max=MONTH, margins=())},
            "SOURCE_WATERMARK(), at least 0 s, at most 30 d, margins none",
        ),
        (
            {"adaptive": replace(USUAL, margins=((100, 7_200_000_000), (2_000, 3_000_000)))},
            "SOURCE_WATERMARK(), margins 2 h up to 100; 3 s up to 2,000",
        ),
    ],
)
def test_what_a_watermark_is(changes: dict[str, Any], said: str) -> None:
    lines = [line.strip() for line in explain(_marked(**changes)).splitlines()]
    assert f"WatermarkFilter marked.t: t AS {said}" in lines


def test_an_adaptive_watermark_keeps_what_it_measures() -> None:
    said = "| state: per split, how far out of order its last 5,000 records were"
    assert said in explain(_marked(adaptive=USUAL))
    assert said not in explain(_marked())


def test_a_watermark_per_key_says_what_it_keeps() -> None:
    text = explain(_marked(per=PerKey(("k", "t"), 90_000_000)))
    assert "per (k, t) expiring after " in text
    assert "| state: per split, one watermark per (k, t) that has not expired" in text


def test_bounds_on_state() -> None:
    lines = _lines(WINDOWS)
    assert "| state: one watermark per split, in the epoch log (pushed down)" in lines
    assert "| state: one row per group whose window_end the watermark has not reached" in lines
    assert "| state: in each, the distinct values of v" in lines
    fragment = _lines(WINDOWS, pushdown=False)
    assert "| state: one watermark per split, in the state store" in fragment


def test_what_two_sinks_share_is_shown_once() -> None:
    lines = _lines("SELECT t FROM marked WHERE v > 1", "SELECT t FROM marked WHERE v > 2")
    name = "WatermarkFilter marked.t: t AS t - 2"
    assert lines.count(name) == 1
    assert lines.count(f"{name} (as above)") == 1
    assert sum(line.startswith("Scan") for line in lines) == 1
