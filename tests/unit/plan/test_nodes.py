"""Plan nodes are values."""

from __future__ import annotations

from kits.actor import plan
from tidegate.plan.nodes import Expr, Filter, Project, Scan, Table, column_expr, quoted
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
