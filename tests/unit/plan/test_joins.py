"""Nodes with several inputs, and what is derived of their watermarks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kits.executor import leaf
from kits.frontend import job
from kits.join import KINDS, a_join
from tidegate.plan.derivation import derive, following
from tidegate.plan.joins import Join, Union, branches, united

ONE, OTHER = leaf("t BIGINT"), leaf("u BIGINT")


def test_what_is_kept_of_each_kind() -> None:
    assert [kind for kind in KINDS if kind.has_right] == ["INNER", "LEFT", "RIGHT", "FULL"]
    assert [kind for kind in KINDS if kind.keeps_left] == ["LEFT", "FULL"]
    assert [kind for kind in KINDS if kind.keeps_right] == ["RIGHT", "FULL"]


def test_inputs_can_be_replaced() -> None:
    join = a_join()
    assert join.on([ONE, OTHER]) == replace(join, left=ONE, right=OTHER)
    assert join.on(join.inputs) == join
    union = Union(ONE.schema, (ONE, OTHER))
    assert union.on([OTHER, ONE]).inputs == (OTHER, ONE)


def test_inputs_are_walked_from_left_to_right() -> None:
    join = a_join()
    assert list(join.walk()) == [join.left, join.right, join]


@pytest.mark.parametrize(
    ("lower", "upper", "is_one"), [(0, 0, True), (0, 1, False), (-1, 0, False), (5, 5, False)]
)
def test_at_one_time(lower: int, upper: int, is_one: bool) -> None:
    assert a_join(lower=lower, upper=upper).at_one_time is is_one


def test_one_branch_is_no_union() -> None:
    assert united([ONE]) is ONE
    assert branches(ONE) == (ONE,)
    both = united([ONE, OTHER])
    assert both == Union(ONE.schema, (ONE, OTHER))
    assert branches(both) == (ONE, OTHER)


def _said(sql: str) -> dict[str, str]:
    (sink,) = job(sql).sinks
    return {name: derived.describe() for name, derived in derive(sink).items()}


def test_the_watermarks_behind_an_interval_join() -> None:
    assert _said(
        "SELECT a.order_time AS x, b.order_time AS y, a.id AS z FROM orders a JOIN orders b"
        " ON b.order_time BETWEEN a.order_time - INTERVAL '2' SECOND"
        " AND a.order_time + INTERVAL '5' SECOND"
    ) == {
        "x": "min(order_time, order_time - 5 s)",
        "y": "min(order_time, order_time - 2 s)",
        "z": "none: no watermark is declared on it",
    }


def test_behind_a_join_of_windows_all_their_columns_have_watermarks() -> None:
    minute = "INTERVAL '1' MINUTE)"
    sides = f"TUMBLE(orders, order_time, {minute} a JOIN TUMBLE(events, event.log_ts, {minute} b"
    on = "a.window_start = b.window_start AND a.window_end = b.window_end"
    said = _said(
        f"SELECT a.window_start, a.window_end, b.window_end AS e, a.order_time FROM {sides} ON {on}"
    )
    assert said == {
        "window_start": "min(tumble_end(order_time) - 60 s, tumble_end(event.log_ts) - 60 s)",
        "window_end": "min(tumble_end(order_time), tumble_end(event.log_ts))",
        "e": "min(tumble_end(event.log_ts), tumble_end(order_time))",
        "order_time": "none: pairs leave in the order of the join's times",
    }


def test_what_follows_from_the_times() -> None:
    """The other columns of the same windows, at their distance; nothing of a plain time."""
    minute = "INTERVAL '1' MINUTE"
    windows = f"TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), {minute}))"
    join = _join(
        f"SELECT a.id FROM {windows} a JOIN orders b ON b.order_time BETWEEN a.window_end"
        f" AND a.window_end + {minute}"
    )
    assert following(join, (derive(join.left), derive(join.right))) == (
        ("window_end", 0, 0),
        ("window_start", 0, -60_000_000),
        ("window_time", 0, -1_000),
        ("order_time#2", 1, 0),
    )


@pytest.mark.parametrize(
    "on",
    [
        "b.window_end BETWEEN a.window_end - INTERVAL '3' MINUTE AND a.window_end",
        "b.window_end = a.window_start",
    ],
)
def test_the_windows_of_two_sides_are_not_the_same_ones(on: str) -> None:
    """Groups by both leave in the order of one; those of the other may still be lower."""
    window = "TUMBLE(orders, order_time, INTERVAL '1' MINUTE)"
    said = _said(
        "SELECT e, f, count(*) AS n FROM (SELECT a.window_end AS e, b.window_end AS f"
        f" FROM {window} a JOIN {window} b ON {on}) GROUP BY e, f EMIT ON WINDOW CLOSE"
    )
    assert said["f"] == "none: groups leave in the order of e"


def _join(sql: str) -> Join:
    (sink,) = job(sql).sinks
    return next(node for node in sink.walk() if isinstance(node, Join))
