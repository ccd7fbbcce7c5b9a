from __future__ import annotations

import pytest

from kits.frontend import plan

_FROM = "FROM TUMBLE(orders, order_time, INTERVAL '1' HOUR)"


@pytest.mark.parametrize(
    ("select", "call"),
    [
        ("count(*)", "count(*) = count(*)"),
        ("count()", "count(*) = count(*)"),
        ("COUNT(DISTINCT id)", "count(distinct id) = count(distinct id)"),
        ("min(DISTINCT id)", "min(id) = min(id)"),
        ("sum(price * 2)", "sum(price * 2) = sum(price * 2)"),
        ("sum(id) FILTER (WHERE id > 1)", "sum(id) = sum(id) where id > 1"),
        ("last_value(id ORDER BY price) AS v", "v = last_value(id) order price"),
        ("avg(price) AS a", "a = avg(price)"),
        ("bool_or(id > 1)", "bool_or(id > 1) = bool_or(id > 1)"),
    ],
)  # fmt: skip
def test_calls(select: str, call: str) -> None:
    text = plan(f"SELECT {select} {_FROM} GROUP BY window_end EMIT ON WINDOW CLOSE")
    assert f"Aggregate by window_end closing window_end, {call}\n" in text


@pytest.mark.parametrize(
    ("select", "type_"),
    [
        ("sum(id)", "DECIMAL(38,0)"),
        ("sum(price)", "DECIMAL(38,10)"),
        ("avg(price)", "DOUBLE"),
        ("count(id)", "BIGINT"),
        ("sum(CAST(id AS DOUBLE))", "DOUBLE"),
        ("max(order_time)", "TIMESTAMP"),
    ],
)
def test_types(select: str, type_: str) -> None:
    text = plan(f"SELECT {select} AS x {_FROM} GROUP BY window_end EMIT ON WINDOW CLOSE")
    assert text.startswith(f"Sink print print: x {type_}\n")


@pytest.mark.parametrize(
    "group", ["window_end, 2", "window_end, twice", "window_end, id * 2", "1, id*2, window_end"]
)
def test_keys_by_ordinal_alias_and_expression(group: str) -> None:
    text = plan(
        f"SELECT window_end, id * 2 AS twice, count(*) AS n {_FROM} GROUP BY {group}"
        " EMIT ON WINDOW CLOSE"
    )
    assert "Aggregate by window_end, twice closing window_end, n = count(*)" in text


@pytest.mark.slow
def test_the_closing_key_is_the_windows_end_then_its_start() -> None:
    every = plan(
        f"SELECT count(*) {_FROM} GROUP BY order_time, window_start, window_end"
        " EMIT ON WINDOW CLOSE"
    )
    assert "closing window_end" in every
    start = plan(f"SELECT count(*) {_FROM} GROUP BY order_time, window_start EMIT ON WINDOW CLOSE")
    assert "closing window_start" in start


def test_one_aggregate_is_computed_once() -> None:
    text = plan(
        f"SELECT sum(id) AS a, sum(id) + 1 AS b {_FROM} GROUP BY window_end HAVING sum(id) > 3"
        " EMIT ON WINDOW CLOSE"
    )
    assert "closing window_end, a = sum(id)\n" in text


def test_an_output_may_be_called_like_its_argument() -> None:
    text = plan(f"SELECT max(price) AS price {_FROM} GROUP BY window_end EMIT ON WINDOW CLOSE")
    assert "price = max(price)" in text


def test_a_computed_key_does_not_take_a_columns_name() -> None:
    text = plan(
        f"SELECT id % 2 AS customer_id, id % 3 AS window_end, count(*) {_FROM}"
        " GROUP BY 1, 2, orders.customer_id, orders.window_end EMIT ON WINDOW CLOSE"
    )
    keys = "customer_id#2, window_end#2, customer_id, window_end"
    assert f"Aggregate by {keys} closing window_end" in text


def test_a_computed_key_does_not_take_the_place_of_a_group_window() -> None:
    text = plan(
        "SELECT id % 2 AS window_start, count(*) FROM orders"
        " GROUP BY 1, TUMBLE(order_time, INTERVAL '1' MINUTE)"
    )
    assert "Aggregate by window_start#2, window_start, window_end closing window_end" in text
