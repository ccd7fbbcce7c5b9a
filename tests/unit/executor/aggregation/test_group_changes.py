from __future__ import annotations

import pyarrow as pa
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


def said(changes: GroupChanges, rows: str, closed: int = 0) -> str:
    """The changes, whatever chunks they come in."""
    shown = (TEXT.show(chunk) for chunk in changes.of([TEXT.chunk(rows).data], closed))
    return "; ".join(chunk.removeprefix("chunk: ") for chunk in shown)


@pytest.mark.slow
@pytest.mark.parametrize("one_hash", [False, True])
@pytest.mark.parametrize("rows_max", [1, 100_000])
def test_a_group_is_new_or_another_or_silent(
    rows_max: int, one_hash: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if one_hash:  # of all groups
        monkeypatch.setattr(group_changes, "_hash_of", lambda _: "7::UBIGINT")
    monkeypatch.setattr(group_changes, "ROWS_MAX", rows_max)
    changes = of_counts(MemoryStateTable())
    assert said(changes, "20 a 1; 10 . 2; 10 b 3") == f"10 b 3 {NEW}; 10 . 2 {NEW}; 20 a 1 {NEW}"
    assert said(changes, "20 a 0; 10 b 4; . b 1") == f"10 b 3 {OLD}; 10 b 7 {NOW}; . b 1 {NEW}"


def test_a_last_word_is_not_remembered() -> None:
    state = MemoryStateTable()
    changes = of_counts(state)
    assert said(changes, "10 a 1; 20 a 1", 11) == f"10 a 1 {NEW}; 20 a 1 {NEW}"
    assert state.buckets() == [20]
    changes.forget(21)
    assert state.rows == 0


def test_state_of_release_0_1_goes_on() -> None:
    """There all partials of a group were kept, and the last one counted."""
    state = MemoryStateTable()
    for epoch, rows in ((1, "10 a 1; 10 b 5"), (3, "10 a 4")):
        data = TEXT.chunk(rows).data
        state.append(10, data.append_column("__epoch", pa.array([epoch] * data.num_rows)))
    changes = of_counts(state)
    assert said(changes, "10 a 1; 10 c 1") == f"10 a 4 {OLD}; 10 a 5 {NOW}; 10 c 1 {NEW}"
    assert said(of_counts(state), "10 b 1") == f"10 b 5 {OLD}; 10 b 6 {NOW}"
