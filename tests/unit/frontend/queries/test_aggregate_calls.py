from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.plan.nodes import Project, SortKey

_FROM = "FROM TUMBLE(orders, order_time, INTERVAL '1' HOUR) GROUP BY window_end"


def call(select: str) -> AggregateCall:
    (sink,) = job(f"SELECT {select} {_FROM} EMIT ON WINDOW CLOSE").sinks
    (aggregate,) = (node for node in sink.walk() if isinstance(node, Aggregate))
    (found,) = aggregate.calls
    return found


@pytest.mark.parametrize(
    ("written", "function", "type_"),
    [
        ("stddev(id)", "stddev_samp", "DOUBLE"),
        ("VARIANCE(id)", "var_samp", "DOUBLE"),
        ("any_value(id)", "min", "BIGINT"),
        ("every(id > 1)", "bool_and", "BOOLEAN"),
        ("list(order_time)", "array_agg", "TIMESTAMP[]"),
        ("mode() WITHIN GROUP (ORDER BY id)", "mode", "BIGINT"),
    ],
)
def test_other_names(written: str, function: str, type_: str) -> None:
    found = call(written)
    assert (found.function, found.output.type, found.distinct) == (function, type_, False)


def test_an_approximation_may_be_exact() -> None:
    found = call("approx_count_distinct(id)")
    assert (found.function, found.distinct, found.argument) == ("count", True, "id")


@pytest.mark.parametrize(
    ("written", "argument", "parameter"),
    [
        ("percentile_cont(0.25) WITHIN GROUP (ORDER BY id)", "id", "0.25::DOUBLE"),
        ("quantile_disc(id, 1)", "id", "1.0::DOUBLE"),
        ("string_agg(lower('X'), ' it''s ')", "lower('X')", "' it''s '"),
        ("listagg(lower('X'))", "lower('X')", "','"),
    ],
)
def test_constants(written: str, argument: str, parameter: str) -> None:
    found = call(written)
    assert (found.argument, found.parameter) == (argument, parameter)


def test_lists_come_in_any_order() -> None:
    found = call("array_agg(id ORDER BY price DESC, order_time NULLS FIRST, id)")
    assert found.order == (
        SortKey("price", descending=True, nulls_first=True),
        SortKey("order_time", nulls_first=True),
        SortKey("id"),
    )
    assert found.by_source
    assert found.columns == ("id", "price", "order_time", "id")
    within = call("listagg(CAST(id AS VARCHAR), '-') WITHIN GROUP (ORDER BY id DESC)")
    assert within.order == (SortKey("id", descending=True, nulls_first=True),)


def test_what_needs_no_order_reads_no_split() -> None:
    assert not call("array_agg(DISTINCT id)").by_source
    assert not call("median(id)").by_source
    assert call("max_by(id, price)").by_source


def test_the_value_of_the_row_that_another_column_picks() -> None:
    found = call("arg_max(id, price)")
    assert (found.function, found.argument, found.order) == ("max_by", "id", (SortKey("price"),))


def test_conditions_of_count_if_and_filter_hold_together() -> None:
    found = call("count_if(id > 1) FILTER (WHERE price > 2)")
    assert (found.function, found.argument, found.distinct) == ("count", None, False)
    assert found.where is not None
    (sink,) = job(
        f"SELECT count_if(id > 1) FILTER (WHERE price > 2) {_FROM} EMIT ON WINDOW CLOSE"
    ).sinks
    (aggregate,) = (node for node in sink.walk() if isinstance(node, Aggregate))
    (project,) = aggregate.inputs
    assert isinstance(project, Project)
    assert dict(project.columns)[found.where].sql == '("price" > 2) AND ("id" > 1)'
