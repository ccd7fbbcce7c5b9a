from __future__ import annotations

from kits.executor import expr, leaf
from tidegate.frontend.queries.outputs import Output, extra, projected, with_unique_columns
from tidegate.plan.nodes import Expr, Project, column_expr
from tidegate.plan.windows import Tumble
from tidegate.types import Column

_BELOW = leaf("id BIGINT, t TIMESTAMP")


def _output(name: str, value: Expr) -> Output:
    return Output((name,), name, value)


def _columns(*names: str) -> list[Output]:
    return [_output(name, column_expr(_BELOW.column_of(name))) for name in names]


def test_names_are_made_different_and_paths_stay() -> None:
    outputs = with_unique_columns(_columns("id", "t", "id", "id"))
    assert [output.column for output in outputs] == ["id", "t", "id#2", "id#3"]
    assert [output.path for output in outputs] == [("id",), ("t",), ("id",), ("id",)]


def test_an_extra_column_takes_no_name_and_cannot_be_named() -> None:
    found = extra("id", column_expr(_BELOW.column_of("t")), _columns("id", "t"))
    assert (found.column, found.hidden) == ("id#2", True)


def test_a_projection_that_changes_nothing_is_none() -> None:
    relation = projected(_BELOW, _columns("id", "t"))
    assert relation.node is _BELOW
    assert [field.column for field in relation.fields] == ["id", "t"]


def test_fewer_others_or_renamed_columns_are_a_projection() -> None:
    renamed = Output(("x",), "x", column_expr(_BELOW.column_of("id")))
    swapped = [_output("id", expr('"t"', "BIGINT", "t")), *_columns("t")]
    for outputs in (_columns("id"), _columns("t", "id"), [renamed, *_columns("t")], swapped):
        relation = projected(_BELOW, outputs)
        assert isinstance(relation.node, Project)
        assert [column.name for column in relation.node.schema] == [o.column for o in outputs]
        assert dict(relation.node.columns) == {o.column: o.value for o in outputs}


def test_hidden_columns_are_computed_but_their_fields_are_hidden() -> None:
    outputs = _columns("id")
    outputs.append(extra("t", column_expr(_BELOW.column_of("t")), outputs))
    relation = projected(_BELOW, outputs)
    assert [field.hidden for field in relation.fields] == [False, True]
    assert [column.name for column in relation.node.schema] == ["id", "t"]


def test_window_time_is_left_out_where_nobody_reads_it() -> None:
    parts = ("window_start", "window_end", "window_time")
    schema = (*_BELOW.schema, *(Column(part, "TIMESTAMP") for part in parts))
    tumble = Tumble(schema, _BELOW, "t", 60, 0, with_time=True)

    def has_time(*names: str) -> bool:
        outputs = [_output(name, column_expr(tumble.column_of(name))) for name in names]
        below = projected(tumble, outputs).node.inputs[0]
        assert isinstance(below, Tumble)
        return below.with_time

    assert has_time("id", "window_time")
    assert not has_time("id", "window_end")
