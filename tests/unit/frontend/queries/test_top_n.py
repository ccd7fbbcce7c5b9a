from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.plan.nodes import Filter, Node
from tidegate.plan.over import ChangingOver

_NUMBERED = "(SELECT *, {} OVER (PARTITION BY id ORDER BY price DESC) AS rn FROM orders)"
_ROWS = _NUMBERED.format("row_number()")


def nodes(query: str) -> list[Node]:
    (sink,) = job(query).sinks
    return list(sink.walk())


def first(query: str) -> tuple[int | None, bool]:
    """How many rows of each partition, and whether a filter is left."""
    found = nodes(query)
    (over,) = (node for node in found if isinstance(node, ChangingOver))
    most = None if over.first is None else over.first[1]
    return most, any(isinstance(node, Filter) for node in found)


@pytest.mark.parametrize(
    ("condition", "most", "filtered"),
    [
        ("rn <= 3", 3, False),
        ("rn < 3", 2, False),
        ("3 >= rn", 3, False),
        ("3 > rn", 2, False),
        ("(rn = 1)", 1, False),
        ("1 = rn", 1, False),
        ("rn = 2", 2, True),
        ("rn <= 3 AND price > 1", 3, True),
        ("rn <= 3 AND rn < 3", 2, False),
        ("rn = 1 AND rn < 3", 1, False),
        ("rn > 3", None, True),
        ("rn <= 0", None, True),
        ("rn + 1 <= 3", None, True),
        ("rn <= price", None, True),
        ("price <= 3", None, True),
    ],
)
def test_a_condition_on_the_number(condition: str, most: int | None, filtered: bool) -> None:
    assert first(f"SELECT id FROM {_ROWS} WHERE {condition}") == (most, filtered)


@pytest.mark.parametrize("function", ["rank()", "dense_rank()"])
def test_ranks_are_numbers(function: str) -> None:
    assert first(f"SELECT id FROM {_NUMBERED.format(function)} WHERE rn <= 2") == (2, False)


@pytest.mark.parametrize("function", ["count(*)", "lag(price)"])
def test_others_are_not(function: str) -> None:
    below = _NUMBERED.format(function)
    assert first(f"SELECT id FROM {below} WHERE rn <= 2") == (None, True)


def test_qualify_says_it_too() -> None:
    order = "OVER (PARTITION BY id ORDER BY price DESC)"
    assert first(f"SELECT id FROM orders QUALIFY row_number() {order} <= 2") == (2, False)


def test_the_number_may_have_another_name() -> None:
    renamed = f"(SELECT id, rn AS number FROM {_ROWS})"
    assert first(f"SELECT id FROM {renamed} WHERE number <= 2") == (2, False)


def test_in_the_order_of_time_numbers_are_final() -> None:
    query = (
        "SELECT id FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY order_time) AS rn"
        " FROM orders) WHERE rn = 1"
    )
    assert not any(isinstance(node, ChangingOver) for node in nodes(query))


def test_of_equal_times_the_last_is_the_newest() -> None:
    query = "SELECT row_number() OVER (PARTITION BY id ORDER BY {} DESC) AS rn FROM orders"
    (newest,) = (n for n in nodes(query.format("order_time")) if isinstance(n, ChangingOver))
    (largest,) = (n for n in nodes(query.format("price")) if isinstance(n, ChangingOver))
    assert (newest.newest_first, largest.newest_first) == (True, False)
