from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.errors import BindError
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.early import Early
from tidegate.types import Column

_EARLY = "EMIT ON WINDOW CLOSE EARLY EVERY INTERVAL '1' MINUTE"
_WINDOWS = "TUMBLE(orders, order_time, INTERVAL '1' HOUR)"
_COUNTS = f"SELECT window_end, count(*) AS n FROM {_WINDOWS} GROUP BY window_end"


def earlies(sql: str) -> list[Early | None]:
    """What the aggregates of the first sink say, inputs first."""
    (sink,) = job(sql).sinks
    return [node.early for node in sink.walk() if isinstance(node, Aggregate)]


def minute(time: str) -> Early:
    return Early(Column(time, "TIMESTAMP"), 60_000_000)


@pytest.mark.parametrize(
    ("query", "time"),
    [
        (_COUNTS, "order_time"),
        (f"SELECT count(*) FROM {_WINDOWS} WHERE price > 1 GROUP BY window_start", "order_time"),
        (
            (
                "SELECT count(*) FROM HOP(orders, order_time, INTERVAL '1' HOUR, INTERVAL '2' HOUR)"
                " GROUP BY window_end, id"
            ),
            "order_time",
        ),
        (
            "SELECT count(*) FROM orders GROUP BY TUMBLE(order_time, INTERVAL '1' HOUR)",
            "order_time",
        ),
        (
            (
                "SELECT count(*) FROM TABLE(CUMULATE(TABLE orders, DESCRIPTOR(order_time), INTERVAL"
                " '1' HOUR, INTERVAL '1' DAY)) GROUP BY window_time"
            ),
            "order_time",
        ),
        ("SELECT count(*) FROM orders GROUP BY DATE_TRUNC('day', order_time)", "order_time"),
        (
            (
                "SELECT count(*) FROM (SELECT id, order_time AS o, DATE_TRUNC('day', order_time)"
                " AS d FROM orders) GROUP BY d"
            ),
            "o",
        ),
        (
            (
                f"SELECT count(*) FROM (SELECT * FROM {_WINDOWS} UNION ALL SELECT * FROM"
                f" {_WINDOWS}) GROUP BY window_end"
            ),
            "order_time",
        ),
    ],
)
def test_ticks_are_of_the_time_of_which_the_closing_key_is_made(query: str, time: str) -> None:
    assert earlies(f"{query} {_EARLY}") == [minute(time)]


@pytest.mark.slow
def test_the_words_may_stand_the_other_way_round() -> None:
    every = "EARLY EVERY INTERVAL '1' MINUTE"
    assert earlies(f"{_COUNTS} EMIT {every} ON WINDOW CLOSE") == [minute("order_time")]
    assert earlies(f"CREATE SINK s AS {_COUNTS} EMIT {every} ON WINDOW CLOSE") == [
        minute("order_time")
    ]
    assert earlies(f"CREATE VIEW v AS {_COUNTS}; CREATE SINK s FROM v {_EARLY}") == [
        minute("order_time")
    ]
    assert earlies(f"CREATE VIEW v AS {_COUNTS} {_EARLY}; SELECT n FROM v") == [
        minute("order_time")
    ]


def test_only_the_last_aggregation_is_early() -> None:
    later = "TUMBLE(hours, window_end, INTERVAL '1' DAY)"
    query = f"WITH hours AS ({_COUNTS}) SELECT sum(n) FROM {later} GROUP BY window_end"
    found = earlies(f"{query} {_EARLY}")
    assert found[0] is None
    assert found[1] == minute("window_end#2") or found[1] == minute("window_end")


def test_each_grouping_is_early() -> None:
    sets = "GROUPING SETS ((window_end), (window_end, id))"
    query = f"SELECT window_end, id, count(*) FROM {_WINDOWS} GROUP BY {sets}"
    assert earlies(f"{query} {_EARLY}") == [minute("order_time")] * 2


def test_a_number_has_ticks_of_its_own_unit() -> None:
    table = (
        "CREATE TABLE x (b BIGINT, WATERMARK FOR b AS b - 5) WITH (connector = 'filesystem',"
        " path = 'p', format = 'json');"
    )
    query = "SELECT count(*) FROM TUMBLE(x, b, 100) GROUP BY window_end EMIT ON WINDOW CLOSE"
    assert earlies(f"{table} {query} EARLY EVERY 7") == [Early(Column("b", "BIGINT"), 7)]


def test_a_time_that_is_not_selected_gives_no_ticks() -> None:
    inner = f"SELECT window_end, price FROM {_WINDOWS}"
    with pytest.raises(BindError, match="have no early results"):
        job(f"SELECT sum(price) FROM ({inner}) GROUP BY window_end {_EARLY}")


def test_a_sink_that_keeps_all_it_gets_says_what_to_leave_out() -> None:
    with pytest.raises(BindError) as caught:
        job(
            "INSERT INTO target (id, t) SELECT count(*), window_end FROM"
            f" {_WINDOWS} GROUP BY window_end {_EARLY}"
        )
    assert "(filesystem) takes only final rows" in caught.value.message
    assert caught.value.hint.startswith("leave EARLY EVERY out")
