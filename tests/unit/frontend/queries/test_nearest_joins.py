"""ASOF JOIN; what it gives is judged in `simulation.changing`."""

from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.errors import SqlError
from tidegate.plan.changes import is_changing
from tidegate.plan.joins import ChangingJoin, JoinKind


def joined(sql: str, end: str = "ALLOW UNBOUNDED") -> ChangingJoin:
    (sink,) = job(f"SELECT a.id FROM orders AS a {sql} {end}").sinks
    (found,) = (node for node in sink.walk() if isinstance(node, ChangingJoin))
    return found


@pytest.mark.parametrize(
    ("sql", "kind", "nearest"),
    [
        ("ASOF JOIN orders AS b ON a.id = b.id AND a.price >= b.price", JoinKind.INNER, ">="),
        ("ASOF INNER JOIN orders AS b ON a.id = b.id AND b.price < a.price", JoinKind.INNER, ">"),
        ("ASOF LEFT JOIN orders AS b ON b.price > a.price AND a.id = b.id", JoinKind.LEFT, "<"),
        ("ASOF LEFT OUTER JOIN orders AS b USING (id)", JoinKind.LEFT, ""),
        (
            "ASOF JOIN orders AS b ON a.id = b.id AND a.order_time <= b.order_time",
            JoinKind.INNER,
            "<=",
        ),
    ],
)
def test_the_comparison_says_which_is_nearest(sql: str, kind: JoinKind, nearest: str) -> None:
    if not nearest:
        with pytest.raises(SqlError):
            joined(sql)
        return
    found = joined(sql)
    assert found.nearest is not None
    column = "order_time" if "order_time" in sql else "price"
    assert found.nearest == (column, nearest, f"{column}#2")
    assert (found.kind, found.keys, found.condition) == (kind, (("id", "id#2"),), None)
    assert is_changing(found), "a nearer row may come"


def test_values_are_compared_in_one_type() -> None:
    found = joined("ASOF JOIN orders AS b ON a.id = b.id AND a.id + 1 > b.price")
    assert found.nearest is not None
    left, _, right = found.nearest
    types = {column.name: column.type for column in (*found.left.schema, *found.right.schema)}
    assert types[left] == types[right]


@pytest.mark.parametrize(
    "on",
    [
        "a.price >= b.price",
        "a.id = b.id",
        "a.id = b.id AND a.price >= b.price AND a.id > b.id",
        "a.id = b.id AND a.price <> b.price",
        "a.id = b.id AND a.price > 3",
        "a.id = b.id AND a.price BETWEEN b.price AND b.price + 1",
    ],
)
def test_other_conditions_are_refused(on: str) -> None:
    with pytest.raises(SqlError, match="ASOF JOIN takes equations, and one comparison"):
        joined(f"ASOF JOIN orders AS b ON {on}")


@pytest.mark.parametrize(
    ("sql", "end", "says"),
    [
        ("ASOF RIGHT JOIN orders AS b ON a.id = b.id", "", "expected JOIN or LEFT JOIN"),
        (
            "ASOF JOIN orders AS b ON a.id = b.id AND a.price > b.price",
            "EMIT ON WINDOW CLOSE",
            "a nearer row may come",
        ),
        (
            "ASOF JOIN orders AS b ON a.id = b.id AND a.price > b.customer_name",
            "",
            "customer_name|VARCHAR",
        ),
    ],
)
def test_what_cannot_be(sql: str, end: str, says: str) -> None:
    with pytest.raises(SqlError, match=says):
        joined(sql, end)
