from __future__ import annotations

from tidegate.plan.nodes import Expr, Project, Scan, column_expr
from tidegate.plan.projections import narrowed, project, projected, widened
from tidegate.plan.tables import Table
from tidegate.types import Column

A, B = Column("a", "BIGINT"), Column("b", "VARCHAR")
SCAN = Scan((A, B), Table("t", (A, B), "filesystem", "json", ()), (), "t")
LONGER = Expr("length(b)", "BIGINT", frozenset("b"))


def test_a_projection_has_the_types_of_its_columns() -> None:
    above = project(SCAN, [("n", LONGER), ("a", column_expr(A))])
    assert above.schema == (Column("n", "BIGINT"), A)
    assert above.input is SCAN


def test_nothing_is_put_where_it_would_change_nothing() -> None:
    same = [("a", column_expr(A)), ("b", column_expr(B))]
    assert projected(SCAN, same) is SCAN
    assert isinstance(project(SCAN, same), Project)
    assert narrowed(SCAN, (A, B)) is SCAN
    assert widened(SCAN, ()) is SCAN
    for other in (same[::-1], same[:1], [("a", column_expr(A)), ("b", LONGER)]):
        assert isinstance(projected(SCAN, other), Project)
    swapped = [("a", column_expr(Column("a", "BIGINT"))), ("b", column_expr(A))]
    assert projected(SCAN, swapped).schema == (A, Column("b", "BIGINT"))


def test_fewer_and_more_columns() -> None:
    assert narrowed(SCAN, (B,)).schema == (B,)
    assert widened(SCAN, [("n", LONGER)]).schema == (A, B, Column("n", "BIGINT"))
