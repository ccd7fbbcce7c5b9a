from __future__ import annotations

from kits.executor import expr, leaf
from tidegate.frontend.queries.below import Below, ties_of
from tidegate.plan.nodes import Project
from tidegate.types import Column


def test_a_column_stays_and_a_value_gets_one_once() -> None:
    below = Below(leaf("a BIGINT, b BIGINT"))
    assert below.column(expr('"a"', "BIGINT", "a")) == "a"
    assert below.build() == leaf("a BIGINT, b BIGINT")
    name = below.column(expr('"a" + 1', "BIGINT", "a"))
    assert below.column(expr('"a" + 1', "BIGINT", "a")) == name
    node = below.build()
    assert isinstance(node, Project)
    assert [column.name for column in node.schema] == ["a", "b", name]


def test_outputs_have_names_of_their_own() -> None:
    below = Below(leaf("a BIGINT"))
    names = [below.output(Column("A", "BIGINT")).name for _ in range(2)]
    assert names == ["A#2", "A#3"]


def test_rows_of_a_source_are_told_apart_by_where_they_stood() -> None:
    assert ties_of(leaf("a BIGINT")) == ("__split", "__offset")
