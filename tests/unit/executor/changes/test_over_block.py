from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from kits.executor import ENGINE
from kits.over import a_node, call, lag
from tidegate.executor.changes.over_block import OverBlock
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.nodes import SortKey
from tidegate.plan.over import ChangingOver, OverCall
from tidegate.types import OFFSET, SPLIT

ROWS = [("a", 1, 5), ("a", 2, 7), ("a", 3, 7), ("b", 4, None)]


def block(
    *calls: OverCall,
    first: int | None = None,
    drop: bool = False,
    newest: bool = False,
    changes: bool = False,
) -> OverBlock:
    over = a_node(*calls, order=(SortKey("v", descending=True),)).over
    if changes:
        groups = Aggregate(over.input.schema, over.input, ("k", "t", "v"), (), "", updates=True)
        over = replace(over, input=groups)
    schema = over.input.schema if drop else over.schema
    limit = None if first is None else ("c0", first)
    fields = (over.input, over.keys, "", over.order, over.ties, over.calls, True)
    return OverBlock(ChangingOver(schema, *fields, limit, newest), ENGINE)


def table() -> pa.Table:
    k, t, v = zip(*ROWS, strict=True)
    count = len(ROWS)
    return pa.table({"k": k, "t": t, "v": v, SPLIT: ["s"] * count, OFFSET: list(range(count))})


def results(made: OverBlock) -> tuple[list[tuple[Any, ...]], int]:
    found, kept = made.results([table()])
    return [tuple(row.values()) for row in found.to_pylist()], kept[0].num_rows


def test_all_rows_have_their_values() -> None:
    found, kept = results(block(call("row_number"), lag()))
    numbers = {(row[0], row[1]): row[3:] for row in found}
    assert numbers == {("a", 2): (1, None), ("a", 3): (2, 7), ("a", 1): (3, 7), ("b", 4): (1, None)}
    assert kept == 4


@pytest.mark.parametrize(
    ("function", "most", "times"),
    [
        ("row_number", 1, [2, 4]),
        ("rank", 1, [2, 3, 4]),
        ("rank", 2, [2, 3, 4]),
        ("dense_rank", 2, [1, 2, 3, 4]),
    ],
)
def test_the_first_rows_are_all_that_is_kept(function: str, most: int, times: list[int]) -> None:
    found, kept = results(block(call(function), first=most))
    assert sorted(row[1] for row in found) == times
    assert kept == len(times)


def test_a_call_that_looks_at_others_keeps_them() -> None:
    found, kept = results(block(call("row_number"), lag(), first=1))
    assert (len(found), kept) == (2, 4)


def test_of_rows_that_may_be_taken_back_all_are_kept() -> None:
    """Another one is the first then."""
    found, kept = results(block(call("row_number"), first=1, changes=True))
    assert (len(found), kept) == (2, 4)


def test_the_number_itself_may_be_left_out() -> None:
    found, _ = results(block(call("row_number"), first=1, drop=True))
    assert sorted(found, key=str) == [("a", 2, 7), ("b", 4, None)]


def test_of_equal_rows_the_newest_is_the_first() -> None:
    found, _ = results(block(call("row_number"), first=1, drop=True, newest=True))
    assert sorted(found, key=str) == [("a", 3, 7), ("b", 4, None)]
