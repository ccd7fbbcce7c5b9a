from __future__ import annotations

import pytest

from kits.frontend import filters_of, job, kafka_plan, plan
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.nodes import Project, Scan

_HOURS = "TUMBLE(orders, order_time, INTERVAL '1' HOUR)"


def test_the_filter_adds_a_column() -> None:
    assert plan("SELECT id, CURRENT_WATERMARK(order_time) AS w FROM orders WHERE id > 1") == (
        "Sink print print: id BIGINT, w TIMESTAMP\n"
        'Project id = "id", w = "__watermark_of_order_time"\n'
        'Filter "id" > 1\n'
        "WatermarkFilter orders.order_time (orders): \"order_time\" - INTERVAL '5' SECOND\n"
        "Scan orders"
    )
    (found,) = filters_of(job("SELECT CURRENT_WATERMARK(orders.order_time) FROM orders"))
    assert found.before == "__watermark_of_order_time"
    assert found.schema[-1].type == "TIMESTAMP"


def test_flinks_filter_for_late_rows() -> None:
    text = plan(
        "SELECT id FROM orders WHERE current_watermark(order_time) IS NULL"
        " OR order_time > CURRENT_WATERMARK(order_time)"
    )
    assert 'Project id = "id"\nFilter "__watermark_of_order_time" IS NULL OR' in text


@pytest.mark.parametrize(
    "source",
    [
        "(SELECT order_time AS t, price FROM orders WHERE id > 2)",
        "(SELECT t FROM (SELECT order_time AS t FROM orders))",
        "(SELECT order_time AS t, window_end FROM TUMBLE(orders, order_time, INTERVAL '1' DAY))",
        "WATERMARK((SELECT id, order_time AS t FROM orders), id, id - 5)",
    ],
)
def test_it_passes_what_lies_between(source: str) -> None:
    (sink,) = job(f"SELECT CURRENT_WATERMARK(t) AS w FROM {source}").sinks
    assert isinstance(sink.input, Project)
    assert [expr.sql for _, expr in sink.input.columns] == ['"__watermark_of_order_time"']
    for node in sink.walk():
        for below in node.inputs:
            known = {column.name for column in below.schema}
            if isinstance(node, Project):
                assert {name for _, expr in node.columns for name in expr.columns} <= known


def test_of_a_nested_column_and_of_a_bigint() -> None:
    text = plan("SELECT CURRENT_WATERMARK(event.log_ts) AS w FROM events")
    assert 'Project w = "__watermark_of_event.log_ts"' in text
    text = plan("SELECT CURRENT_WATERMARK(id) AS w FROM WATERMARK(plain, id, id - 5)")
    assert text.startswith("Sink print print: w BIGINT")


def test_inside_an_aggregate_it_has_a_name_that_is_not_the_engines() -> None:
    (sink,) = job(
        f"SELECT window_end, max(CURRENT_WATERMARK(order_time)) AS w FROM {_HOURS}"
        " GROUP BY window_end EMIT ON WINDOW CLOSE"
    ).sinks
    (aggregate,) = [node for node in sink.walk() if isinstance(node, Aggregate)]
    assert [column.name for column in aggregate.input.schema] == [
        "window_end",
        "CURRENT_WATERMARK(order_time)",
    ]


@pytest.mark.slow
def test_of_stacked_filters_the_upper_one() -> None:
    inner = "(SELECT *, CURRENT_WATERMARK(order_time) AS below FROM orders)"
    (sink,) = job(
        f"SELECT CURRENT_WATERMARK(order_time) AS w, below FROM WATERMARK({inner}, order_time,"
        " order_time - '1' SECOND)"
    ).sinks
    names = [found.before for found in filters_of(job("SELECT id FROM orders"))]
    assert names == [""]
    befores = [node.before for node in sink.walk() if hasattr(node, "before")]
    assert befores == ["__watermark_of_order_time", "__watermark_of_order_time#2"]


def test_the_upper_one_beside_a_query_that_asks_for_the_lower_one() -> None:
    """The columns had one name, and the job ended in its first epoch."""
    around = "WATERMARK(orders, order_time, order_time - '1' SECOND)"
    ask = "SELECT CURRENT_WATERMARK(order_time) AS w FROM"
    compiled = job(f"{ask} orders; {ask} {around}; SELECT id FROM {around}")
    for sink in compiled.sinks:
        for node in sink.walk():
            names = [column.name for column in node.schema]
            assert len(names) == len(set(names))


def test_queries_that_ask_and_others_share_one_account() -> None:
    compiled = job(
        f"SELECT id FROM orders; SELECT CURRENT_WATERMARK(order_time) FROM orders; SELECT"
        f" window_end, count(*) AS n FROM {_HOURS} GROUP BY window_end EMIT ON WINDOW CLOSE;"
        " SELECT order_time FROM orders ORDER BY order_time EMIT ON WINDOW CLOSE;"
        " SELECT * FROM orders"
    )
    (found,) = filters_of(compiled)
    assert found.account == "orders"
    scans = [node for sink in compiled.sinks for node in sink.walk() if isinstance(node, Scan)]
    assert {scan.account for scan in scans} == {"orders"}
    for sink in compiled.sinks:
        assert sink.input.schema == sink.schema
        assert not any(column.name.startswith("__") for column in sink.schema)


def test_of_the_default_watermark() -> None:
    text = kafka_plan("SELECT id, CURRENT_WATERMARK(`$rowtime`) AS w FROM clicks")
    assert text.startswith("Sink print print: id INTEGER, w TIMESTAMP WITH TIME ZONE")
