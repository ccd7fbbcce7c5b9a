"""What IGNORE NULLS is planned as; the values are in tests/simulation/test_ignore_nulls.py."""

from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.plan.over import Frame, OverCall, OverWindow

_IN_TIME = "SELECT {} OVER (PARTITION BY customer_id ORDER BY order_time{}) AS c FROM orders"
_IN_WINDOWS = (
    "SELECT {} OVER (PARTITION BY window_start, window_end ORDER BY price) AS c"
    " FROM TUMBLE(orders, order_time, INTERVAL '1' HOUR)"
)


def _call(sql: str) -> OverCall:
    (over,) = (node for node in job(sql).sinks[0].walk() if isinstance(node, OverWindow))
    (call,) = over.calls
    return call


@pytest.mark.parametrize("call", ["lag(price) IGNORE NULLS", "LAG(price, 1 IGNORE NULLS)"])
def test_lag_is_the_last_value_of_all_rows_before(call: str) -> None:
    found = _call(_IN_TIME.format(call, ""))
    assert (found.function, found.frame, found.offset) == ("last_value", Frame(True, None, -1), 0)
    assert found.arguments == ("price",)
    assert found.where == '("price") IS NOT NULL'


def test_lead_is_the_first_value_of_all_rows_behind() -> None:
    found = _call(_IN_WINDOWS.format("lead(price) IGNORE NULLS"))
    assert (found.function, found.frame) == ("first_value", Frame(True, 1, None))


def test_a_filter_holds_besides() -> None:
    call = "first_value(price) FILTER (WHERE id > 1) IGNORE NULLS"
    found = _call(_IN_TIME.format(call, " ROWS 3 PRECEDING"))
    assert found.frame == Frame(True, -3)
    assert found.where == '("id" > 1) AND ("price") IS NOT NULL'


@pytest.mark.parametrize("call", ["lag(price)", "first_value(price)"])
def test_respecting_them_is_what_is_meant(call: str) -> None:
    plain = _call(_IN_TIME.format(call, ""))
    assert plain.where is None
    assert _call(_IN_TIME.format(f"{call} RESPECT NULLS", "")) == plain
