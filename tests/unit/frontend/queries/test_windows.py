from __future__ import annotations

import pytest

from kits.frontend import plan

_FORM = "TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '1' HOUR))"
_TIMED = "Tumble order_time size 3600000000 offset 0 with window_time"


@pytest.mark.slow
def test_the_time_is_part_of_star_in_flinks_form_only() -> None:
    head = "SELECT * FROM "
    assert plan(head + _FORM).startswith(
        "Sink print print: id BIGINT, order_time TIMESTAMP, price DECIMAL(28,10),"
        " customer_id BIGINT, window_start TIMESTAMP, window_end TIMESTAMP, window_time TIMESTAMP\n"
    )
    risingwave = plan(head + "TUMBLE(orders, order_time, INTERVAL '1' HOUR)")
    assert "window_time" not in risingwave
    zoned = plan(head + "TABLE(TUMBLE(TABLE plain, DESCRIPTOR(z), INTERVAL '1' HOUR))")
    assert "window_time TIMESTAMP WITH TIME ZONE" in zoned


@pytest.mark.parametrize(
    ("query", "there"),
    [
        ("SELECT window_time FROM {}", True),
        ("SELECT id FROM {}", False),
        ("SELECT id FROM {} WHERE window_end > order_time", False),
        ("SELECT id FROM {} WHERE window_time > order_time", True),
        ("SELECT id FROM (SELECT * FROM {} WHERE id > 3) WHERE id < 9", False),
        ("SELECT window_start, count(*) FROM {} GROUP BY window_start, window_end", False),
        ("SELECT window_time, count(*) FROM {} GROUP BY window_time", True),
    ],
)
def test_the_time_is_there_where_it_is_read(query: str, there: bool) -> None:
    assert (_TIMED in plan(query.format(_FORM))) == there


def test_a_bigint_has_no_millisecond() -> None:
    text = plan("SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(id), 100))")
    assert "window_end BIGINT\n" in text


@pytest.mark.slow
def test_the_time_is_a_time_attribute() -> None:
    text = plan(
        "WITH m AS (SELECT window_start, window_end, window_time AS rowtime, count(*) AS n FROM"
        f" {_FORM} GROUP BY window_start, window_end, window_time)"
        " SELECT window_end, sum(n) AS n FROM"
        " TABLE(TUMBLE(TABLE m, DESCRIPTOR(rowtime), INTERVAL '1' DAY))"
        " GROUP BY window_start, window_end"
    )
    assert "Aggregate by window_start, window_end closing window_end, n = sum(n)" in text
    assert "Aggregate by window_start, window_end, window_time closing window_end" in text


def test_windows_of_windows_take_the_time_too() -> None:
    text = plan(
        f"SELECT * FROM TABLE(TUMBLE((SELECT * FROM {_FORM}), DESCRIPTOR(window_time),"
        " INTERVAL '1' DAY))"
    )
    assert "Tumble window_time#2 size 86400000000 offset 0 with window_time" in text


@pytest.mark.slow
def test_a_window_in_group_by_is_the_window_in_from() -> None:
    legacy = plan(
        "SELECT TUMBLE_START(order_time, INTERVAL '1' HOUR) AS s, id, count(*) AS n FROM orders"
        " WHERE id > 3 GROUP BY TUMBLE(ORDER_TIME, INTERVAL '1' HOUR), id"
        " HAVING TUMBLE_END(order_time, INTERVAL '1' HOUR) > max(order_time)"
    )
    assert legacy == plan(
        "SELECT window_start AS s, id, count(*) AS n"
        " FROM TUMBLE((SELECT * FROM orders WHERE id > 3), order_time, INTERVAL '1' HOUR)"
        " GROUP BY window_start, window_end, id HAVING window_end > max(order_time)"
        " EMIT ON WINDOW CLOSE"
    )


def test_the_time_of_a_window_in_group_by() -> None:
    text = plan(
        "SELECT max(n) AS n FROM TUMBLE((SELECT TUMBLE_ROWTIME(event.log_ts, '1 day', '2 hours')"
        " AS t, count(*) AS n FROM events GROUP BY TUMBLE(event.log_ts, '1 day', '2 hours')),"
        " t, INTERVAL '7' DAY) GROUP BY window_end"
    )
    assert "Tumble event.log_ts size 86400000000 offset 7200000000 with window_time" in text
    assert "Aggregate by window_start, window_end, window_time closing window_end, n" in text


def test_names_and_sorting_of_windows_in_group_by() -> None:
    text = plan(
        "SELECT count(*), tumble_end(order_time, INTERVAL '1' HOUR) FROM orders"
        " GROUP BY TUMBLE(order_time, INTERVAL '1' HOUR)"
        " ORDER BY TUMBLE_END(order_time, INTERVAL '1' HOUR) EMIT ON WINDOW CLOSE"
    )
    assert text.startswith("Sink print print: count BIGINT, tumble_end TIMESTAMP\n")
    assert "Sort tumble_end ties window_start" in text


def test_columns_named_like_a_windows_keep_their_meaning() -> None:
    text = plan(
        "CREATE TABLE w (window_start BIGINT, t TIMESTAMP, WATERMARK FOR t AS t) WITH (connector ="
        " 'datagen'); SELECT max(window_start) AS m FROM w GROUP BY TUMBLE(t, INTERVAL '1' DAY)"
    )
    assert "m = max(window_start#2)" in text
