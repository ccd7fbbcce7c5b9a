"""From logical to physical: which exchanges stand where."""

from __future__ import annotations

import pytest

from kits.actor import plan
from tidegate.plan.lower import lower
from tidegate.plan.nodes import Node
from tidegate.plan.physical import Exchange, FinalAggregate, Tally

WINDOWS = (
    "SELECT window_start, window_end, count(*) AS n FROM TUMBLE(marked, t, 10)"
    " GROUP BY window_start, window_end EMIT ON WINDOW CLOSE"
)


def _lowered(query: str, pushdown: bool = True) -> list[Node]:
    (sink,) = plan(query).job.sinks
    return list(lower(sink, pushdown).walk())


def _shape(query: str, pushdown: bool = True) -> str:
    names = [
        f"({node.distribution.value})" if isinstance(node, Exchange) else type(node).__name__
        for node in _lowered(query, pushdown)
    ]
    return " ".join(names)


@pytest.mark.parametrize(
    ("query", "pushdown", "shape"),
    [
        ("SELECT t, v FROM marked", True, "Scan WatermarkFilter Tally Sink"),
        ("SELECT t, v FROM plain", True, "Scan Tally Sink"),
        ("SELECT t, v FROM plain", False, "Scan Tally Sink"),
        ("SELECT t, v FROM marked", False, "Scan (by split) WatermarkFilter Tally Sink"),
        (
            "SELECT t, v FROM WATERMARK(WATERMARK(plain, t, t), v, v)",
            False,
            "Scan (by split) WatermarkFilter WatermarkFilter Tally Sink",
        ),
        (
            "SELECT t, v FROM marked ORDER BY t EMIT ON WINDOW CLOSE",
            True,
            "Scan WatermarkFilter Tally (spread) SortRuns (gather) MergeRuns Sink",
        ),
    ],
)
def test_shapes(query: str, pushdown: bool, shape: str) -> None:
    assert _shape(query, pushdown) == shape


def test_an_aggregation_has_two_phases() -> None:
    assert _shape(WINDOWS).split()[-5:] == [
        "Tally",
        "PartialAggregate",
        "(hash)",
        "FinalAggregate",
        "Sink",
    ]


def test_the_other_end_of_the_window_follows() -> None:
    (final,) = (node for node in _lowered(WINDOWS) if isinstance(node, FinalAggregate))
    assert final.aggregate.closing_key == "window_end"
    assert final.derived == (("window_start", -10),)


def test_a_tally_stands_in_a_branch_over_a_source_only() -> None:
    over = (
        "SELECT window_end, n FROM (SELECT window_end, count(*) AS n FROM TUMBLE(marked, t, 10)"
        " GROUP BY window_end EMIT ON WINDOW CLOSE) ORDER BY window_end EMIT ON WINDOW CLOSE"
    )
    assert sum(isinstance(node, Tally) for node in _lowered(over)) == 1


def test_first_value_keeps_split_and_offset() -> None:
    query = WINDOWS.replace("count(*)", "first_value(v ORDER BY t)")
    (tally,) = (node for node in _lowered(query) if isinstance(node, Tally))
    assert tally.keep == ("__split", "__offset")
