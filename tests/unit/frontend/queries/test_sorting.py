from __future__ import annotations

import pytest

from kits.frontend import job, lines, plan
from tidegate.errors import BindError, UnsupportedError
from tidegate.plan.nodes import Sort

_HOURS = "TUMBLE(orders, order_time, INTERVAL '1' HOUR)"

_HOPS = "HOP(orders, order_time, INTERVAL '1' HOUR, INTERVAL '2' HOUR)"
_PAIRS = "orders AS a JOIN orders AS b ON a.order_time = b.order_time"
_PART = "SELECT id, order_time AS t FROM orders"


def _node(sql: str) -> Sort:
    (sink,) = job(f"{sql} EMIT ON WINDOW CLOSE").sinks
    (node,) = (node for node in sink.walk() if isinstance(node, Sort))
    return node


def _sort(sql: str) -> str:
    """The sort of ``sql`` as text, without its word."""
    return lines(_node(sql))[0].removeprefix("Sort ")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("order_time", "order_time"),
        ("order_time ASC NULLS LAST", "order_time"),
        ("2", "order_time"),
        ("t", "order_time"),
        ("orders.order_time, 1", "order_time, id ASC NULLS LAST"),
        ("order_time, id DESC", "order_time, id DESC NULLS FIRST"),
        ("order_time, id DESC NULLS LAST, t, id", "order_time, id DESC NULLS LAST"),
        ("order_time, price * 2", "order_time, double ASC NULLS LAST"),
        ("order_time, double DESC, price * 2", "order_time, double DESC NULLS FIRST"),
        ("order_time, price + 1", "order_time, price + 1 ASC NULLS LAST"),
    ],
)
def test_keys(keys: str, said: str) -> None:
    """By name, by place, by alias, computed; what came before decides nothing more."""
    select = "id, order_time, order_time AS t, price * 2 AS double"
    assert _sort(f"SELECT {select} FROM orders ORDER BY {keys}") == f"{said} ties __split, __offset"


def test_keys_that_are_not_selected_ride_and_are_dropped() -> None:
    text = plan("SELECT id FROM orders ORDER BY order_time, price + 1 EMIT ON WINDOW CLOSE")
    assert text.startswith(
        "Sink print print: id BIGINT\n"
        'Project id = "id"\n'
        "Sort order_time, price + 1 ASC NULLS LAST ties __split, __offset\n"
        'Project id = "id", order_time = "order_time", price + 1 = "price" + 1\n'
    )


@pytest.mark.parametrize(
    ("sql", "ties"),
    [
        (
            f"SELECT id, window_end FROM {_HOPS} ORDER BY order_time",
            "__split, __offset, window_end, window_start",
        ),
        (f"{_PART} UNION ALL {_PART} ORDER BY t", "__split, __offset, id"),
        (
            f"SELECT window_end, id, count(*) AS n FROM {_HOURS} GROUP BY 1, 2 ORDER BY window_end",
            "id",
        ),
        (
            f"SELECT window_end, count(*) FROM {_HOURS} GROUP BY 1, id, price ORDER BY 1, 2, price",
            "id",
        ),
        (
            f"SELECT a.order_time AS t, a.id, b.price FROM {_PAIRS} ORDER BY t, b.price",
            "id",
        ),
    ],
)
def test_no_order_stays_open(sql: str, ties: str) -> None:
    """Of source rows by where they stood, of groups by their keys, of others by all they have."""
    assert ", ".join(_node(sql).ties) == ties


def test_what_over_computes_orders_behind_the_time() -> None:
    over = "PARTITION BY id ORDER BY order_time"
    for key in ("n DESC", f"row_number() OVER ({over}) DESC"):
        found = _sort(
            f"SELECT id, order_time, row_number() OVER ({over}) AS n FROM orders"
            f" ORDER BY order_time, {key}"
        )
        assert found == "order_time, n DESC NULLS FIRST ties __split, __offset"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("price", "ORDER BY price: the column has no watermark"),
        ("1, order_time", "ORDER BY 1: the column has no watermark"),
        ("order_time DESC", "ORDER BY order_time DESC is not supported on a stream"),
        ("order_time NULLS FIRST", "ORDER BY order_time NULLS FIRST is not supported on a stream"),
        ("3", "the SELECT list has no column 3"),
        ("0", "the SELECT list has no column 0"),
        ("order_time, nope", "unknown column 'nope'"),
    ],
)
def test_what_is_refused(keys: str, message: str) -> None:
    with pytest.raises((BindError, UnsupportedError), match=message):
        _sort(f"SELECT id, order_time FROM orders ORDER BY {keys}")


def test_what_can_be_sorted_by_is_said() -> None:
    with pytest.raises(BindError) as caught:
        _sort(f"SELECT id FROM {_HOURS} ORDER BY id")
    assert caught.value.hint == "order by order_time or window_start or window_end"
    with pytest.raises(BindError) as caught:
        _sort("SELECT id FROM plain ORDER BY t")
    assert "declare WATERMARK FOR a time column" in str(caught.value.hint)


@pytest.mark.parametrize("key", ["t", "2", "T"])
def test_a_union_is_ordered_by_the_names_of_its_first_part(key: str) -> None:
    """An alias is a column of the whole: what it stood for in the first part is not there."""
    found = _sort(f"{_PART} UNION ALL SELECT id, order_time FROM orders ORDER BY {key}, id DESC")
    assert found == "t, id DESC NULLS FIRST ties __split, __offset"
