"""S4 over plans: what has a watermark, from where, and where it was lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kits.frontend import job
from tidegate.plan.derivation import closing_key, derive
from tidegate.plan.nodes import WatermarkFilter
from tidegate.types import Column


def _derived(sql: str) -> dict[str, str]:
    (sink,) = job(sql).sinks
    return {name: derived.describe() for name, derived in derive(sink).items()}


def test_the_rfcs_tumble() -> None:
    derived = _derived("SELECT order_time, window_start, window_end, id"
                       " FROM TUMBLE(orders, order_time, INTERVAL '30' MINUTE)")  # fmt: skip
    assert derived == {
        "order_time": "order_time",
        "window_start": "tumble_start(order_time)",
        "window_end": "tumble_end(order_time)",
        "id": "none: no watermark is declared on it",
    }


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("order_time", "order_time"),
        ("order_time - INTERVAL '1' HOUR", "order_time - INTERVAL '1' HOUR"),
        ("date_trunc('day', order_time)", "date_trunc('day', order_time)"),
        ("CAST(EXTRACT(EPOCH FROM order_time) AS BIGINT)",
         "CAST(EXTRACT(EPOCH FROM order_time) AS BIGINT)"),
        ("EXTRACT(EPOCH FROM order_time)", "EXTRACT(EPOCH FROM order_time)"),
        ("CAST(EXTRACT(EPOCH FROM order_time) AS DOUBLE)", "none: DOUBLE carries no watermark"),
        ("CAST(order_time AS DATE)", "none: DATE carries no watermark"),
        ("order_time + INTERVAL '1' MONTH", "none: months and years have no fixed length"),
        ("order_time + id * INTERVAL '1' DAY", "none: it depends on id and order_time"),
        ("id + 1", "none: no watermark is declared on it"),
        ("price + id", "none: no watermark is declared on it"),
        ("7", "none: it is a constant"),
        ("now()", "none: it is the processing time"),
    ],
)  # fmt: skip
def test_projections(expression: str, said: str) -> None:
    assert _derived(f"SELECT {expression} AS x FROM orders")["x"] == said


def test_functions_of_functions() -> None:
    derived = _derived(
        "SELECT date_trunc('day', h) AS d FROM (SELECT window_end - INTERVAL '1' HOUR AS h"
        " FROM TUMBLE(orders, order_time, INTERVAL '1' HOUR))"
    )
    assert derived["d"] == "date_trunc('day', tumble_end(order_time) - INTERVAL '1' HOUR)"


def test_stacked_filters_keep_both_columns() -> None:
    derived = _derived("SELECT id, order_time, price FROM WATERMARK(orders, id, id - 5)")
    assert derived["id"] == "id"
    assert derived["order_time"] == "order_time"


def test_groups_keep_the_closing_window_only() -> None:
    derived = _derived(
        "SELECT window_start, window_end, order_time, id, count(*) AS n FROM TUMBLE(orders,"
        " order_time, INTERVAL '1' HOUR) GROUP BY window_start, window_end, order_time, id"
        " EMIT ON WINDOW CLOSE"
    )
    assert derived == {
        "window_start": "tumble_start(order_time)",
        "window_end": "tumble_end(order_time)",
        "order_time": "none: groups leave in the order of window_end",
        "id": "none: no watermark is declared on it",
        "n": "none: it is an aggregate",
    }


def test_a_sort_keeps_its_own_column() -> None:
    derived = _derived(
        "SELECT order_time, order_time + INTERVAL '1' DAY AS next FROM orders ORDER BY order_time"
        " EMIT ON WINDOW CLOSE"
    )
    assert derived["order_time"] == "order_time"
    assert derived["next"] == "none: rows leave in the order of order_time"


def test_the_watermark_before_the_row_has_none() -> None:
    (sink,) = job("SELECT * FROM orders").sinks
    below = next(node for node in sink.walk() if isinstance(node, WatermarkFilter))
    schema = (*below.schema, Column("w", below.column_of("order_time").type))
    derived = derive(replace(below, schema=schema, before="w"))
    assert derived["order_time"].describe() == "order_time"
    assert derived["w"].lost == "it is the watermark before the row"


def test_a_computed_clock_says_so() -> None:
    (sink,) = job(
        "CREATE TABLE x (id BIGINT, pt AS PROCTIME(), one AS 1) WITH (connector = 'datagen');"
        " SELECT * FROM x"
    ).sinks
    said = {name: derived.lost for name, derived in derive(sink).items()}
    assert said == {
        "id": "no watermark is declared on it",
        "pt": "it is the processing time",
        "one": "it is a constant",
    }


def test_where_a_watermark_comes_from() -> None:
    (sink,) = job("SELECT window_end FROM TUMBLE(events, event.log_ts, INTERVAL '1' HOUR)").sinks
    derived = derive(sink)["window_end"]
    assert (derived.filter_id, derived.source) == ("events.event.log_ts", "event.log_ts")
    assert derived.window is not None
    assert derived.window[1] == "window_end"


def test_the_time_of_flinks_windows_outlives_groups() -> None:
    derived = _derived(
        "SELECT window_time, window_end, count(*) AS n FROM TABLE(TUMBLE(TABLE orders,"
        " DESCRIPTOR(order_time), INTERVAL '1' HOUR)) GROUP BY window_time, window_end"
    )
    assert derived["window_time"] == "tumble_time(order_time)"
    assert derived["window_end"] == "tumble_end(order_time)"


def test_closing_keys() -> None:
    (sink,) = job("SELECT * FROM TUMBLE(orders, order_time, INTERVAL '1' HOUR)").sinks
    derived = derive(sink)
    assert closing_key(("id", "order_time", "window_start", "window_end"), derived) == "window_end"
    assert closing_key(("order_time", "window_start"), derived) == "window_start"
    assert closing_key(("id", "order_time"), derived) == "order_time"
    assert closing_key(("id", "price"), derived) is None
    flink = "TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '1' HOUR))"
    (sink,) = job(f"SELECT * FROM {flink}").sinks
    keys = ("id", "order_time", "window_start", "window_time", "window_end")
    assert closing_key(keys, derive(sink)) == "window_end"
    assert closing_key(keys[:-1], derive(sink)) == "window_time"
