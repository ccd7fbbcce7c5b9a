"""What is left of the condition of a join of all rows; of those with bounds it is in test_joins."""

from __future__ import annotations

import pytest

from kits.frontend import job
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
