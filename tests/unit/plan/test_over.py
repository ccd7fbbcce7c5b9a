from __future__ import annotations

import pytest

from kits.over import SO_FAR, call, lag, lead, rows, span
from tidegate.plan.over import OverCall, Reach


@pytest.mark.parametrize(
    ("calls", "reach"),
    [
        ((), Reach()),
        ((lag(),), Reach(1)),
        ((lead(3),), Reach(0, 3)),
        ((lag(2), lead(), lag(5)), Reach(5, 1)),
        ((call("sum", rows(-3)),), Reach(3)),
        ((call("sum", rows(-3, -1)),), Reach(3)),
        ((call("sum", rows(-1, 4)),), Reach(1, 4)),
        ((call("sum", rows(2, 4)),), Reach(0, 4)),
        ((call("sum", span(-60)),), Reach(time_back=60)),
        ((call("sum", span(0)),), Reach(time_back=0)),
        ((call("sum", span(5, 60)),), Reach(time_back=0, time_ahead=60)),
        ((call("sum", span(-60, -5)),), Reach(time_back=60)),
        ((call("sum", span(-60, 1)), call("min", rows(-2, 0)), lead()), Reach(2, 1, 60, 1)),
        ((call("row_number"), call("sum", SO_FAR), call("max", rows(None))), Reach()),
        ((call("sum", SO_FAR), lag()), Reach(1)),
    ],
)
def test_how_far_calls_look(calls: tuple[OverCall, ...], reach: Reach) -> None:
    """Calls from the first row on are carried, they look nowhere."""
    assert Reach.of(calls) == reach


def test_reaches_are_of_a_place_not_of_an_order() -> None:
    calls = (lag(4), call("sum", span(-9, 3)), lead(2), call("rank"))
    assert Reach.of(calls) == Reach.of(reversed(calls)) == Reach(4, 2, 9, 3)


@pytest.mark.parametrize(
    ("each", "is_running"),
    [
        (call("row_number"), True),
        (call("dense_rank"), True),
        (call("sum", SO_FAR), True),
        (call("sum", rows(None)), True),
        (call("sum", rows(-1000)), False),
        (call("sum", span(-1000)), False),
        (lag(), False),
        (lead(), False),
    ],
)
def test_what_looks_at_all_rows_before(each: OverCall, is_running: bool) -> None:
    assert each.is_running is is_running
