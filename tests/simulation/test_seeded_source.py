"""Splits that come, rest, go on and leave."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from simulation.memory_source import Split
from simulation.seeded_source import Life, SeededSource, cut
from tidegate.clock import ManualClock
from tidegate.types import OFFSET

STEP_US = 1_000_000


def split(rows: int) -> Split:
    malformed = pa.schema([("offset", pa.int64()), ("record", pa.binary())]).empty_table()
    return Split(pa.table({OFFSET: range(rows)}), malformed, rows, finished=False)


def source(clock: ManualClock, **lives: Life) -> SeededSource:
    return SeededSource({"a": split(4), "b": split(2)}, Random(1), 10, clock, lives)


def test_a_split_is_there_from_its_time_on() -> None:
    clock = ManualClock()
    joins = source(clock, b=Life(from_us=STEP_US))
    assert joins.splits() == ["a"]
    assert joins.more_comes
    clock.sleep(1.0)
    assert joins.splits() == ["a", "b"]


def test_nothing_comes_while_a_split_rests() -> None:
    clock = ManualClock()
    rests = source(clock, a=Life(pauses_us={3: STEP_US}))
    assert rests.plan({"a": None}, None)["a"].end == 3
    assert rests.waiting({"a": 2}) == ["a"]
    resting = rests.plan({"a": 3}, None)["a"]
    assert (resting.end, resting.at_end, resting.finished) == (3, True, False)
    assert rests.waiting({"a": 3}) == []
    clock.sleep(1.0)
    last = rests.plan({"a": 3}, None)["a"]
    assert (last.end, last.at_end) == (4, True)


def test_a_split_leaves_once_all_of_it_was_read() -> None:
    leaves = source(ManualClock(), a=Life(leaves=True))
    leaves.plan({"a": 3, "b": 2}, None)
    assert leaves.splits() == ["a", "b"]
    assert leaves.more_comes
    leaves.plan({"a": 4, "b": 2}, None)
    assert leaves.splits() == ["b"]
    assert not leaves.more_comes


def test_lives_are_drawn_in_their_bounds() -> None:
    drawn = [Life.draw(Random(seed), 10, 5, STEP_US) for seed in range(200)]
    assert {life.leaves for life in drawn} == {True, False}
    assert {len(life.pauses_us) for life in drawn} == {0, 1, 2}
    stops = {stop for life in drawn for stop in life.pauses_us}
    assert (min(stops), max(stops)) == (0, 10)
    assert {life.from_us % STEP_US for life in drawn} == {5}


def test_cut_shares_the_rows_out() -> None:
    left = {"a": 5, "b": 1, "c": 0}
    for seed in range(20):
        taken = cut(Random(seed), left, 3)
        assert sum(taken.values()) == 3
        assert all(taken[split] <= left[split] for split in left)
    assert cut(Random(1), left, 100) == left
    assert cut(Random(1), {"a": 0}, 1) == {"a": 0}
