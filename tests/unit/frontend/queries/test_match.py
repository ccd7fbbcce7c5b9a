from __future__ import annotations

from kits.frontend import job
from tidegate.plan.derivation import derive
from tidegate.plan.match import Look, MatchRecognize
from tidegate.plan.nodes import Project, Sink


def planned(
    define: str, measures: str = "A.id AS a", words: str = ""
) -> tuple[Sink, MatchRecognize]:
    sql = (
        "SELECT * FROM orders MATCH_RECOGNIZE (PARTITION BY customer_id ORDER BY order_time"
        f" MEASURES {measures} PATTERN (A B) {words} DEFINE {define}) m"
    )
    (sink,) = job(sql).sinks
    (node,) = (node for node in sink.walk() if isinstance(node, MatchRecognize))
    return sink, node


def shown(look: Look) -> tuple[str, str, str | None, int]:
    argument = None if look.argument is None else look.argument.name
    return look.function, look.variable, argument, look.offset


def test_measures_are_a_projection_over_looks() -> None:
    measures = "LAST(B.price) - A.price AS rise, CLASSIFIER() AS c, id AS id, A.price * 2 AS twice"
    sink, node = planned("B AS true", measures)
    assert [shown(look) for look in node.looks] == [
        ("last", "B", "price", 0),
        ("last", "A", "price", 0),
        ("classifier", "", None, 0),
        ("last", "", "id", 0),
    ]
    assert isinstance(sink.input, Project)
    assert [name for name, _ in sink.input.columns] == ["customer_id", "rise", "c", "id", "twice"]


def test_an_expression_of_a_row_is_computed_below() -> None:
    _, node = planned("B AS LAST(A.price * 2, 1) > 1", "SUM(A.id * 2) AS s")
    computed = [column.name for column in node.input.schema[-2:]]
    (seen,) = node.conditions[0].looks
    (summed,) = node.looks
    assert [shown(seen)[2], shown(summed)[2]] == computed


def test_times_of_a_match_have_the_watermark() -> None:
    sink, _ = planned("B AS true", "FIRST(order_time) AS began, MATCH_ROWTIME() AS over, id AS id")
    derived = derive(sink)
    assert [name for name, of in derived.items() if of.has_watermark] == ["began", "over"]
    assert derived["began"].filter_id == "orders.order_time"


def test_within_has_the_unit_of_the_time() -> None:
    assert planned("B AS true", words="WITHIN INTERVAL '1' HOUR")[1].within == 3_600_000_000
