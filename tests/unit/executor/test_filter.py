from __future__ import annotations

import pytest

from kits.executor import ENGINE, Text, expr, leaf
from tidegate.executor.filter import FilterExecutor, refused_by
from tidegate.plan.nodes import Expr, Filter
from tidegate.types import Op

TEXT = Text("v BIGINT, s VARCHAR, b BOOLEAN, __offset BIGINT")
BIG = expr('"v" > 1', "BOOLEAN", "v")


def a_filter(predicate: Expr) -> FilterExecutor:
    below = leaf("v BIGINT, s VARCHAR, b BOOLEAN")
    return FilterExecutor(Filter(below.schema, below, predicate), ENGINE)


@pytest.mark.parametrize(
    ("predicate", "kept"),
    [
        (BIG, "2 b false 1; 3 3 . 2"),
        (expr('"b"', "BOOLEAN", "b"), "1 . true 0"),
        (expr("\"s\" = 'b'", "BOOLEAN", "s"), "2 b false 1"),
        (expr('CAST("s" AS INTEGER) = 3', "BOOLEAN", "s"), "3 3 . 2"),
        (expr("true", "BOOLEAN"), "1 . true 0; 2 b false 1; 3 3 . 2"),
    ],
)
def test_rows_stay_where_the_predicate_is_true(predicate: Expr, kept: str) -> None:
    lines = "chunk s0: 1 . true 0; 2 b false 1; 3 3 . 2"
    assert TEXT.run(a_filter(predicate), lines) == [f"chunk s0: {kept}"]


def test_no_row_no_chunk() -> None:
    assert TEXT.run(a_filter(BIG), "chunk s0: 1 a true 0") == []


def test_all_rows_the_same_chunk() -> None:
    chunk = TEXT.chunk("2 a true 0")
    (out,) = a_filter(BIG).process(chunk)
    assert out is chunk


def test_all_else_passes() -> None:
    lines = ["watermark v 100", "status idle s0", "barrier 1"]
    assert TEXT.run(a_filter(BIG), *lines) == lines


@pytest.mark.parametrize("named", [True, False])
def test_rows_of_splits_that_are_refused_are_counted(named: bool) -> None:
    below = leaf("v BIGINT, s VARCHAR, b BOOLEAN")
    executor = FilterExecutor(Filter(below.schema, below, BIG), ENGINE, named=named)
    refused = refused_by(executor)
    assert refused is not None
    TEXT.run(executor, "chunk s0: 1 . true 0; 2 b false 1; . . . 2", "chunk s1: 0 a true 7")
    TEXT.run(executor, "chunk: 1 . true 3", "barrier 1")
    counts = {
        split: (refused.of(split)[0], refused.of(split)[1].tolist()) for split in ("s0", "s1")
    }
    assert counts == {"s0": (2, [0, 2] if named else []), "s1": (1, [7] if named else [])}
    TEXT.run(executor, "barrier 2")
    assert refused.splits == []
    assert refused_by(None) is None


def test_half_an_update_is_a_row_more_or_less() -> None:
    text = Text("v BIGINT, __op TINYINT")
    below = leaf("v BIGINT")
    executor = FilterExecutor(Filter(below.schema, below, BIG), ENGINE)
    new, gone, old, now = (int(op) for op in Op)
    halves = [(0, 3), (5, 1), (4, 6), (1, ".")]
    updates = "; ".join(f"{before} {old}; {after} {now}" for before, after in halves)
    assert text.run(executor, f"chunk: 1 {new}; 2 {new}; {updates}") == [
        f"chunk: 2 {new}; 3 {new}; 5 {gone}; 4 {old}; 6 {now}"
    ]
