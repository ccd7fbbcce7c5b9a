from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.errors import BindError, SqlSyntaxError
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.joins import ChangingJoin, Join
from tidegate.plan.nodes import Node
from tidegate.plan.over import ChangingOver

_HOUR = 3_600_000_000
_SET = "SET 'table.exec.state.ttl' = '1 h'; "
_PAIR = "(SELECT customer_id AS i, order_time AS u FROM orders) AS p"
_JOIN = f"o.id FROM orders o JOIN {_PAIR} ON o.id = p.i"


def nodes(query: str, before: str = "") -> list[Node]:
    (sink,) = job(f"{before}CREATE MATERIALIZED VIEW v AS {query}").sinks
    return list(sink.walk())


def test_the_jobs_setting_is_for_all_and_allows_state() -> None:
    (join,) = (node for node in nodes(f"SELECT {_JOIN}", _SET) if isinstance(node, Join))
    assert isinstance(join, ChangingJoin)
    assert join.ttls == (_HOUR, _HOUR)
    assert next(join.state) == "state: all left rows, for 1 h from the last change of a key"
    query = "SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id"
    (group,) = (node for node in nodes(query, _SET) if isinstance(node, Aggregate))
    assert group.ttl == _HOUR
    assert list(group.state) == [
        (
            "state: one row per group, no watermark on customer_id,"
            " for 1 h from the last change of a key"
        )
    ]
    query = "SELECT id, sum(price) OVER (PARTITION BY customer_id) AS s FROM orders"
    (over,) = (node for node in nodes(query, _SET) if isinstance(node, ChangingOver))
    assert over.ttl == _HOUR


def test_a_hint_is_for_tables() -> None:
    hint = "/*+ STATE_TTL('o' = '1 h', 'P' = '2 h') */"
    found = nodes(f"SELECT {hint} {_JOIN} ALLOW UNBOUNDED")
    (join,) = (node for node in found if isinstance(node, ChangingJoin))
    assert join.ttls == (_HOUR, 2 * _HOUR)
    found = nodes(f"SELECT /*+ STATE_TTL('p' = '2 h') */ {_JOIN} ALLOW UNBOUNDED", _SET)
    (join,) = (node for node in found if isinstance(node, ChangingJoin))
    assert join.ttls == (_HOUR, 2 * _HOUR)


def test_a_hint_is_for_its_query_alone() -> None:
    inner = "SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id"
    hint = "/*+ STATE_TTL('x' = '1 h') */"
    found = nodes(f"SELECT {hint} n, count(*) AS m FROM ({inner}) AS x GROUP BY n")
    groups = [node for node in found if isinstance(node, Aggregate)]
    assert [group.ttl for group in groups] == [0, _HOUR]


@pytest.mark.parametrize(
    ("hint", "error", "message"),
    [
        ("STATE_TTL('x' = '1 h')", BindError, "STATE_TTL names 'x', which is no table"),
        ("STATE_TTL('orders' = 'soon')", BindError, "STATE_TTL of 'orders' is wrong"),
        ("BROADCAST(orders)", SqlSyntaxError, "unknown hint 'BROADCAST'"),
    ],
)
def test_wrong_hints(hint: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        nodes(f"SELECT /*+ {hint} */ id, count(*) AS n FROM orders GROUP BY id")
