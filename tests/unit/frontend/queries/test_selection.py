"""What queries make of the rows of their FROM."""

from __future__ import annotations

from kits.frontend import plan

_ORDERS = """\
WatermarkFilter orders.order_time (orders): "order_time" - INTERVAL '5' SECOND
Scan orders"""


def test_where_stands_above_the_filter() -> None:
    assert (
        plan("SELECT id + 1 AS next FROM orders WHERE price > 3")
        == f"""\
Sink print print: next BIGINT
Project next = "id" + 1
Filter "price" > 3
{_ORDERS}"""
    )


def test_star_is_no_projection() -> None:
    assert plan("SELECT * FROM orders").split("\n", maxsplit=1)[1] == _ORDERS


def test_sort_of_source_rows_drops_a_key_that_is_not_selected() -> None:
    assert (
        plan("SELECT id FROM orders ORDER BY order_time, price EMIT ON WINDOW CLOSE")
        == f"""\
Sink print print: id BIGINT
Project id = "id"
Sort order_time, price ASC NULLS LAST ties __split, __offset
Project id = "id", order_time = "order_time", price = "price"
{_ORDERS}"""
    )


def test_keys_behind_the_time_have_their_own_direction() -> None:
    text = plan(
        "SELECT id, order_time FROM orders ORDER BY order_time ASC NULLS LAST, price DESC,"
        " id DESC NULLS LAST, customer_id NULLS FIRST, id EMIT ON WINDOW CLOSE"
    )
    assert (
        "Sort order_time, price DESC NULLS FIRST, id DESC NULLS LAST, customer_id ASC NULLS FIRST"
        " ties __split, __offset\n" in text
    )


def test_sort_of_groups_is_tied_by_their_keys() -> None:
    text = plan(
        "SELECT window_start AS s, count(*) AS n FROM TUMBLE(orders, order_time, INTERVAL '1' DAY)"
        " GROUP BY window_start, id ORDER BY s EMIT ON WINDOW CLOSE"
    )
    assert text.startswith("""\
Sink print print: s TIMESTAMP, n BIGINT
Project s = "s", n = "n"
Sort s ties id
Project s = "window_start", n = "n", id = "id"
Aggregate by window_start, id closing window_start, n = count(*)
""")


def test_having_and_expressions_over_aggregates() -> None:
    assert plan(
        "SELECT date_trunc('hour', order_time) AS h, sum(id) / count(*) AS a FROM orders"
        " GROUP BY h HAVING max(price) > 2 AND count(*) > 1 EMIT ON WINDOW CLOSE"
    ).startswith("""\
Sink print print: h TIMESTAMP, a DOUBLE
Project h = "h", a = "sum(id)" / "count(*)"
Filter "max(price)" > 2 AND "count(*)" > 1
Aggregate by h closing h, sum(id) = sum(id), count(*) = count(*), max(price) = max(price)
Project h = date_trunc('hour', "order_time"), id = "id", price = "price"
""")


def test_names_of_columns() -> None:
    head = plan('SELECT id, orders.price, id * 2, abs(id), id AS "Id2", abs(id) FROM orders')
    assert head.split("\n", maxsplit=1)[0] == (
        "Sink print print: id BIGINT, price DECIMAL(28,10), id * 2 BIGINT, abs BIGINT,"
        " Id2 BIGINT, abs#2 BIGINT"
    )


def test_an_ordinal_behind_a_star_counts_its_columns() -> None:
    text = plan("SELECT *, id * 2 AS twice FROM orders ORDER BY 2, 5 DESC, 3 EMIT ON WINDOW CLOSE")
    assert "Sort order_time, twice DESC NULLS FIRST, price ASC NULLS LAST ties" in text
