"""EXPLAIN line by line; whole texts are in tests/plans."""

from __future__ import annotations

from actor_kit import plan
from tidegate.plan.explain import explain

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
