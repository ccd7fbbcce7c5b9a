from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.executor import ENGINE, expr, leaf
from kits.join import LEFT, RIGHT, Said, States
from kits.keyed import one_hash, small_merges
from kits.many import examples
from tidegate.executor.buffers import time_queue
from tidegate.executor.joins import temporal_join
from tidegate.executor.joins.temporal_join import TemporalJoinExecutor
from tidegate.plan.joins import JoinKind, TemporalJoin
from tidegate.plan.nodes import Expr


def node(kind: JoinKind = JoinKind.LEFT, condition: Expr | None = None) -> TemporalJoin:
    left, right = leaf(LEFT), leaf(RIGHT)
    schema = (*left.schema, *right.schema)
    follow = (("t", 0, 0),)
    keys, times = (("k", "q"),), ("t", "u")
    return TemporalJoin(schema, left, right, kind, keys, times, 0, 0, condition, follow, ("w",))


def joining(join: TemporalJoin | None = None, state: States | None = None) -> Said:
    return Said(TemporalJoinExecutor(join or node(), ENGINE, state or States()))


def until(left: int | str, right: int | str, epoch: int) -> tuple[str, ...]:
    """The watermarks, and the end of an epoch."""
    return f"0| watermark t {left}", f"1| watermark u {right}", f"*| barrier {epoch}"


VERSIONS = "1| chunk: a 5 10; a 7 20; b 6 30; . 1 40; a . 50"


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        (JoinKind.LEFT, ["a 4 1 . . .", "b 5 5 . . .", "c 9 6 . . .", ". 9 7 . . ."]),
        (JoinKind.INNER, []),
    ],
)
def test_the_last_version_up_to_the_time(kind: JoinKind, missing: list[str]) -> None:
    join = joining(node(kind))
    rows = "0| chunk: a 4 1; a 5 2; a 6 3; a 9 4; b 5 5; c 9 6; . 9 7"
    assert join(rows, VERSIONS) == []
    found = join.rows(*until(0, 10, 1))
    assert sorted(found) == sorted(["a 5 2 a 5 10", "a 6 3 a 5 10", "a 9 4 a 7 20", *missing])


def test_a_row_waits_until_all_versions_up_to_it_are_known() -> None:
    join = joining()
    assert join.rows("0| chunk: a 5 1; a 6 2", VERSIONS, *until(9, 6, 1)) == ["a 5 1 a 5 10"]
    assert join.rows("1| chunk: a 6 60", *until(9, 7, 2)) == ["a 6 2 a 6 60"]


def test_rows_of_the_slower_side_are_joined_at_once() -> None:
    """Below the right watermark everything is known, however late the left one is."""
    join = joining()
    assert join.rows(VERSIONS, *until(0, 100, 1)) == []
    assert join.rows("0| chunk: a 50 1", *until(40, 100, 2)) == ["a 50 1 a 7 20"]
    assert join.rows("0| chunk: a 45 2", *until(40, 100, 3)) == ["a 45 2 a 7 20"]


def test_rows_without_a_time_have_no_version_and_do_not_wait() -> None:
    assert joining().rows("0| chunk: a . 1", VERSIONS) == ["a . 1 . . ."]
    assert joining(node(JoinKind.INNER)).rows("0| chunk: a . 1", VERSIONS) == []


def test_the_condition_is_about_the_version_that_was_valid() -> None:
    condition = expr('"w" > 10', "BOOLEAN", "w")
    rows = ("0| chunk: a 6 1; a 8 2", VERSIONS, *until(9, 9, 1))
    assert sorted(joining(node(JoinKind.LEFT, condition)).rows(*rows)) == [
        "a 6 1 . . .",
        "a 8 2 a 7 20",
    ]
    assert joining(node(JoinKind.INNER, condition)).rows(*rows) == ["a 8 2 a 7 20"]


def test_the_lesser_watermark_is_that_of_the_left_time() -> None:
    join = joining()
    assert join(*until(5, 3, 1)) == ["watermark t 3", "barrier 1"]
    assert join(*until(5, 9, 2)) == ["watermark t 5", "barrier 2"]
    assert join(*until("end finished", "end finished", 3)) == [
        "watermark t end finished",
        "barrier 3",
    ]


@pytest.mark.slow
def test_versions_that_none_can_have_are_dropped() -> None:
    state = States()
    with small_merges():
        join = joining(state=state)
        for epoch in range(40):
            time = epoch * 10
            versions = f"1| chunk: a {time} {epoch}; b {time + 1} {epoch}"
            found = join.rows(f"0| chunk: a {time} 1", versions, *until(time, time + 5, epoch))
            assert found == [f"a {time} 1 a {time} {epoch}"]
            assert state.rows[0] <= 1
            assert state.rows[1] <= 10
    join(*until("end finished", "end finished", 99))
    assert state.rows == (0, 0)


def test_of_equal_times_the_last_by_the_ties() -> None:
    for versions in ("1| chunk: a 5 1; a 5 2", "1| chunk: a 5 2; a 5 1"):
        assert joining().rows("0| chunk: a 6 1", versions, *until(9, 9, 1)) == ["a 6 1 a 5 2"]


@pytest.mark.slow
def test_versions_do_not_grow_run_by_run() -> None:
    """Under Spark an executor lives for an epoch: what it must know is in state."""
    state = States()
    with small_merges():
        for epoch in range(300):
            join = joining(state=state)
            join(f"1| chunk: k{epoch % 7} {epoch} {epoch}", *until(epoch, epoch, epoch))
            assert len(state(1).runs[0]) <= 20
            assert state.rows[1] <= 40
    found = joining(state=state).rows(
        "0| chunk: k1 300 1", *until("end finished", "end finished", 999)
    )
    assert found == ["k1 300 1 k1 295 295"]


def test_all_at_once_is_joined_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    state = States()
    times = [0, 500, 501, 90_000, 7_000_000]
    rows = "; ".join(f"a {time} 1" for time in times)
    joining(state=state)(f"0| chunk: {rows}", VERSIONS, "*| barrier 1")
    monkeypatch.setattr(time_queue, "EMIT_ROWS_MAX", 2)
    found = joining(state=state).rows(*until("end finished", "end finished", 2))
    assert sorted(found) == sorted(["a 0 1 . . .", *(f"a {t} 1 a 7 20" for t in times[1:])])
    assert state.rows == (0, 0)


_Rows = list[tuple[str, int]]
TIMES = st.integers(0, 30)
ROWS = st.lists(st.tuples(st.sampled_from("ab"), TIMES), max_size=6)
EPOCHS = st.lists(
    st.tuples(ROWS, ROWS, st.integers(0, 12), st.integers(0, 12), st.booleans()), max_size=8
)


@pytest.mark.slow
@examples(150)
@given(epochs=EPOCHS)
@small_merges()
def test_however_rows_come(epochs: list[tuple[_Rows, _Rows, int, int, bool]]) -> None:
    """Each left row that is not late leaves once, with what a look at all versions gives."""
    _however(epochs)


@pytest.mark.slow
@examples(50)
@given(epochs=EPOCHS)
@small_merges()
@patch.object(temporal_join, "with_hashes", one_hash)
def test_keys_of_one_hash(epochs: list[tuple[_Rows, _Rows, int, int, bool]]) -> None:
    _however(epochs)


def _however(epochs: list[tuple[_Rows, _Rows, int, int, bool]]) -> None:
    state, marks, number = States(), [0, 0], 0
    join, found = joining(state=state), list[str]()
    lefts, rights = list[tuple[str, int, int]](), list[tuple[str, int, int]]()
    for epoch, (left, right, left_step, right_step, restarts) in enumerate(epochs):
        for port, (rows, all_rows) in enumerate(((left, lefts), (right, rights))):
            for key, time in rows:
                if time >= marks[port] and (
                    port == 0 or (key, time) not in {r[:2] for r in rights}
                ):
                    number += 1
                    all_rows.append((key, time, number))
                    found += join.rows(f"{port}| chunk: {key} {time} {number}")
        marks = [marks[0] + left_step, marks[1] + right_step]
        found += join.rows(*until(marks[0], marks[1], epoch))
        if restarts:
            join = joining(state=state)
            join(*until(marks[0], marks[1], epoch))
    found += join.rows(*until("end finished", "end finished", 999))
    wanted = []
    for key, time, number in lefts:
        valid = [row for row in rights if row[0] == key and row[1] <= time]
        version = max(valid, key=lambda row: row[1], default=None)
        shown = ". . ." if version is None else " ".join(map(str, version))
        wanted.append(f"{key} {time} {number} {shown}")
    assert sorted(found) == sorted(wanted)
    assert state.rows == (0, 0)
