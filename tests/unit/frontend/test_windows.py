from __future__ import annotations

import pytest

from frontend_kit import plan

_FORM = "TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '1' HOUR))"
_TIMED = "Tumble order_time size 3600000000 offset 0 with window_time"


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
