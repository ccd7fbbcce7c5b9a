from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.panes import Paned, paned
from tidegate.plan.windows import Tumble

HOP = "FROM HOP(orders, order_time, INTERVAL '20' SECOND, INTERVAL '1' MINUTE)"
TUMBLE = "FROM TUMBLE(orders, order_time, INTERVAL '1' HOUR)"
SECOND = 1_000_000


def of(sql: str) -> Paned | None:
    (sink,) = job(f"{sql} EMIT ON WINDOW CLOSE").sinks
    (node,) = [node for node in sink.walk() if isinstance(node, Aggregate)]
    return paned(node)


def test_rows_are_grouped_by_the_panes_that_windows_share() -> None:
    found = of(f"SELECT window_end, id, sum(price) {HOP} WHERE price > 1 GROUP BY window_end, id")
    assert found is not None
    assert found.parts == (("window_end", "window_end"),)
    assert found.aggregate.keys == (found.pane, "id")
    (panes,) = [node for node in found.aggregate.walk() if isinstance(node, Tumble)]
    assert (panes.size, panes.offset, panes.with_time) == (20 * SECOND, 0, False)


def test_panes_lie_where_windows_begin() -> None:
    found = of(
        "SELECT window_start, count(*) FROM CUMULATE(orders, order_time, INTERVAL '20' SECOND,"
        " INTERVAL '1' MINUTE, INTERVAL '45' SECOND) GROUP BY window_start"
    )
    assert found is not None
    (panes,) = [node for node in found.aggregate.walk() if isinstance(node, Tumble)]
    assert (panes.size, panes.offset) == (20 * SECOND, 5 * SECOND)


def test_windows_may_be_passed_on_by_queries() -> None:
    inner = f"SELECT id AS i, window_end AS e, window_start {HOP} WHERE id > 1"
    found = of(f"SELECT e, i, count(*) FROM ({inner}) WHERE i < 9 GROUP BY e, i")
    assert found is not None
    assert found.parts == (("e", "window_end"),)


def test_the_pane_has_a_name_of_its_own() -> None:
    inner = f"SELECT id AS window_start, window_end {HOP}"
    found = of(f"SELECT window_start, window_end, count(*) FROM ({inner}) GROUP BY 1, 2")
    assert found is not None
    assert found.aggregate.keys == ("window_start_", "window_start")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT window_end, max(window_start) {HOP} GROUP BY window_end",
        f"SELECT window_end, max(order_time - window_start) {HOP} GROUP BY window_end",
        f"SELECT window_end, count(*) {HOP} WHERE window_start < order_time GROUP BY window_end",
        f"SELECT window_end + INTERVAL '1' HOUR AS e, count(*) {HOP} GROUP BY e",
        f"SELECT e, count(*) FROM (SELECT window_end AS e {HOP}) WHERE e > now() GROUP BY e",
        f"SELECT window_end, count(*) {TUMBLE} GROUP BY window_end",
        "SELECT order_time, count(*) FROM orders GROUP BY order_time",
    ],
)
def test_where_more_reads_the_window_there_are_none(sql: str) -> None:
    assert of(sql) is None
