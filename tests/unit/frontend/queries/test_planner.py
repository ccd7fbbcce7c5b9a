"""Queries in queries: views, WITH, windows over windows, and what is said of the results."""

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


def test_windows_over_windows() -> None:
    text = plan(
        "SELECT window_end, max(n) AS m FROM TUMBLE((SELECT window_end AS t, id, count(*) AS n"
        " FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE) GROUP BY window_end, id), t,"
        " INTERVAL '1' HOUR) GROUP BY window_end EMIT ON WINDOW CLOSE"
    )
    assert text.count("Aggregate") == 2
    assert "Tumble t size 3600000000 offset 0" in text


@pytest.mark.slow
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
