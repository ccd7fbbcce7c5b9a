"""Plan nodes are values."""

from __future__ import annotations

import pytest

from kits.actor import plan
from kits.executor import leaf
from kits.join import a_join
from kits.match import a_node
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.joins import LookupJoin, Union
from tidegate.plan.nodes import (
    Expr,
    Filter,
    Node,
    Project,
    Scan,
    Sink,
    Sort,
    WatermarkFilter,
    column_expr,
    quoted,
)
from tidegate.plan.over import OverWindow, RecentRows
from tidegate.plan.pattern import Variable
from tidegate.plan.tables import Table
from tidegate.plan.windows import Hop, Session, Tumble
from tidegate.types import Column

T = Column("t", "BIGINT")
TABLE = Table("orders", (T,), "filesystem", "json", (("path", "p"),))
SCAN = Scan((T,), TABLE, (), "orders")


def test_equal_subtrees_are_one() -> None:
    predicate = Expr('"t" > 1', "BOOLEAN", frozenset(["t"]))
    one, other = (Filter((T,), SCAN, predicate) for _ in range(2))
    assert one == other
    assert len({one, other}) == 1


def test_walk_gives_inputs_first() -> None:
    top = Project((T,), Filter((T,), SCAN, Expr("true", "BOOLEAN")), (("t", column_expr(T)),))
    assert [type(node) for node in top.walk()] == [Scan, Filter, Project]


def test_names_are_quoted() -> None:
    assert quoted('a"b') == '"a""b"'
    odd = column_expr(Column('a"b', "BIGINT"))
    assert odd.is_column
    assert odd.monotone_in == 'a"b'


def test_what_is_no_column() -> None:
    assert not Expr('"t" + 1', "BIGINT", frozenset(["t"])).is_column
    assert not Expr("7", "BIGINT").is_column


def test_options_have_defaults() -> None:
    assert TABLE.option("path") == "p"
    assert TABLE.option("format", "json") == "json"
    assert plan("SELECT t FROM marked").tables[0].option("source.monitor-interval") == ""


BELOW = leaf("t BIGINT")
TRUE = Expr("true", "BOOLEAN")
OVER = OverWindow((T,), BELOW, (), "t", (), (), (), by_partition=True)
JOIN = a_join()
LOOKUP = LookupJoin(JOIN.schema, JOIN.left, JOIN.right, JOIN.kind, JOIN.keys, ("", "u"), 0, 0)


@pytest.mark.parametrize(
    ("node", "facts"),
    [
        (SCAN, "gives_splits"),
        (WatermarkFilter((T,), BELOW, "f", "a", "t", column_expr(T), 0, 0), "gives_splits"),
        (RecentRows((T,), BELOW, "f", "a", ()), "gives_splits"),
        (Project((T,), BELOW, (("t", column_expr(T)),)), "row_wise gives_splits"),
        (Filter((T,), BELOW, TRUE), "row_wise gives_splits"),
        (Tumble((T,), BELOW, "t", 10), "row_wise gives_splits"),
        (Hop((T,), BELOW, "t", 10, slide=5), "row_wise gives_splits repeats"),
        (Union((T,), (BELOW, BELOW)), "gives_splits repeats"),
        (Session((T,), BELOW, "t", (), 5), "stateful gives_splits waits_for"),
        (Sort((T,), BELOW, "t", ()), "stateful gives_splits waits_for"),
        (OVER, "stateful gives_splits waits_for"),
        (a_node(Variable("A"), {}), "stateful waits_for"),
        (Aggregate((T,), BELOW, ("t",), (), "t"), "stateful waits_for"),
        (Aggregate((T,), BELOW, ("t",), (), "", updates=True), "stateful"),
        (JOIN, "stateful waits_for"),
        (LOOKUP, "stateful"),
        (Sink((T,), BELOW, TABLE), "gives_splits"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Node) else "",
)
def test_what_an_operator_is(node: Node, facts: str) -> None:
    names = ("row_wise", "stateful", "gives_splits", "repeats", "waits_for")
    assert [name for name in names if getattr(node, name)] == facts.split()
