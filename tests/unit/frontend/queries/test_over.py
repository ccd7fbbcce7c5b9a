from __future__ import annotations

import pytest

from kits.frontend import job, lines, plan
from tidegate.errors import BindError, UnsupportedError
from tidegate.plan.derivation import derive
from tidegate.plan.over import Frame, OverWindow, RecentRows

_BY_ID = "PARTITION BY id ORDER BY order_time"
_HOURS = "TUMBLE(orders, order_time, INTERVAL '1' HOUR)"


def _nodes(sql: str) -> list[OverWindow]:
    """The over-windows of ``sql``, the lowest first."""
    (sink,) = job(sql).sinks
    return [node for node in sink.walk() if isinstance(node, OverWindow)]


def _over(sql: str) -> str:
    """The one over-window of ``sql`` as text, without its word."""
    (node,) = _nodes(sql)
    return lines(node)[0].removeprefix("Over ")


def _of(call: str, source: str = "orders") -> str:
    return _over(f"SELECT {call} AS c FROM {source}")


@pytest.mark.slow
def test_a_call_is_a_column_of_a_node_below_the_query() -> None:
    assert plan(f"SELECT id, lag(price) OVER ({_BY_ID}) + 1 AS c FROM orders WHERE id > 5") == (
        "Sink print print: id BIGINT, c DECIMAL(29,10)\n"
        f'Project id = "id", c = "lag(price) OVER ({_BY_ID})" + 1\n'
        f"Over by id order order_time ASC NULLS LAST at order_time: lag(price) OVER ({_BY_ID})"
        " = lag(price, 1)\n"
        'Filter "id" > 5\n'
        "WatermarkFilter orders.order_time (orders): \"order_time\" - INTERVAL '5' SECOND\n"
        "Scan orders"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "said", "type_"),
    [
        ("lag(price)", "lag(price, 1)", "DECIMAL(28,10)"),
        ("LEAD(id, 3)", "lead(id, 3)", "BIGINT"),
        ("lag(id, 1 + 1) RESPECT NULLS", "lag(id, 2)", "BIGINT"),
        ("lag(id, 2, customer_id)", "lag(id, 2, customer_id)", "BIGINT"),
        ("lag(id, 2, 0)", "lag(id, 2, 0)", "BIGINT"),
        ("row_number()", "row_number()", "BIGINT"),
        ("dense_rank()", "dense_rank()", "BIGINT"),
        ("count(*)", "count() range ..0", "BIGINT"),
        ("count(price)", "count(price) range ..0", "BIGINT"),
        ("sum(id)", "sum(id) range ..0", "DECIMAL(38,0)"),
        ("avg(id)", "avg(id) range ..0", "DOUBLE"),
        ("first_value(order_time)", "first_value(order_time) range ..0", "TIMESTAMP"),
        ("sum(id) FILTER (WHERE price > 1)", "sum(id) range ..0 where price > 1", "DECIMAL(38,0)"),
    ],
)
def test_calls(call: str, said: str, type_: str) -> None:
    sql = f"SELECT {call} OVER ({_BY_ID}) AS c FROM orders"
    assert _over(sql) == f"by id order order_time ASC NULLS LAST at order_time: c = {said}"
    assert job(sql).sinks[0].schema[0].type == type_


@pytest.mark.slow
def test_what_is_computed_is_projected_below_once() -> None:
    text = plan(
        "SELECT lag(price*2) OVER w AS a, max(price * 2) OVER w AS b FROM orders"
        " WINDOW w AS (PARTITION BY id % 4, id ORDER BY order_time, price * 2 DESC)"
    )
    assert (
        "Over by id % 4, id order order_time ASC NULLS LAST, price * 2 DESC NULLS FIRST at"
        " order_time: a = lag(price * 2, 1), b = max(price * 2) range ..0\n"
        'Project id = "id", order_time = "order_time", price = "price",'
        ' customer_id = "customer_id", id % 4 = "id" % 4, price * 2 = "price" * 2\n'
    ) in text


def test_a_default_has_the_type_of_the_column() -> None:
    text = plan("SELECT lag(price, 1, 0) OVER (ORDER BY order_time) AS c FROM orders")
    assert "0 = CAST(0 AS DECIMAL(28,10))\n" in text
    assert "c = lag(price, 1, 0)" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("price", "price ASC NULLS LAST"),
        ("price DESC", "price DESC NULLS FIRST"),
        ("price NULLS FIRST", "price ASC NULLS FIRST"),
        ("price DESC NULLS LAST", "price DESC NULLS LAST"),
    ],
)
def test_null_is_the_largest_value(key: str, said: str) -> None:
    """S12, as in the query's own ORDER BY."""
    found = _of(f"row_number() OVER (ORDER BY order_time, {key})")
    assert found == f"order order_time ASC NULLS LAST, {said} at order_time: c = row_number()"
    sql = f"SELECT id FROM orders ORDER BY order_time, {key} EMIT ON WINDOW CLOSE"
    assert f"Sort order_time, {said} ties" in plan(sql)


@pytest.mark.slow
def test_calls_of_one_partition_and_order_share_a_node() -> None:
    one, other = _nodes(
        f"SELECT lag(id) OVER ({_BY_ID}) AS a, lead(id) OVER (ORDER BY order_time) AS b,"
        f" sum(id) OVER ({_BY_ID} ROWS 3 PRECEDING) AS c, lag(id) OVER ({_BY_ID}) + 1 AS d,"
        " lead(id) OVER (ORDER BY order_time, id) AS e FROM orders"
    )[:2]
    assert [call.function for call in one.calls] == ["lag", "sum"]
    assert [call.output.name for call in other.calls] == ["b"]
    assert other.input == one


@pytest.mark.slow
def test_different_partitions_are_nodes_above_each_other() -> None:
    (sink,) = job(
        "SELECT lag(id) OVER (PARTITION BY id ORDER BY order_time) AS a,"
        " lag(id) OVER (PARTITION BY customer_id ORDER BY order_time) AS b FROM orders"
    ).sinks
    assert lines(sink)[1:4] == [
        'Project a = "a", b = "b"',
        "Over by customer_id order order_time ASC NULLS LAST at order_time: b = lag(id, 1)",
        "Over by id order order_time ASC NULLS LAST at order_time: a = lag(id, 1)",
    ]
    assert derive(sink)["a"].describe() == "none: it is computed over several rows"


@pytest.mark.slow
def test_an_over_window_of_an_over_window() -> None:
    """Rows leave in the order of time, so they can be ordered by it again."""
    inner, outer = _nodes(
        f"SELECT sum(a) OVER (ORDER BY order_time) AS b FROM (SELECT order_time, lag(id) OVER"
        f" ({_BY_ID}) AS a FROM orders)"
    )
    assert [call.output.name for call in (*inner.calls, *outer.calls)] == ["a", "b"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "windows"),
    [
        ("OVER w", f"w AS ({_BY_ID})"),
        ("OVER W", f"w AS ({_BY_ID})"),
        ("OVER (w)", f"w AS ({_BY_ID})"),
        ("OVER (w ORDER BY order_time)", "w AS (PARTITION BY id)"),
        ("OVER w", "v AS (PARTITION BY id), w AS (v ORDER BY order_time)"),
        ("OVER w", "w AS (v ORDER BY order_time), v AS (PARTITION BY id)"),
    ],
)
def test_named_windows(call: str, windows: str) -> None:
    found = _over(f"SELECT count(*) {call} AS c FROM orders WINDOW {windows}")
    assert found == "by id order order_time ASC NULLS LAST at order_time: c = count() range ..0"


@pytest.mark.slow
def test_a_frame_is_added_to_a_named_window() -> None:
    sql = "SELECT count(*) OVER (w {}) AS c FROM orders WINDOW w AS (ORDER BY order_time {})"
    assert _over(sql.format("ROWS 2 PRECEDING", "")).endswith("c = count() rows -2..0")
    assert _over(sql.format("", "ROWS 2 PRECEDING")).endswith("c = count() rows -2..0")
    (node,) = _nodes(
        "SELECT count(*) OVER w AS a, count(*) OVER (w ROWS 2 PRECEDING) AS b FROM orders"
        " WINDOW w AS (ORDER BY order_time)"
    )
    assert len(node.calls) == 2


@pytest.mark.slow
def test_qualify_is_a_condition_above() -> None:
    text = plan(f"SELECT id FROM orders WHERE id > 1 QUALIFY row_number() OVER ({_BY_ID}) = 1")
    name = f"row_number() OVER ({_BY_ID})"
    assert f'Filter "{name}" = 1\nOver by id' in text
    assert 'row_number()\nFilter "id" > 1\n' in text
    for place in ("QUALIFY n = 1 WINDOW w AS ({})", "WINDOW w AS ({}) QUALIFY n = 1"):
        text = plan(f"SELECT id, row_number() OVER w AS n FROM orders {place.format(_BY_ID)}")
        assert 'Filter ("n") = 1\nOver by id' in text


@pytest.mark.slow
def test_top_n_of_each_window() -> None:
    """Final when the window is over, in any order."""
    assert plan(
        "SELECT id, n FROM (SELECT *, row_number() OVER (PARTITION BY window_start, window_end"
        f" ORDER BY price DESC) AS n FROM {_HOURS}) WHERE n <= 3"
    ).startswith(
        "Sink print print: id BIGINT, n BIGINT\n"
        'Project id = "id", n = "n"\n'
        'Filter "n" <= 3\n'
        "Over by window_start, window_end order price DESC NULLS FIRST at window_end:"
        " n = row_number()\n"
        "Tumble order_time size 3600000000 offset 0\n"
    )


@pytest.mark.parametrize("call", ["ntile(4)", "percent_rank()", "cume_dist()", "lag(id)"])
def test_whole_partitions_take_any_function(call: str) -> None:
    found = _of(f"{call} OVER (PARTITION BY window_end, id ORDER BY price)", _HOURS)
    assert found.startswith("by window_end, id order price ASC NULLS LAST at window_end: c = ")


def test_whole_partitions_need_no_order() -> None:
    found = _of("count(*) OVER (PARTITION BY window_end)", _HOURS)
    assert found == "by window_end at window_end: c = count() rows .."


def test_groups_are_ranked() -> None:
    groups = f"SELECT window_end, id, count(*) AS n FROM {_HOURS} GROUP BY window_end, id"
    (node,) = _nodes(
        f"SELECT *, rank() OVER (PARTITION BY window_end ORDER BY n DESC) AS r FROM ({groups})"
        " EMIT ON WINDOW CLOSE"
    )
    assert (node.time, node.by_partition, node.ties) == (
        "window_end",
        True,
        ("window_end", "id", "n"),
    )


@pytest.mark.parametrize(
    ("source", "ties"),
    [
        ("orders", ("__split", "__offset")),
        (_HOURS, ("__split", "__offset")),
        (
            "HOP(orders, order_time, INTERVAL '1' HOUR, INTERVAL '2' HOUR)",
            ("__split", "__offset", "window_end", "window_start"),
        ),
        (
            "(SELECT id, order_time FROM orders UNION ALL SELECT id, order_time FROM orders)",
            ("__split", "__offset", "id", "order_time"),
        ),
    ],
)
def test_what_orders_rows_of_equal_time(source: str, ties: tuple[str, ...]) -> None:
    (node,) = _nodes(f"SELECT lag(id) OVER (ORDER BY order_time) AS c FROM {source}")
    assert node.ties == ties


def test_rows_of_a_join_are_ordered_by_all_their_columns() -> None:
    (node,) = _nodes(
        "SELECT lag(a.id) OVER (ORDER BY a.order_time) AS c FROM orders AS a JOIN orders AS b"
        " ON a.order_time = b.order_time"
    )
    assert node.ties == tuple(column.name for column in node.input.schema)


def test_a_nested_time() -> None:
    found = _of("lag(event.message) OVER (PARTITION BY event.type ORDER BY event.log_ts)", "events")
    assert found == (
        "by event.type order event.log_ts ASC NULLS LAST at event.log_ts: c = lag(event.message, 1)"
    )


@pytest.mark.slow
def test_outputs_have_names_of_their_own() -> None:
    sql = "SELECT id, sum(id) OVER (ORDER BY order_time) AS id FROM orders"
    (sink,) = job(sql).sinks
    assert [column.name for column in sink.schema] == ["id", "id#2"]
    assert _nodes(sql)[0].calls[0].arguments == ("id",)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ("sum(lag(id) OVER w) OVER w", UnsupportedError, "OVER inside OVER"),
        ("lag(id) FILTER (WHERE id > 1) OVER w", BindError, "FILTER stands behind an aggregate"),
        ("sum(id, price) OVER w", BindError, "sum takes one argument, found 2"),
        ("lag(nope) OVER w", BindError, "unknown column 'nope'"),
        (
            "lag(id) OVER (PARTITION BY nope ORDER BY order_time)",
            BindError,
            "unknown column 'nope'",
        ),
    ],
)
def test_what_is_refused(call: str, error: type[Exception], message: str) -> None:
    """Most refusals are in errors.yaml."""
    with pytest.raises(error, match=message):
        job(f"SELECT {call} AS c FROM orders WINDOW w AS (ORDER BY order_time)")


def _judged(call: str) -> RecentRows:
    compiled = job(
        f"WITH w AS (WATERMARK((SELECT *, {call} AS x FROM plain), t, CASE WHEN id = 0 THEN NULL"
        " ELSE t - INTERVAL '1' MINUTE END)) SELECT * FROM w"
    )
    (found,) = (n for n in compiled.sinks[0].walk() if isinstance(n, RecentRows))
    return found


@pytest.mark.parametrize(
    ("call", "frame"),
    [
        ("max(t) OVER (ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)", Frame(True, -10)),
        ("count(*) OVER (ROWS 3 PRECEDING)", Frame(True, -3)),
        ("sum(id) FILTER (WHERE id > 1) OVER (ROWS BETWEEN 4 PRECEDING AND 2 PRECEDING)",
         Frame(True, -4, -2)),
        ("lag(id, 2, 0) OVER ()", None),
    ],
)  # fmt: skip
def test_below_a_watermark_a_split_has_an_order(call: str, frame: Frame | None) -> None:
    node = _judged(call)
    assert (node.id, node.account) == ("plain#recent1", "plain")
    assert [found.frame for found in node.calls] == [frame]


@pytest.mark.parametrize(
    "call",
    [
        "max(t) OVER ()",
        "max(t) OVER (ROWS UNBOUNDED PRECEDING)",
        "max(t) OVER (ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
        "lead(id) OVER ()",
        "row_number() OVER ()",
        "max(t) OVER (RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)",
    ],
)
def test_what_cannot_be_seen_from_a_row(call: str) -> None:
    with pytest.raises((UnsupportedError, BindError)):
        _judged(call)


def test_without_a_watermark_around_it_there_is_no_order() -> None:
    with pytest.raises(UnsupportedError, match="would wait for all rows"):
        job("SELECT max(t) OVER (ROWS 3 PRECEDING) FROM plain EMIT ON WINDOW CLOSE")


@pytest.mark.parametrize("name", ["CREATE VIEW v AS {};", "WITH v AS ({})"])
def test_the_order_of_a_split_in_a_query_with_a_name(name: str) -> None:
    inner = "SELECT *, max(t) OVER (ROWS 2 PRECEDING) AS x FROM plain"
    compiled = job(f"{name.format(inner)} SELECT * FROM WATERMARK(v, t, x)")
    assert any(isinstance(node, RecentRows) for node in compiled.sinks[0].walk())
