from __future__ import annotations

import pytest

from kits.executor import ENGINE, Text, leaf
from tidegate.executor.changes.fold_changes import FoldChangesExecutor
from tidegate.plan.physical import FoldChanges
from tidegate.types import OP, Op

COLUMNS = "k BIGINT, v VARCHAR"
TEXT = Text(f"{COLUMNS}, {OP} TINYINT", COLUMNS)
NEW, GONE, OLD, NOW = (int(op) for op in Op)


def folding() -> FoldChangesExecutor:
    below = leaf(COLUMNS)
    return FoldChangesExecutor(FoldChanges(below.schema, below, ("k",)), ENGINE)


@pytest.mark.parametrize("order", [1, -1])
def test_a_row_that_has_moved_is_another_one_now(order: int) -> None:
    executor = folding()
    moved = [f"chunk: 1 a {GONE}; 2 b {GONE}", f"chunk: 1 x {NEW}; 3 c {NEW}"][::order]
    assert TEXT.run(executor, *moved) == []
    assert TEXT.run(executor, "watermark k 3", "barrier 1") == [
        f"chunk: 1 a {OLD}; 1 x {NOW}; 2 b {GONE}; 3 c {NEW}",
        "watermark k 3",
        "barrier 1",
    ]
    assert TEXT.run(executor, "barrier 2") == ["watermark k 3", "barrier 2"]


def test_what_is_as_it_was_is_no_change() -> None:
    executor = folding()
    lines = (f"chunk: 1 a {GONE}; 1 a {NEW}; 2 b {OLD}; 2 c {NOW}", "barrier 1")
    assert TEXT.run(executor, *lines) == [f"chunk: 2 b {OLD}; 2 c {NOW}", "barrier 1"]
