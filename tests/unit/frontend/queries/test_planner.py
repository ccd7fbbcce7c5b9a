"""Plans of the main forms of a query."""

from __future__ import annotations

import pytest

from kits.frontend import plan

_ORDERS = """\
WatermarkFilter orders.order_time (orders): "order_time" - INTERVAL '5' SECOND
Scan orders"""


def test_tumble_and_group() -> None:
    assert (
        plan(
            "SELECT customer_id, window_end AS hour, SUM(price) AS total FROM TUMBLE(orders,"
            " order_time, INTERVAL '1' HOUR) GROUP BY window_end, customer_id EMIT ON WINDOW CLOSE"
        )
        == f"""\
Sink print print: customer_id BIGINT, hour TIMESTAMP, total DECIMAL(38,10)
Project customer_id = "customer_id", hour = "window_end", total = "total"
Aggregate by window_end, customer_id closing window_end, total = sum(price)
Project window_end = "window_end", customer_id = "customer_id", price = "price"
Tumble order_time size 3600000000 offset 0
{_ORDERS}"""
    )


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


def test_windows_over_windows() -> None:
    text = plan(
        "SELECT window_end, max(n) AS m FROM TUMBLE((SELECT window_end AS t, id, count(*) AS n"
        " FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE) GROUP BY window_end, id), t,"
        " INTERVAL '1' HOUR) GROUP BY window_end EMIT ON WINDOW CLOSE"
    )
    assert text.count("Aggregate") == 2
    assert "Tumble t size 3600000000 offset 0" in text


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


def test_views_and_ctes_are_inlined() -> None:
    direct = plan("SELECT id FROM orders WHERE id > 3")
    assert plan("CREATE VIEW v AS SELECT id FROM orders WHERE id > 3; SELECT * FROM v") == direct
    assert plan("WITH v AS (SELECT id FROM orders WHERE id > 3) SELECT * FROM v") == direct
    assert plan("SELECT * FROM (SELECT id FROM orders WHERE id > 3) AS v") == direct


@pytest.mark.parametrize(
    ("before", "source"),
    [
        ("", "{}"),
        ("WITH w AS ({}) ", "w"),
        ("WITH v AS ({}), w AS (SELECT * FROM v WHERE true) ", "w"),
        ("CREATE VIEW w AS {};", "w"),
        ("", "(SELECT * FROM ({}) AS v) AS w"),
    ],
)
def test_flinks_windows_are_final_wherever_they_stand(before: str, source: str) -> None:
    windows = "TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '1' HOUR))"
    form = windows if before + source == "{}" else f"SELECT * FROM {windows}"
    text = plan(
        f"{before.format(form)} SELECT window_start, window_end, count(*) AS n"
        f" FROM {source.format(form)} GROUP BY window_start, window_end"
    )
    assert "Aggregate by window_start, window_end closing window_end, n = count(*)" in text


def test_windows_of_flinks_windows_are_final() -> None:
    text = plan(
        "WITH w AS (SELECT window_start, window_end, id, count(*) AS n FROM TABLE("
        "TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '1' HOUR))"
        " GROUP BY window_start, window_end, id)"
        " SELECT window_start, window_end, max(n) AS m FROM w GROUP BY window_start, window_end"
    )
    assert text.count("Aggregate by window_start, window_end") == 2


def test_emit_of_the_statement_reaches_into_views() -> None:
    text = plan(
        "CREATE VIEW v AS SELECT window_end, count(*) AS n FROM TUMBLE(orders, order_time,"
        " INTERVAL '1' HOUR) GROUP BY window_end; CREATE SINK s FROM v EMIT ON WINDOW CLOSE"
    )
    assert "Aggregate by window_end closing window_end" in text


def test_risingwaves_windows_are_final_only_with_a_word() -> None:
    groups = (
        "WITH w AS (SELECT * FROM TUMBLE(orders, order_time, INTERVAL '1' HOUR))"
        " SELECT window_start, count(*) FROM w GROUP BY window_start"
    )
    assert "Aggregate by window_start closing window_start on update" in plan(groups)
    assert "on update" not in plan(f"{groups} EMIT ON WINDOW CLOSE")


def test_names_of_columns() -> None:
    head = plan('SELECT id, orders.price, id * 2, abs(id), id AS "Id2", abs(id) FROM orders')
    assert head.split("\n", maxsplit=1)[0] == (
        "Sink print print: id BIGINT, price DECIMAL(28,10), id * 2 BIGINT, abs BIGINT,"
        " Id2 BIGINT, abs#2 BIGINT"
    )


def test_an_ordinal_behind_a_star_counts_its_columns() -> None:
    text = plan("SELECT *, id * 2 AS twice FROM orders ORDER BY 2, 5 DESC, 3 EMIT ON WINDOW CLOSE")
    assert "Sort order_time, twice DESC NULLS FIRST, price ASC NULLS LAST ties" in text
