"""Which columns are left out below operators that send or keep rows."""

from __future__ import annotations

import pytest

from kits.frontend import job, lines
from tidegate.plan.joins import Join, Union
from tidegate.plan.nodes import Node, Scan, Sink, Sort, WatermarkFilter
from tidegate.plan.pruning import pruned
from tidegate.plan.windows import Session

_SAME_TIME = "a.order_time = b.order_time"


def _pruned(sql: str) -> Sink:
    (sink,) = pruned(job(sql).sinks)
    return sink


def _names(node: Node) -> list[str]:
    return [column.name for column in node.schema]


def _kept(sql: str, kind: type[Node]) -> list[list[str]]:
    """The columns of the inputs of the one node of ``kind``."""
    (found,) = [node for node in _pruned(sql).walk() if isinstance(node, kind)]
    return [_names(below) for below in found.inputs]


@pytest.mark.slow
def test_a_join_keeps_what_is_read_behind_it_and_what_decides() -> None:
    sql = f"SELECT a.id FROM orders a JOIN orders b ON {_SAME_TIME} AND a.customer_id = b.id"
    assert _kept(sql, Join) == [["id", "order_time", "customer_id"], ["id#2", "order_time#2"]]
    assert _kept(f"{sql} AND a.price > b.price", Join) == [
        ["id", "order_time", "price", "customer_id"],
        ["id#2", "order_time#2", "price#2"],
    ]
    assert _kept(f"{sql} WHERE b.price > 1", Join)[1] == ["id#2", "order_time#2", "price#2"]


def test_the_schema_of_a_join_is_that_of_its_sides() -> None:
    for kind in ("LEFT", "LEFT SEMI"):
        sink = _pruned(f"SELECT a.price FROM orders a {kind} JOIN orders b ON {_SAME_TIME}")
        (join,) = [node for node in sink.walk() if isinstance(node, Join)]
        both = ["order_time", "price", "order_time#2"]
        assert _names(join) == (both if join.kind.has_right else both[:2])


def test_sessions_and_sorts() -> None:
    session = "SESSION(orders, order_time, customer_id, INTERVAL '1' HOUR)"
    assert _kept(f"SELECT window_end FROM {session} EMIT ON WINDOW CLOSE", Session) == [
        ["order_time", "customer_id"]
    ]
    ordered = "SELECT id FROM (SELECT * FROM orders) ORDER BY order_time EMIT ON WINDOW CLOSE"
    assert sorted(_kept(ordered, Sort)[0]) == ["id", "order_time"]


def test_the_parts_of_a_union_keep_the_same_columns() -> None:
    part = "SELECT id, order_time, price FROM orders"
    sql = f"SELECT price, id FROM ({part} UNION ALL {part} UNION ALL SELECT id, t, 1 FROM plain)"
    assert _kept(sql, Union) == [["id", "price"]] * 3
    (sink,) = pruned(job(f"SELECT 1 AS one FROM ({part} UNION ALL {part})").sinks)
    (union,) = [node for node in sink.walk() if isinstance(node, Union)]
    assert [_names(part) for part in (union, *union.branches)] == [["id"]] * 3


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM orders",
        f"SELECT a.id FROM orders a JOIN orders b ON {_SAME_TIME}",
        "SELECT id FROM orders UNION ALL SELECT id FROM orders",
    ],
)
def test_what_is_read_of_a_record_stays(sql: str) -> None:
    for node in _pruned(sql).walk():
        if isinstance(node, Scan | WatermarkFilter):
            assert _names(node) == ["id", "order_time", "price", "customer_id"]


def test_outputs_stay_and_where_all_is_read_nothing_changes() -> None:
    for sql in (
        "SELECT * FROM orders",
        f"SELECT * FROM orders a JOIN orders b ON {_SAME_TIME}",
        "SELECT id, price FROM orders UNION ALL SELECT id, price FROM orders",
    ):
        (sink,) = job(sql).sinks
        assert lines(pruned([sink])[0]) == lines(sink)


def test_what_two_sinks_share_has_what_either_reads() -> None:
    join = f"orders a JOIN orders b ON {_SAME_TIME}"
    view = f"CREATE VIEW v AS SELECT a.id AS x, a.price AS y, b.id AS z FROM {join};"
    sinks = [
        f"CREATE SINK s{name} AS SELECT {name} FROM v WITH (connector = 'blackhole');"
        for name in "xy"
    ]
    found = {
        node
        for sink in pruned(job(view + "".join(sinks)).sinks)
        for node in sink.walk()
        if isinstance(node, Join)
    }
    (shared,) = found
    assert _names(shared) == ["id", "order_time", "price", "order_time#2"]
