from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.errors import BindError, UnsupportedError
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


@pytest.mark.parametrize(
    "below",
    [
        f"(SELECT *, sum(price) OVER (PARTITION BY id) AS s FROM {_ROWS})",
        f"(SELECT * FROM {_ROWS} ORDER BY price LIMIT 3)",
        f"(SELECT DISTINCT ON (id) * FROM {_ROWS} ORDER BY id, price)",
    ],
)
def test_what_looks_at_all_rows_gets_all(below: str) -> None:
    """A condition above it does not take some of them away below it."""
    found = nodes(f"SELECT id FROM {below} WHERE rn <= 2")
    overs = [node for node in found if isinstance(node, ChangingOver)]
    assert overs[0].first is None
    assert any(isinstance(node, Filter) for node in found)


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


def test_rows_that_are_equal_to_the_last_one_may_be_there_too() -> None:
    rows = "SELECT id FROM orders ORDER BY price FETCH FIRST 2 ROWS WITH TIES"
    (over,) = (node for node in nodes(rows) if isinstance(node, ChangingOver))
    assert over.first == (over.calls[0].output.name, 2)
    assert over.calls[0].function == "rank"
    with pytest.raises(BindError, match="WITH TIES is about an order"):
        job("SELECT id FROM orders FETCH FIRST 2 ROWS WITH TIES")
    with pytest.raises(UnsupportedError, match="OFFSET beside WITH TIES"):
        job("SELECT id FROM orders ORDER BY price OFFSET 1 ROWS FETCH FIRST 2 ROWS WITH TIES")


def test_of_equal_times_the_last_is_the_newest() -> None:
    query = "SELECT row_number() OVER (PARTITION BY id ORDER BY {} DESC) AS rn FROM orders"
    (newest,) = (n for n in nodes(query.format("order_time")) if isinstance(n, ChangingOver))
    (largest,) = (n for n in nodes(query.format("price")) if isinstance(n, ChangingOver))
    assert (newest.newest_first, largest.newest_first) == (True, False)


@pytest.mark.parametrize(
    ("query", "keys", "order", "most"),
    [
        ("SELECT id FROM orders ORDER BY price DESC, id LIMIT 3", (), ["price DESC", "id"], 3),
        ("SELECT id FROM orders LIMIT 2 OFFSET 5", (), [], 7),
        ("SELECT id FROM orders ORDER BY 1 FETCH FIRST ROW ONLY", (), ["id"], 1),
        ("SELECT id FROM orders OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY", (), [], 3),
        ("SELECT id, count(*) FROM orders GROUP BY id ORDER BY count(*) LIMIT 1", (), None, 1),
        (
            "SELECT DISTINCT ON (id) price FROM orders ORDER BY id, price DESC",
            ("id",),
            ["price DESC"],
            1,
        ),
        ("SELECT DISTINCT ON (p) price + 1 AS p FROM orders", ("p",), [], 1),
        ("SELECT id FROM orders UNION ALL SELECT 1 FROM orders ORDER BY id LIMIT 4", (), ["id"], 4),
    ],
)
def test_limits_say_it_without_a_number(
    query: str, keys: tuple[str, ...], order: list[str] | None, most: int
) -> None:
    (sink,) = job(query).sinks
    (over,) = (node for node in sink.walk() if isinstance(node, ChangingOver))
    assert over.keys == keys
    assert order is None or [key.text for key in over.order] == order
    assert over.first is not None
    assert over.first[1] == most
    visible = query.removeprefix("SELECT ").split(" FROM ", maxsplit=1)[0].count(",") + 1
    assert len(sink.schema) == visible, "what the order is by, and the number, are not shown"
