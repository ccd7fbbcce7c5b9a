from __future__ import annotations

import pytest

from kits.executor import ENGINE, Text, leaf
from tidegate.executor.aggregation import group_changes
from tidegate.executor.aggregation.group_changes import GroupChanges
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.state import MemoryStateTable
from tidegate.types import Column, Op

TEXT = Text("w BIGINT, k VARCHAR, __p0_n BIGINT")  # partials of count(*)
NEW, OLD, NOW = int(Op.INSERT), int(Op.UPDATE_BEFORE), int(Op.UPDATE_AFTER)


def of_counts(state: MemoryStateTable) -> GroupChanges:
    below = leaf("w BIGINT, k VARCHAR")
    count = AggregateCall(Column("n", "BIGINT"), "count")
    node = Aggregate((*below.schema, count.output), below, ("w", "k"), (count,), "w", updates=True)
    return GroupChanges(node, ENGINE, state)


def said(changes: GroupChanges, rows: str, epoch: int, closed: int = 0) -> str:
    """The changes, whatever chunks they come in."""
    shown = (TEXT.show(chunk) for chunk in changes.of([TEXT.chunk(rows).data], epoch, closed))
    return "; ".join(chunk.removeprefix("chunk: ") for chunk in shown)


@pytest.mark.slow
@pytest.mark.parametrize("rows_max", [1, 100_000])
def test_a_group_is_new_or_another_or_silent(
    rows_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_changes, "READ_ROWS_MAX", rows_max)
    changes = of_counts(MemoryStateTable())
    assert said(changes, "20 a 1; 10 . 2; 10 b 3", 1) == f"10 b 3 {NEW}; 10 . 2 {NEW}; 20 a 1 {NEW}"
    assert said(changes, "20 a 0; 10 b 4; . b 1", 2) == f"10 b 3 {OLD}; 10 b 7 {NOW}; . b 1 {NEW}"


def test_a_last_word_is_not_remembered() -> None:
    state = MemoryStateTable()
    changes = of_counts(state)
    assert said(changes, "10 a 1; 20 a 1", 1, 11) == f"10 a 1 {NEW}; 20 a 1 {NEW}"
    assert state.buckets() == [20]
    changes.forget(21)
    assert state.rows == 0
