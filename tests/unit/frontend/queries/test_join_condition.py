"""What is left of the condition of a join of all rows; of those with bounds it is in test_joins."""

from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.errors import BindError, UnsupportedError
from tidegate.plan.joins import ChangingJoin
from tidegate.plan.nodes import Filter, Node

_ON = "a.id = b.id AND a.price > 1 AND b.price > 2 AND a.price > b.price"


def _filtered(node: Node) -> list[str]:
    return [part.predicate.shown for part in node.walk() if isinstance(part, Filter)]


@pytest.mark.parametrize(
    ("kind", "left", "right"),
    [
        ("JOIN", True, True),
        ("LEFT JOIN", False, True),
        ("RIGHT JOIN", True, False),
        ("FULL JOIN", False, False),
        ("LEFT SEMI JOIN", True, True),
        ("LEFT ANTI JOIN", False, True),
    ],
)
def test_what_is_about_one_side_stands_there_unless_its_rows_stay_alone(
    kind: str, left: bool, right: bool
) -> None:
    sql = f"SELECT a.id FROM orders AS a {kind} orders AS b ON {_ON} ALLOW UNBOUNDED"
    (sink,) = job(sql).sinks
    (join,) = (node for node in sink.walk() if isinstance(node, ChangingJoin))
    assert [_filtered(side) for side in join.inputs] == [
        ["a.price > 1"] * left,
        ["b.price > 2"] * right,
    ]
    assert join.condition is not None
    rest = ["a.price > 1"] * (not left) + ["b.price > 2"] * (not right) + ["a.price > b.price"]
    assert join.condition.shown == " AND ".join(rest)


def test_the_clock_is_not_read_below_where_rows_stay() -> None:
    """A row that has come would be judged by the time at which it came."""
    sql = "SELECT a.id FROM orders AS a JOIN orders AS b ON a.id = b.id AND a.order_time < now()"
    with pytest.raises(UnsupportedError, match="the clock over results that change"):
        job(f"{sql} ALLOW UNBOUNDED")


@pytest.mark.parametrize("word", ["IN", "NOT IN"])
def test_what_cannot_be_equal_is_not_compared(word: str) -> None:
    asked = f"SELECT id FROM orders WHERE CAST(id AS STRING) {word} (SELECT id FROM orders)"
    with pytest.raises(BindError, match="the join compares"):
        job(f"{asked} ALLOW UNBOUNDED")
