from __future__ import annotations

import pyarrow as pa
import pytest

from kits.executor import ENGINE, Text, leaf
from tidegate.executor.aggregation import group_changes
from tidegate.executor.aggregation.updating_aggregate import UpdatingAggregateExecutor
from tidegate.executor.buffers.keyed_rows import KeyedRows
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.plan.physical import UpdatingAggregate
from tidegate.state import RUNS_PER_LEVEL, MemoryStateTable
from tidegate.types import END, OP, Barrier, Chunk, Column, Op

TEXT = Text("w BIGINT, k VARCHAR, __p0_n BIGINT")  # partials of count(*)
COUNT = AggregateCall(Column("n", "BIGINT"), "count")
NEW, OLD, NOW = int(Op.INSERT), int(Op.UPDATE_BEFORE), int(Op.UPDATE_AFTER)


def an_aggregate(
    state: MemoryStateTable | None = None,
    keys: tuple[str, ...] = ("w", "k"),
    closing: str = "w",
    derived: tuple[tuple[str, int], ...] = (),
) -> UpdatingAggregateExecutor:
    below = leaf("w BIGINT, k VARCHAR")
    schema = (*(below.column_of(key) for key in keys), COUNT.output)
    node = Aggregate(schema, below, keys, (COUNT,), closing, updates=True)
    updating = UpdatingAggregate(schema, below, node, derived)
    return UpdatingAggregateExecutor(updating, ENGINE, state or MemoryStateTable())


def test_a_new_group_is_inserted_a_known_one_updated() -> None:
    executor = an_aggregate()
    assert TEXT.run(executor, "chunk: 20 a 2; 10 b 1", "chunk: 10 b 4", "barrier 1") == [
        f"chunk: 10 b 5 {NEW}; 20 a 2 {NEW}",
        "barrier 1",
    ]
    assert TEXT.run(executor, "chunk: 10 b 1; 10 a 1", "barrier 2") == [
        f"chunk: 10 a 1 {NEW}; 10 b 5 {OLD}; 10 b 6 {NOW}",
        "barrier 2",
    ]
    assert TEXT.run(executor, "barrier 3") == ["barrier 3"]


def test_a_group_whose_row_stays_as_it_is_says_nothing() -> None:
    executor = an_aggregate()
    TEXT.run(executor, "chunk: 10 a 3", "barrier 1")
    assert TEXT.run(executor, "chunk: 10 a 0", "barrier 2") == ["barrier 2"]


def test_changes_come_before_the_watermark_that_ends_their_groups() -> None:
    state = MemoryStateTable()
    executor = an_aggregate(state, derived=(("start", -10),))
    lines = ("watermark w 11", "chunk: 10 a 1; 11 a 1; . a 1", "barrier 1")
    assert TEXT.run(executor, *lines) == [
        f"chunk: 10 a 1 {NEW}; 11 a 1 {NEW}; . a 1 {NEW}",
        "watermark w 11",
        "watermark start 1",
        "barrier 1",
    ]
    assert state.buckets() == [11, END - 1]
    assert TEXT.run(executor, "watermark w end finished", "barrier 2")[-1] == "barrier 2"
    assert state.rows == 0


@pytest.mark.slow
@pytest.mark.parametrize("rows_max", [1, 100_000])
def test_state_lives_over_restarts_and_is_compacted(
    rows_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_changes, "ROWS_MAX", rows_max)
    state = MemoryStateTable()
    for epoch in range(1, 40):
        found = TEXT.run(an_aggregate(state), "chunk: 10 a 1; 20 b 2", f"barrier {epoch}")
        if epoch > 1:
            changed = [
                f"10 a {epoch - 1} {OLD}; 10 a {epoch} {NOW}",
                f"20 b {2 * epoch - 2} {OLD}; 20 b {2 * epoch} {NOW}",
            ]
            assert "; ".join(line.removeprefix("chunk: ") for line in found[:-1]) == "; ".join(
                changed
            )
    assert state.rows < 4 * RUNS_PER_LEVEL


def test_groups_without_a_closing_key_stay() -> None:
    state = MemoryStateTable()
    executor = an_aggregate(state, keys=("k",), closing="")
    text = Text("k VARCHAR, __p0_n BIGINT")
    assert text.run(executor, "chunk: b 1; . 2", "watermark w end finished", "barrier 1") == [
        f"chunk: b 1 {NEW}; . 2 {NEW}",
        "barrier 1",
    ]
    assert text.run(executor, "chunk: . 1", "barrier 2")[0] == f"chunk: . 2 {OLD}; . 3 {NOW}"
    assert state.buckets() == [0]


def test_all_rows_are_one_group_also_if_there_are_none() -> None:
    executor = an_aggregate(keys=(), closing="")
    text = Text("__p0_n BIGINT")
    assert text.run(executor, "barrier 1") == [f"chunk: 0 {NEW}", "barrier 1"]
    assert text.run(executor, "barrier 2") == ["barrier 2"]
    assert text.run(executor, "chunk: 1", "chunk: 2", "barrier 3")[0] == f"chunk: 0 {OLD}; 3 {NOW}"
    assert text.run(executor, "chunk: 4", "barrier 4")[0] == f"chunk: 3 {OLD}; 7 {NOW}"


def test_a_group_that_does_not_change_is_unknown_when_its_time_is_over() -> None:
    below = leaf("k VARCHAR, v BIGINT")
    call = AggregateCall(Column("n", "BIGINT"), "count")
    schema = (below.column_of("k"), call.output)
    node = Aggregate(schema, below, ("k",), (call,), "", updates=True, ttl=10)
    state = MemoryStateTable()

    def run(now: int, key: str) -> list[str]:
        executor = UpdatingAggregateExecutor(
            UpdatingAggregate(schema, below, node, ()), ENGINE, state
        )
        data = pa.table({"k": [key], "__p0_n": [1]})
        assert list(executor.process(Chunk(data))) == []
        *found, _ = executor.process(Barrier(now + 1, now))
        rows = [r for each in found if isinstance(each, Chunk) for r in each.data.to_pylist()]
        return [f"{Op(row[OP]).sign} {row['n']}" for row in rows]

    assert run(0, "a") == ["+ 1"]
    assert run(10, "a") == ["U- 1", "U+ 2"]
    assert run(15, "b") == ["+ 1"]
    assert run(21, "a") == ["+ 1"], "nothing is taken back"


def test_what_comes_at_once_is_told_at_once() -> None:
    executor = an_aggregate(keys=(), closing="")
    assert Text("__p0_n BIGINT").run(executor, "chunk: 4", "barrier 1")[0] == f"chunk: 4 {NEW}"


@pytest.mark.slow
def test_an_update_takes_back_the_very_row_that_was_emitted() -> None:
    """Sums of DOUBLEs depend on the order of addition: they are not added anew."""
    below = leaf("k VARCHAR, v DOUBLE")
    total = AggregateCall(Column("s", "DOUBLE"), "sum", "v")
    schema = (below.column_of("k"), total.output)
    node = Aggregate(schema, below, ("k",), (total,), "", updates=True)
    updating = UpdatingAggregate(schema, below, node, ())
    state, last = MemoryStateTable(), ""
    text = Text("k VARCHAR, __p0_sum DOUBLE")
    for epoch in range(1, 50):
        executor = UpdatingAggregateExecutor(updating, ENGINE, state)
        value = 10.0 ** (epoch % 12) / 3
        chunks = [f"chunk: a {each!r}" for each in (value, -value / 7)]
        found = text.run(executor, *chunks, f"barrier {epoch}")
        changes = found[0].removeprefix("chunk: ").split("; ")
        if epoch > 1:
            assert changes[0] == f"a {last} {OLD}"
        last = changes[-1].split()[1]


NET = Text("k VARCHAR, __p0_sum BIGINT, __p0_n BIGINT, __rows BIGINT")


def a_subtracting_one(state: MemoryStateTable) -> UpdatingAggregateExecutor:
    """sum(v) by k, of rows that may be taken back."""
    below = leaf("k VARCHAR, v BIGINT")
    total = AggregateCall(Column("s", "DECIMAL(38,0)"), "sum", "v")
    schema = (below.column_of("k"), total.output)
    node = Aggregate(schema, below, ("k",), (total,), "", updates=True, subtracts=True)
    return UpdatingAggregateExecutor(UpdatingAggregate(schema, below, node, ()), ENGINE, state)


def test_a_group_that_has_lost_its_rows_is_deleted_and_forgotten() -> None:
    state = MemoryStateTable()
    executor = a_subtracting_one(state)
    assert NET.run(executor, "chunk: a 5 1 2; b 7 1 1", "barrier 1") == [
        f"chunk: a 5 {NEW}; b 7 {NEW}",
        "barrier 1",
    ]
    assert NET.run(executor, "chunk: a -5 -1 -1; b -7 -1 -1; c 0 0 0", "barrier 2") == [
        f"chunk: a 5 {OLD}; a . {NOW}; b 7 {int(Op.DELETE)}",
        "barrier 2",
    ], "a sum of no values is NULL"
    assert NET.run(executor, "chunk: a 0 0 -1", "barrier 3") == [
        f"chunk: a . {int(Op.DELETE)}",
        "barrier 3",
    ]
    assert list(KeyedRows(state).scan()) == []
    assert NET.run(executor, "chunk: b 1 1 1", "barrier 4") == [f"chunk: b 1 {NEW}", "barrier 4"]
