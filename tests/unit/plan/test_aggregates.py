from __future__ import annotations

import pytest

from kits.executor import leaf, schema
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.plan.early import Early
from tidegate.plan.nodes import SortKey

BELOW = leaf("w BIGINT, v BIGINT")
(N,) = schema("n BIGINT")
COUNT = AggregateCall(N, "count")


def _aggregate(
    keys: tuple[str, ...], closing_key: str = "", early: Early | None = None
) -> Aggregate:
    calls = (COUNT, AggregateCall(N, "sum", "v", distinct=True), AggregateCall(N, "median", "v"))
    return Aggregate(
        (N,),
        BELOW,
        keys,
        calls,
        closing_key,
        updates=not closing_key or early is not None,
        early=early,
    )


def test_a_group_waits_for_its_closing_key_which_comes_first() -> None:
    node = _aggregate(("v", "w"), "w")
    assert node.ordered_keys == ("w", "v")
    assert node.waits_for == ((BELOW, "w"),)
    assert _aggregate(("v",)).waits_for == ()


def test_what_a_call_reads_and_whether_it_grows() -> None:
    call = AggregateCall(
        N, "array_agg", "v", where="x", order=(SortKey("w", True),), parameter="','"
    )
    assert call.columns == ("v", "x", "w")
    assert call.grows
    assert not COUNT.grows
    assert call.text == "array_agg(v, ',' order by w DESC) FILTER x AS n"
    assert COUNT.text == "count(*) AS n"


@pytest.mark.parametrize(
    ("node", "by", "when", "kept"),
    [
        (
            _aggregate(("v", "w"), "w"),
            "by v, w",
            "on window close",
            "state: one row per group whose w the watermark has not reached",
        ),
        (
            _aggregate(("v",)),
            "by v",
            "on update",
            "state: unbounded: one row per group, no watermark on v",
        ),
        (_aggregate(()), "of all rows", "on update", "state: one row"),
    ],
)
def test_what_explain_says(node: Aggregate, by: str, when: str, kept: str) -> None:
    assert (node.by, node.when) == (by, when)
    assert list(node.state) == [
        kept,
        "state: in each, the distinct values of v",
        "state: in each, all values of v",
    ]


def test_ticks_are_kept() -> None:
    (time,) = schema("t TIMESTAMP")
    node = _aggregate(("w",), "w", Early(time, 5_000_000))
    assert node.when == "on window close, early every 5 s of t"
    assert list(node.state)[1] == (
        "state: in each, one row per tick of t that the watermark has not passed"
    )
