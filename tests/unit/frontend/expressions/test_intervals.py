from __future__ import annotations

import pytest

from kits.frontend import plan
from tidegate.errors import BindError

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("INTERVAL '5 minutes'", 5 * MINUTE),
        ("INTERVAL '5' MINUTES", 5 * MINUTE),
        ("INTERVAL 5 MINUTE", 5 * MINUTE),
        ("INTERVAL (5) MINUTE", 5 * MINUTE),
        ("INTERVAL '5 min'", 5 * MINUTE),
        ("INTERVAL ' 5 ' MINUTE", 5 * MINUTE),
        ("INTERVAL '+5' MINUTE(2)", 5 * MINUTE),
        ("INTERVAL '1 day 2 hours'", 26 * HOUR),
        ("INTERVAL '01:30' HOUR TO MINUTE", 90 * MINUTE),
        ("INTERVAL '01:30' MINUTE TO SECOND", 90 * SECOND),
        ("INTERVAL '1:02:03.5' HOUR TO SECOND(3)", HOUR + 2 * MINUTE + 3 * SECOND + SECOND // 2),
        ("INTERVAL '1 02' DAY(3) TO HOUR", 26 * HOUR),
        ("INTERVAL '1 02:03' DAY TO MINUTE", 26 * HOUR + 3 * MINUTE),
        ("INTERVAL '10 00:00:01' DAY TO SECOND", 10 * DAY + SECOND),
        ("INTERVAL '1 02:00:00'", 26 * HOUR),
        ("INTERVAL '01:30:00'", 90 * MINUTE),
        ("INTERVAL '1 day 02:00:00'", 26 * HOUR),
        ("INTERVAL '1 day -00:30:00'", 23 * HOUR + 30 * MINUTE),
        ("INTERVAL '1' MINUTE + 2 * INTERVAL '1' SECOND", 62 * SECOND),
        ("INTERVAL '0.5' SECOND", SECOND // 2),
        ("INTERVAL '.5' SECOND", SECOND // 2),
        ("INTERVAL '1.5' HOUR", 90 * MINUTE),
        ("INTERVAL 0.25 MINUTE", 15 * SECOND),
        ("INTERVAL '5.123' SECOND(2, 3)", 5_123_000),
        ("INTERVAL '2' WEEK", 14 * DAY),
        ("INTERVAL '500' MILLISECOND", SECOND // 2),
        ("INTERVAL '7'", 7 * SECOND),
        ("'5 min'", 5 * MINUTE),
        ("'1 02:00:00'", 26 * HOUR),
    ],
)
def test_spellings(text: str, size: int) -> None:
    line = f"Tumble order_time size {size} offset 0"
    assert line in plan(f"SELECT window_end FROM TUMBLE(orders, order_time, {text})")


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("'5' SECOND", "INTERVAL '5' SECOND"),
        ("INTERVAL - '5' SECOND", "INTERVAL '-5000000 microseconds'"),
        ("INTERVAL -'01:30' HOUR TO MINUTE", "INTERVAL '-5400000000 microseconds'"),
        ("INTERVAL '-1 02' DAY TO HOUR", "INTERVAL '-1 days -7200000000 microseconds'"),
        ("INTERVAL '-1 02:00:00'", "INTERVAL '-1 days -7200000000 microseconds'"),
        ("INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '14 months'"),
        ("INTERVAL '1' MONTH", "INTERVAL '1' MONTH"),
        ("INTERVAL '5 minutes ago'", "INTERVAL '-300000000 microseconds'"),
        ("INTERVAL '0.0' DAY", "INTERVAL '0 days'"),
        ("INTERVAL id MINUTE", "((\"id\") * INTERVAL '1' MINUTE)"),
        ("INTERVAL (id * 2.5) MIN", "((\"id\" * 2.5) * INTERVAL '60000000 microseconds')"),
    ],
)
def test_in_expressions(text: str, sql: str) -> None:
    assert f'x = "order_time" - {sql}' in plan(f"SELECT order_time - {text} AS x FROM orders")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("INTERVAL 'x' SECOND", "'x' is not a number of SECOND"),
        ("INTERVAL '5' FORTNIGHT", "'5' is not an interval of FORTNIGHT"),
        ("INTERVAL 'soon'", "'soon' is not an interval"),
        ("INTERVAL 'about 5 minutes'", "'about 5 minutes' is not an interval"),
        ("INTERVAL '.5 hours'", "'.5 hours' is not an interval"),
        ("INTERVAL 'P5M'", "'P5M' is not an interval"),
        ("INTERVAL '01:61' HOUR TO MINUTE", "has 61 for MINUTE, which ends at 59"),
        ("INTERVAL '5' HOUR TO MINUTE", "'5' is not an interval HOUR TO MINUTE"),
        ("INTERVAL '5:' HOUR TO MINUTE", "'5:' is not an interval HOUR TO MINUTE"),
        ("INTERVAL '5' MINUTE TO HOUR", "there are no intervals MINUTE TO HOUR"),
        ("INTERVAL '5' MONTH TO DAY", "there are no intervals MONTH TO DAY"),
        ("INTERVAL '100000000000000000000' DAY", "is not an interval of DAY"),
        ("INTERVAL (customer_id)", "this is not an interval"),
    ],
)
def test_what_is_no_interval(text: str, said: str) -> None:
    with pytest.raises(BindError, match=said) as caught:
        plan(f"SELECT order_time - {text} AS x FROM orders")
    assert caught.value.hint


def test_a_number_behind_an_interval_is_none() -> None:
    with pytest.raises(BindError, match="argument types do not match"):
        plan("SELECT order_time - (INTERVAL '1' MINUTE + 5) AS x FROM orders")


@pytest.mark.parametrize("text", ["'1' MONTH", "'1-2' YEAR TO MONTH", "'0.1' YEAR", "'1 month'"])
def test_windows_have_no_months(text: str) -> None:
    with pytest.raises(BindError, match="months or years") as caught:
        plan(f"SELECT window_end FROM TUMBLE(orders, order_time, INTERVAL {text})")
    assert caught.value.hint == "write it in days: INTERVAL '30' DAY"
