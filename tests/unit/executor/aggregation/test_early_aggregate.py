from __future__ import annotations

import pytest

from kits.executor import ENGINE, Text, leaf
from tidegate.executor.aggregation.early_aggregate import EarlyAggregateExecutor
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.plan.early import Early
from tidegate.plan.physical import EarlyAggregate
from tidegate.state import RUNS_PER_LEVEL, MemoryStateTable
from tidegate.types import TICK, Column, Op

TEXT = Text(f"w BIGINT, k VARCHAR, {TICK} BIGINT, __p0_n BIGINT")  # partials of count(*)
COUNT = AggregateCall(Column("n", "BIGINT"), "count")
NEW, OLD, NOW = int(Op.INSERT), int(Op.UPDATE_BEFORE), int(Op.UPDATE_AFTER)


class States:
    """The state tables of one operator, by name."""

    def __init__(self) -> None:
        self.tables: dict[str, MemoryStateTable] = {}

    def __call__(self, name: str) -> MemoryStateTable:
        return self.tables.setdefault(name, MemoryStateTable())

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables.values())


def an_aggregate(
    states: States | None = None, derived: tuple[tuple[str, int], ...] = ()
) -> EarlyAggregateExecutor:
    below = leaf("w BIGINT, k VARCHAR, t BIGINT")
    keys = ("w", "k")
    schema = (*(below.column_of(key) for key in keys), COUNT.output)
    node = Aggregate(
        schema, below, keys, (COUNT,), "w", updates=True, early=Early(Column("t", "BIGINT"), 10)
    )
    early = EarlyAggregate(schema, below, node, derived)
    return EarlyAggregateExecutor(early, ENGINE, states or States())


def said(executor: EarlyAggregateExecutor, *lines: str) -> list[str]:
    """The chunks of an epoch that ends behind ``lines``."""
    found = TEXT.run(executor, *lines)
    return [line.removeprefix("chunk: ") for line in found if line.startswith("chunk")]


@pytest.mark.slow
def test_a_group_shows_its_rows_before_a_tick_once_the_watermark_is_there() -> None:
    executor = an_aggregate()
    rows = "chunk: 60 a 10 1; 60 a 20 2; 60 b 30 4"
    assert said(executor, rows, f"watermark {TICK} 10", "barrier 1") == []
    assert said(executor, f"watermark {TICK} 20", "barrier 2") == [f"60 a 1 {NEW}"]
    assert said(executor, f"watermark {TICK} 30", "barrier 3") == [f"60 a 1 {OLD}; 60 a 3 {NOW}"]
    assert said(executor, "barrier 4") == []
    assert said(executor, f"watermark {TICK} 50", "barrier 5") == [f"60 b 4 {NEW}"]


def test_an_epoch_that_passes_several_ticks_shows_the_last() -> None:
    executor = an_aggregate()
    rows = "chunk: 60 a 10 1; 60 a 20 2; 60 a 30 4; 60 a 40 8"
    assert said(executor, rows, f"watermark {TICK} 40", "barrier 1") == [f"60 a 7 {NEW}"]


def test_a_group_that_stays_as_it_is_says_nothing() -> None:
    executor = an_aggregate()
    said(executor, "chunk: 60 a 10 3; 60 a 20 0", f"watermark {TICK} 20", "barrier 1")
    assert said(executor, f"watermark {TICK} 30", "barrier 2") == []
    assert said(executor, "watermark w 61", "barrier 3") == []


def test_the_last_word_has_all_rows_whatever_their_ticks() -> None:
    """65 is short of the tick 70, which rows of the closed group have, and of one that stays."""
    states = States()
    executor = an_aggregate(states, derived=(("start", -60),))
    said(executor, "chunk: 60 a 60 1; 62 a 70 2; 70 a 70 4", f"watermark {TICK} 70", "barrier 1")
    lines = ("chunk: 62 a 70 8; 62 b 70 16", "watermark w 65", "barrier 2")
    assert TEXT.run(executor, *lines) == [
        f"chunk: 62 a 10 {NEW}; 62 b 16 {NEW}",
        "watermark w 65",
        "watermark start 5",
        "barrier 2",
    ]
    assert states("waiting").rows == 1
    assert states("said").rows == 0
    assert said(executor, "watermark w 71", "barrier 3") == [f"70 a 4 {NEW}"]
    assert states.rows == 0


def test_the_last_word_corrects_an_early_one_and_ends_the_group() -> None:
    states = States()
    executor = an_aggregate(states)
    said(executor, "chunk: 60 a 10 1; 60 a 60 2", f"watermark {TICK} 60", "barrier 1")
    assert states("said").rows == 1
    lines = ("chunk: 60 a 60 4", f"watermark {TICK} 70", "watermark w 70", "barrier 2")
    assert said(executor, *lines) == [f"60 a 1 {OLD}; 60 a 7 {NOW}"]
    assert states.rows == 0


@pytest.mark.slow
def test_the_end_closes_groups_without_a_key_or_a_time() -> None:
    states = States()
    executor = an_aggregate(states)
    said(executor, "chunk: . a 10 1; . a 20 2; 60 a . 4", f"watermark {TICK} 20", "barrier 1")
    assert said(executor, "watermark w 61", "barrier 2") == [f"60 a 4 {NEW}"]
    ends = (f"watermark {TICK} end finished", "watermark w end finished")
    assert said(executor, *ends, "barrier 3") == [f". a 1 {OLD}; . a 3 {NOW}"]
    assert states.rows == 0


@pytest.mark.slow
def test_state_lives_over_restarts_and_is_compacted() -> None:
    """Under Spark an executor lives for an epoch."""
    states = States()
    for epoch in range(1, 60):
        lines = ("chunk: 900 a 800 1; 900 b 10 1", f"watermark {TICK} {10 + epoch}")
        found = said(an_aggregate(states), *lines, f"barrier {epoch}")
        if epoch > 1:
            assert found == [f"900 b {epoch - 1} {OLD}; 900 b {epoch} {NOW}"]
    assert states.rows < 4 * RUNS_PER_LEVEL
    lines = (f"watermark {TICK} 910", "watermark w 910")
    assert said(an_aggregate(states), *lines, "barrier 60") == [
        f"900 a 59 {NEW}",
    ]
    assert states.rows == 0


def test_closed_groups_are_looked_for_once() -> None:
    states = States()
    executor = an_aggregate(states)
    said(executor, f"watermark {TICK} 70", "watermark w 65", "barrier 1")
    again = an_aggregate(states)
    said(again, "chunk: 80 a 70 1", f"watermark {TICK} 70", "watermark w 65", "barrier 2")
    assert states("waiting").rows == 1
