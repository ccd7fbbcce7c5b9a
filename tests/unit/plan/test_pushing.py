"""Where the conditions of WHERE get to."""

from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.plan.joins import Join
from tidegate.plan.nodes import Filter, Node
from tidegate.plan.pushing import pushed

_FROM = "FROM orders a {kind} JOIN orders b ON a.id = b.id"


def _sides(sql: str) -> list[list[str]]:
    """The conditions on both sides of the join, and above it."""
    (sink,) = pushed(job(f"{sql} ALLOW UNBOUNDED").sinks)
    (join,) = [node for node in sink.walk() if isinstance(node, Join)]
    below = [_conditions(side) for side in join.inputs]
    inside = [text for texts in below for text in texts]
    return [*below, [text for text in _conditions(sink) if text not in inside]]


def _conditions(node: Node) -> list[str]:
    return [part.predicate.shown for part in node.walk() if isinstance(part, Filter)]


@pytest.mark.parametrize(
    ("kind", "left", "right"),
    [
        ("", True, True),
        ("LEFT", True, False),
        ("RIGHT", False, True),
        ("FULL", False, False),
    ],
)
def test_below_a_join_stands_what_takes_no_other_row_away(
    kind: str, left: bool, right: bool
) -> None:
    on_left, on_right = "a.price > 1", "b.price > 2"
    sql = f"SELECT a.id, b.price {_FROM.format(kind=kind)} WHERE {on_left} AND {on_right}"
    both = "a.price > b.price"
    assert _sides(f"{sql} AND {both}") == [
        [on_left] * left,
        [on_right] * right,
        [*[on_left] * (not left), *[on_right] * (not right), *[both] * bool(kind)],
    ]


def test_through_projections_and_other_conditions() -> None:
    inner = f"SELECT a.id AS id, a.id + 1 AS q {_FROM.format(kind='')}"
    sql = f"SELECT id FROM ({inner}) AS x WHERE id > 3 AND q > 4 AND id < 9"
    assert _sides(sql) == [["id > 3", "id < 9"], [], ["q > 4"]]


def test_below_an_asof_join_stands_what_is_about_its_left_side() -> None:
    """With fewer rows on the right another one would be the nearest."""
    on = "FROM orders a ASOF JOIN orders b ON a.id = b.id AND a.order_time >= b.order_time"
    sql = f"SELECT a.id {on} WHERE a.price > 1 AND b.price > 2"
    assert _sides(sql) == [["a.price > 1"], [], ["b.price > 2"]]


def test_a_join_that_forgets_its_rows_keeps_its_conditions_above() -> None:
    sql = (
        "SELECT a.id FROM orders a JOIN orders b ON a.order_time = b.order_time"
        " WHERE a.price > 1 AND b.price > 2"
    )
    assert [len(texts) for texts in _sides(sql)] == [0, 0, 2]
