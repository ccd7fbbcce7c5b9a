from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.plan.match import Look, MatchRecognize


def matching(define: str, table: str = "orders", time: str = "order_time") -> MatchRecognize:
    sql = (
        f"SELECT * FROM {table} MATCH_RECOGNIZE (ORDER BY {time} MEASURES COUNT(*) AS n"
        f" PATTERN (A B) DEFINE {define}) m"
    )
    (sink,) = job(sql).sinks
    (node,) = (node for node in sink.walk() if isinstance(node, MatchRecognize))
    return node


def shown(look: Look) -> tuple[str, str, str | None, int]:
    argument = None if look.argument is None else look.argument.name
    return look.function, look.variable, argument, look.offset


@pytest.mark.parametrize(
    ("define", "sql", "looks"),
    [
        ("B AS price > 1", '"price" > 1', []),
        ("B AS B.price > 1", '"price" > 1', []),
        ("B AS orders.price > 1", '"price" > 1', []),
        ("B AS A.price > 1", '"A.price" > 1', [("last", "A", "price", 0)]),
        ("B AS a.price > a.price", '"a.price" > "a.price"', [("last", "A", "price", 0)]),
        ("B AS LAST(B.price, 1) > 1", None, [("last", "B", "price", 1)]),
        ("B AS FIRST(price) > 1", None, [("first", "", "price", 0)]),
        ("B AS PREV(B.price) > 1", None, [("prev", "", "price", 1)]),
        ("B AS PREV(A.price, 3) > 1", None, [("prev", "A", "price", 3)]),
        ("B AS COUNT(*) + COUNT(A.*) > 1", None, [("count", "", None, 0), ("count", "A", None, 0)]),
        ("B AS SUM(A.price) > B.price", None, [("sum", "A", "price", 0)]),
        ("B AS MATCH_ROWTIME() > A.order_time", None, [("last", "A", "order_time", 0)]),
    ],
)
def test_what_conditions_see(
    define: str, sql: str | None, looks: list[tuple[str, str, str | None, int]]
) -> None:
    (condition,) = matching(define).conditions
    assert [shown(look) for look in condition.looks] == looks
    if sql is not None:
        assert condition.predicate.sql == sql


def test_a_look_and_the_column_below_that_it_reads_have_two_names() -> None:
    node = matching("B AS A.event.type = B.event.type", "events", "event.log_ts")
    (condition,) = node.conditions
    (look,) = condition.looks
    assert look.argument is not None
    assert look.output.name not in {column.name for column in node.input.schema}
    assert look.argument.name in {column.name for column in node.input.schema}
    assert condition.predicate.columns > {look.output.name}
