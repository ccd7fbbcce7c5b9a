from __future__ import annotations

import pytest

from kits.executor import ENGINE, expr
from kits.join import KINDS, Said, States, a_join
from tidegate.executor.buffers import time_queue
from tidegate.executor.joins.window_join import WindowJoinExecutor
from tidegate.plan.joins import Join, JoinKind
from tidegate.types import END


def joining(join: Join | None = None, state: States | None = None) -> Said:
    return Said(WindowJoinExecutor(join or a_join(), ENGINE, state or States()))


def until(bound: int | str, epoch: int) -> tuple[str, ...]:
    """Both watermarks, and the end of an epoch."""
    return f"0| watermark t {bound}", f"1| watermark u {bound}", f"*| barrier {epoch}"


# Of each side a row with a partner, one of that key at another time, one of a key of its own, and
# one with a NULL key.
LEFTS = "0| chunk: a 5 1; a 6 2; b 5 3; . 5 4"
RIGHTS = "1| chunk: a 5 10; a 4 20; c 5 30; . 5 40"
PAIR = "a 5 1 a 5 10"
ONLY_LEFT = ["a 6 2 . . .", "b 5 3 . . .", ". 5 4 . . ."]
ONLY_RIGHT = [". . . a 4 20", ". . . c 5 30", ". . . . 5 40"]


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (JoinKind.INNER, [PAIR]),
        (JoinKind.LEFT, [PAIR, *ONLY_LEFT]),
        (JoinKind.RIGHT, [PAIR, *ONLY_RIGHT]),
        (JoinKind.FULL, [PAIR, *ONLY_LEFT, *ONLY_RIGHT]),
        (JoinKind.SEMI, ["a 5 1"]),
        (JoinKind.ANTI, ["a 6 2", "b 5 3", ". 5 4"]),
    ],
)
def test_kinds(kind: JoinKind, rows: list[str]) -> None:
    state = States()
    join = joining(a_join(kind), state)
    assert join(LEFTS, RIGHTS) == []
    assert sorted(join.rows(*until("end finished", 1))) == sorted(rows)
    assert state.rows == (0, 0)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (JoinKind.INNER, []),
        (JoinKind.LEFT, ["a . 1 . . ."]),
        (JoinKind.RIGHT, [". . . a . 2"]),
        (JoinKind.FULL, ["a . 1 . . .", ". . . a . 2"]),
        (JoinKind.SEMI, []),
        (JoinKind.ANTI, ["a . 1"]),
    ],
)
def test_rows_without_a_time_leave_at_once_and_are_not_kept(
    kind: JoinKind, rows: list[str]
) -> None:
    """Also when they come with rows that have one, which wait."""
    state = States()
    join = joining(a_join(kind), state)
    assert join.rows("0| chunk: a . 1; b 5 3", "1| chunk: c 5 4; a . 2") == rows
    assert join.rows("*| barrier 1") == []
    assert state.rows == (1, 1)
    left = join.rows(*until("end finished", 2))
    assert not [row for row in left if "a" in row.split()]


def test_every_partner_is_a_pair_and_a_semi_join_gives_a_row_once() -> None:
    rows = ("0| chunk: a 5 1; a 5 2", "1| chunk: a 5 7; a 5 8; a 5 8", *until(6, 1))
    assert joining().rows(*rows) == [
        "a 5 1 a 5 7",
        "a 5 1 a 5 8",
        "a 5 1 a 5 8",
        "a 5 2 a 5 7",
        "a 5 2 a 5 8",
        "a 5 2 a 5 8",
    ]
    assert joining(a_join(JoinKind.SEMI)).rows(*rows) == ["a 5 1", "a 5 2"]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_at_the_watermark_wait(kind: JoinKind) -> None:
    join = joining(a_join(kind))
    join("0| chunk: a 5 1; b 5 2", "1| chunk: a 5 3; c 5 4")
    assert join.rows(*until(5, 1)) == []
    assert join.rows(*until(6, 2)) != []
    assert join.rows(*until(7, 3)) == []


def test_the_lesser_watermark_decides_at_the_barrier() -> None:
    join = joining()
    join("0| chunk: a 5 1; a 8 2", "1| chunk: a 5 3; a 8 4")
    assert join("0| watermark t 20", "1| watermark u 7", "0| barrier 1") == []
    assert join("1| barrier 1") == [
        "chunk: a 5 1 a 5 3",
        "watermark t 7",
        "watermark u 7",
        "barrier 1",
    ]
    assert join("1| watermark u 30", "*| barrier 2")[:2] == ["chunk: a 8 2 a 8 4", "watermark t 20"]


def test_without_both_watermarks_nothing_leaves() -> None:
    join = joining(a_join(JoinKind.FULL))
    assert join("0| chunk: a 5 1", "0| watermark t end finished", "*| barrier 1") == [
        "watermark t none",
        "watermark u none",
        "barrier 1",
    ]


def test_the_end() -> None:
    assert joining()(*until("end finished", 1)) == [
        "watermark t end finished",
        "watermark u end finished",
        "barrier 1",
    ]
    last = END - 2
    rows = joining().rows(
        f"0| chunk: a {last} 1; a {-(2**63)} 2",
        f"1| chunk: a {last} 3; a {-(2**63)} 4",
        *until("end finished", 1),
    )
    assert rows == [f"a -{2**63} 2 a -{2**63} 4", f"a {last} 1 a {last} 3"]


def test_columns_that_follow_are_moved_and_all_other_watermarks_end() -> None:
    join = joining(a_join(follow=(("t", 0, 0), ("v", 0, -10), ("u", 1, 0))))
    assert join("0| watermark v 3", "1| watermark w 3", *until(50, 1)) == [
        "watermark t 50",
        "watermark v 40",
        "watermark u 50",
        "barrier 1",
    ]
    assert "watermark v end finished" in join(*until("end finished", 2))


def test_the_condition_sees_both_sides_and_null_is_not_true() -> None:
    join = joining(a_join(JoinKind.LEFT, condition=expr('"v" > "w"', "BOOLEAN", "v", "w")))
    assert join.rows("0| chunk: a 5 4; a 5 .", "1| chunk: a 5 3; a 5 4; a 5 .", *until(6, 1)) == [
        "a 5 . . . .",
        "a 5 4 a 5 3",
    ]


def test_without_keys_all_rows_of_a_time_meet() -> None:
    rows = ("0| chunk: a 5 1; . 6 2", "1| chunk: b 5 3; . 6 4", *until(9, 1))
    assert joining(a_join(keys=())).rows(*rows) == [". 6 2 . 6 4", "a 5 1 b 5 3"]


@pytest.mark.slow
def test_all_keys_must_be_equal() -> None:
    join = joining(a_join(keys=(("k", "q"), ("v", "w"))))
    rows = ("0| chunk: a 5 1; a 5 .", "1| chunk: a 5 1; a 5 2; b 5 1; a 5 .", *until(6, 1))
    assert join.rows(*rows) == ["a 5 1 a 5 1"]


@pytest.mark.slow
def test_what_waits_survives_a_restart_and_leaves_once() -> None:
    state = States()
    first = joining(state=state)
    first("0| chunk: a 5 1; a 9 2", "1| chunk: a 5 3")
    assert first.rows(*until(6, 1)) == ["a 5 1 a 5 3"]
    assert state.rows == (1, 0)
    again = joining(state=state)
    assert again.rows(*until(6, 2)) == []
    assert again.rows("1| chunk: a 9 4", *until(10, 3)) == ["a 9 2 a 9 4"]
    assert joining(state=state).rows(*until("end finished", 4)) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_state_is_what_the_watermark_has_not_passed(kind: JoinKind) -> None:
    """Also of keys that come once and never again."""
    state = States()
    join = joining(a_join(kind), state)
    for epoch in range(40):
        time = epoch * 10
        join(f"0| chunk: a{epoch} {time} 1", f"1| chunk: b{epoch} {time} 1; . {time} 2")
        join(*until(time - 10, epoch))
        assert state.rows <= (2, 4)
    join(*until(391, 99))
    assert state.rows == (0, 0)
    assert (state(0).buckets(), state(1).buckets()) == ([], [])


@pytest.mark.slow
def test_closing_all_joins_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    state = States()
    times = [0, 500, 501, 90_000, 7_000_000]
    rows = ["; ".join(f"a {time} {side}" for time in times) for side in range(2)]
    joining(a_join(JoinKind.FULL), state)(
        f"0| chunk: {rows[0]}; z 501 9", f"1| chunk: {rows[1]}", "*| barrier 1"
    )
    monkeypatch.setattr(time_queue, "EMIT_ROWS_MAX", 2)
    wanted = [f"a {time} 0 a {time} 1" for time in times]
    wanted.append("z 501 9 . . .")
    found = joining(a_join(JoinKind.FULL), state).rows(*until("end finished", 2))
    assert sorted(found) == sorted(wanted)
    assert state.rows == (0, 0)
