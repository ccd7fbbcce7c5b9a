from __future__ import annotations

import pytest

from kits.executor import ENGINE, Text, leaf
from tidegate.executor.aggregation import final_aggregate
from tidegate.executor.aggregation.final_aggregate import FinalAggregateExecutor
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.plan.physical import FinalAggregate
from tidegate.state import MemoryStateTable
from tidegate.types import END, Column

TEXT = Text("w BIGINT, k VARCHAR, __p0_n BIGINT")  # partials of count(*)
COUNT = AggregateCall(Column("n", "BIGINT"), "count")


def an_aggregate(
    state: MemoryStateTable | None = None, derived: tuple[tuple[str, int], ...] = ()
) -> FinalAggregateExecutor:
    below = leaf("w BIGINT, k VARCHAR")
    node = Aggregate((*below.schema, COUNT.output), below, ("w", "k"), (COUNT,), "w")
    table = state if state is not None else MemoryStateTable()
    final = FinalAggregate(node.schema, below, node, derived)
    return FinalAggregateExecutor(final, ENGINE, table)


def test_groups_leave_once_the_watermark_has_passed_them() -> None:
    executor = an_aggregate()
    assert TEXT.run(executor, "chunk: 20 a 2; 10 b 1", "chunk: 10 a 1; 10 b 4") == []
    assert TEXT.run(executor, "watermark w 10") == ["watermark w 10"]  # S1: 10 is not below 10
    assert TEXT.run(executor, "watermark w 11") == ["chunk: 10 a 1; 10 b 5", "watermark w 11"]
    assert TEXT.run(executor, "watermark w 20") == ["watermark w 20"]
    assert TEXT.run(executor, "watermark w 21") == ["chunk: 20 a 2", "watermark w 21"]
    assert TEXT.run(executor, "barrier 1") == ["watermark w 21", "barrier 1"]


@pytest.mark.slow
def test_groups_live_over_epochs_and_restarts() -> None:
    state = MemoryStateTable()
    for epoch in range(1, 30):
        executor = an_aggregate(state)
        lines = ("chunk: 10 a 1; 20 a 1; . a 1", "watermark w 5", f"barrier {epoch}")
        assert TEXT.run(executor, *lines) == ["watermark w 5", "watermark w 5", f"barrier {epoch}"]
    assert state.buckets() == [10, 20, END - 1]
    assert max(len(state.levels(bucket)) for bucket in state.buckets()) < 16  # compacted
    executor = an_aggregate(state)
    assert TEXT.run(executor, "chunk: 10 a 1", "watermark w 15") == [
        "chunk: 10 a 30",
        "watermark w 15",
    ]
    assert state.buckets() == [20, END - 1]
    assert TEXT.run(executor, "watermark w end finished") == [
        "chunk: 20 a 29; . a 29",
        "watermark w end finished",
    ]
    assert state.rows == 0
    assert TEXT.run(executor, "barrier 99") == ["watermark w end finished", "barrier 99"]


@pytest.mark.parametrize("merged", [True, False])
def test_an_epoch_writes_only_what_is_new(merged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(final_aggregate, "MERGE_ROWS_MIN", 3 if merged else 4)
    state = MemoryStateTable()
    executor = an_aggregate(state)
    TEXT.run(executor, "chunk: 10 a 1; 20 a 1", "chunk: 10 a 1", "barrier 1")
    assert [run.num_rows for run in state.read(10)] == [1 if merged else 2]
    TEXT.run(executor, "chunk: 20 b 1", "barrier 2")
    assert [run.num_rows for run in state.read(10)] == [1 if merged else 2]
    assert [run.num_rows for run in state.read(20)] == [1, 1]


def test_null_closing_keys_leave_last_and_null_keys_are_groups() -> None:
    executor = an_aggregate()
    TEXT.run(executor, "chunk: . . 1; 10 . 2; 10 z 1; . a 4; . . 3")
    assert TEXT.run(executor, f"watermark w {END - 1}")[0] == "chunk: 10 z 1; 10 . 2"
    assert TEXT.run(executor, "watermark w end")[0] == "chunk: . a 4; . . 4"


def test_derived_watermarks_follow() -> None:
    executor = an_aggregate(derived=(("end", 10), ("start", -10)))
    assert TEXT.run(executor, "barrier 1") == [
        "watermark w none",
        "watermark end none",
        "watermark start none",
        "barrier 1",
    ]
    assert TEXT.run(executor, "watermark w 15 idle") == [
        "watermark w 15 idle",
        "watermark end 25 idle",
        "watermark start 5 idle",
    ]
    assert TEXT.run(executor, f"watermark w {END - 3}")[1] == f"watermark end {END - 1}"
    assert TEXT.run(executor, "watermark w end")[1:] == ["watermark end end", "watermark start end"]


def test_silent_on_other_columns_and_on_what_changes_nothing() -> None:
    executor = an_aggregate()
    assert TEXT.run(executor, "watermark w 5", "watermark k 9", "watermark w 5") == [
        "watermark w 5"
    ]


def test_closing_everything_does_not_read_everything_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(final_aggregate, "CLOSE_ROWS_MAX", 2)
    state = MemoryStateTable()
    TEXT.run(an_aggregate(state), "chunk: 10 a 1; 20 a 1; 30 a 1; 40 a 1; . a 1", "barrier 1")
    executor = an_aggregate(state)
    TEXT.run(executor, "chunk: 15 a 1; 30 a 1; 50 a 1; . a 1")
    assert TEXT.run(executor, "watermark w end finished") == [
        "chunk: 10 a 1; 15 a 1; 20 a 1",
        "chunk: 30 a 2; 40 a 1",
        "chunk: 50 a 1; . a 2",
        "watermark w end finished",
    ]
