from __future__ import annotations

import random

import pytest

from kits.executor import ENGINE, expr
from kits.join import KINDS, Said, States, a_join
from kits.many import seeds
from tidegate.executor.joins.interval_join import IntervalJoinExecutor
from tidegate.plan.joins import Join, JoinKind
from tidegate.types import END


def joining(
    kind: JoinKind = JoinKind.INNER,
    lower: int = -2,
    upper: int = 5,
    state: States | None = None,
    join: Join | None = None,
) -> Said:
    node = join or a_join(kind, lower, upper)
    return Said(IntervalJoinExecutor(node, ENGINE, state or States()))


def until(left: int | str, right: int | str, epoch: int) -> tuple[str, ...]:
    """Both watermarks, and the end of an epoch."""
    return f"0| watermark t {left}", f"1| watermark u {right}", f"*| barrier {epoch}"


def test_a_pair_leaves_with_the_epoch_of_its_second_row() -> None:
    join = joining()
    assert join.rows("0| chunk: a 10 1", "*| barrier 1") == []
    assert join("1| chunk: a 12 7", "0| chunk: a 13 2", "0| barrier 2") == []
    assert join("1| barrier 2") == [
        "chunk: a 10 1 a 12 7; a 13 2 a 12 7",
        "watermark t none",
        "watermark u none",
        "barrier 2",
    ]
    assert join.rows("*| barrier 3", *until(9, 9, 4)) == []
    assert join.rows("0| chunk: a 14 3", "*| barrier 5") == ["a 14 3 a 12 7"]


@pytest.mark.parametrize("first", [0, 1])
def test_both_bounds_are_included(first: int) -> None:
    join = joining()
    sides = ("0| chunk: a 10 1", "1| chunk: a 7 .; a 8 .; a 10 .; a 15 .; a 16 .")
    join(sides[first], "*| barrier 1")
    assert join.rows(sides[1 - first], "*| barrier 2") == [
        "a 10 1 a 10 .",
        "a 10 1 a 15 .",
        "a 10 1 a 8 .",
    ]


def test_bounds_that_leave_out_the_same_time() -> None:
    join = joining(lower=3, upper=4)
    rows = ("0| chunk: a 10 1", "1| chunk: a 10 .; a 12 .; a 13 .; a 14 .; a 15 .", "*| barrier 1")
    assert join.rows(*rows) == ["a 10 1 a 13 .", "a 10 1 a 14 ."]


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_one_time_apart(kind: JoinKind) -> None:
    """``u = t + 5``: the rows are final like those of any other bounds."""
    join = joining(kind, 5, 5)
    rows = join.rows("0| chunk: a 10 1", "1| chunk: a 15 2", *until("end finished", "end", 1))
    assert rows == {JoinKind.SEMI: ["a 10 1"], JoinKind.ANTI: []}.get(kind, ["a 10 1 a 15 2"])


# Of each side a row with a partner, one of that key at another time, one of a key of its own, one
# with a NULL key, and one without a time.
LEFTS = "0| chunk: a 10 1; a 50 2; b 10 3; . 10 4; a . 5"
RIGHTS = "1| chunk: a 12 10; a 99 20; c 12 30; . 12 40; a . 50"
PAIR = "a 10 1 a 12 10"
ONLY_LEFT = ["a 50 2 . . .", "b 10 3 . . .", ". 10 4 . . .", "a . 5 . . ."]
ONLY_RIGHT = [". . . a 99 20", ". . . c 12 30", ". . . . 12 40", ". . . a . 50"]


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (JoinKind.INNER, [PAIR]),
        (JoinKind.LEFT, [PAIR, *ONLY_LEFT]),
        (JoinKind.RIGHT, [PAIR, *ONLY_RIGHT]),
        (JoinKind.FULL, [PAIR, *ONLY_LEFT, *ONLY_RIGHT]),
        (JoinKind.SEMI, ["a 10 1"]),
        (JoinKind.ANTI, ["a 50 2", "b 10 3", ". 10 4", "a . 5"]),
    ],
)
def test_kinds(kind: JoinKind, rows: list[str]) -> None:
    state = States()
    join = joining(kind, state=state)
    found = join.rows(LEFTS, RIGHTS, "*| barrier 1")
    found += join.rows(*until("end finished", "end finished", 2))
    assert sorted(found) == sorted(rows)
    assert state.rows == (0, 0)


def test_left_rows_leave_alone_when_no_partner_can_come() -> None:
    """Partners of a left row at 10 are at 8 to 15; a right row at the watermark may still come."""
    join = joining(JoinKind.LEFT)
    assert join.rows("0| chunk: a 10 1", *until(11, 15, 1)) == []
    assert join.rows("1| watermark u 16", "*| barrier 2") == ["a 10 1 . . ."]
    assert join.rows(*until(99, 99, 3)) == []


def test_left_rows_wait_for_their_own_watermark_too() -> None:
    join = joining(JoinKind.LEFT)
    assert join.rows("0| chunk: a 10 1", *until(10, 90, 1)) == []
    assert join.rows("0| watermark t 11", "*| barrier 2") == ["a 10 1 . . ."]


def test_right_rows_leave_alone_when_no_partner_can_come() -> None:
    """Partners of a right row at 10 are at 5 to 12."""
    join = joining(JoinKind.RIGHT)
    assert join.rows("1| chunk: a 10 1", *until(12, 11, 1)) == []
    assert join.rows("0| watermark t 13", "*| barrier 2") == [". . . a 10 1"]
    join = joining(JoinKind.RIGHT)
    assert join.rows("1| chunk: a 10 1", *until(90, 10, 1)) == []
    assert join.rows("1| watermark u 11", "*| barrier 2") == [". . . a 10 1"]


@pytest.mark.slow
def test_a_row_whose_partner_came_long_ago_does_not_leave_alone() -> None:
    """The right row is kept for as long as a left row that it partnered is not final."""
    for kind, last in ((JoinKind.LEFT, []), (JoinKind.SEMI, ["a 10 1"]), (JoinKind.ANTI, [])):
        join = joining(kind)
        join("0| chunk: a 10 1", "1| chunk: a 8 2", *until(10, 9, 1))
        assert join.rows(*until(30, 15, 2)) == []
        assert join.rows(*until(30, 16, 3)) == last
    join = joining(JoinKind.FULL, -5, 2)
    assert join.rows("0| chunk: a 10 1", "1| chunk: a 12 2", *until(11, 12, 1)) != []
    assert join.rows(*until(17, 30, 2)) == []
    assert join.rows(*until(18, 30, 3)) == []


def test_semi_and_anti_give_a_row_once_when_it_is_final() -> None:
    rows = ("0| chunk: a 10 1; b 10 2", "1| chunk: a 8 .; a 12 .; a 12 .", *until(20, 15, 1))
    for kind, last in ((JoinKind.SEMI, ["a 10 1"]), (JoinKind.ANTI, ["b 10 2"])):
        join = joining(kind)
        assert join.rows(*rows) == []
        assert join.rows(*until(20, 16, 2)) == last
        assert join.rows(*until(90, 90, 3)) == []


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
    state = States()
    join = joining(kind, state=state)
    assert join.rows("0| chunk: a . 1", "1| chunk: a . 2") == rows
    assert join.rows("*| barrier 1") == []
    assert state.rows == (0, 0)


@pytest.mark.parametrize(
    ("left", "right", "left_out", "right_out"),
    [
        ("100", "103", "98", "98"),  # t: min(100, 103 - 5), u: min(103, 100 - 2)
        ("100", "200", "100", "98"),
        ("100", "50", "45", "50"),
        ("100", "none", "none", "none"),
        ("none", "100", "none", "none"),
        ("end finished", "50", "45", "50"),
        ("100", "end finished", "100", "98"),
        ("end finished", "end finished", "end finished", "end finished"),
        (str(END - 1), "end finished", str(END - 1), str(END - 3)),
    ],
)
def test_watermarks(left: str, right: str, left_out: str, right_out: str) -> None:
    assert joining()(*until(left, right, 1)) == [
        f"watermark t {left_out}",
        f"watermark u {right_out}",
        "barrier 1",
    ]


def test_idle_only_when_both_are() -> None:
    join = joining(lower=0, upper=0)
    assert join(*until("5 idle", "9", 1))[:2] == ["watermark t 5", "watermark u 5"]
    assert join(*until("5 idle", "9 idle", 2))[:2] == ["watermark t 5 idle", "watermark u 5 idle"]


def test_columns_that_follow_are_moved_and_all_other_watermarks_end() -> None:
    follow = (("t", 0, 0), ("v", 0, -10), ("u", 1, 0), ("w", 1, 1))
    join = joining(join=a_join(lower=-2, upper=5, follow=follow))
    assert join("0| watermark v 1", "1| watermark w 1", *until(100, 200, 1)) == [
        "watermark t 100",
        "watermark v 90",
        "watermark u 98",
        "watermark w 99",
        "barrier 1",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_restart_changes_nothing(kind: JoinKind) -> None:
    steps = [
        ("0| chunk: a 10 1; b 10 2", *until(9, 8, 1)),
        ("1| chunk: a 12 3; c 12 4", *until(11, 12, 2)),
        ("0| chunk: a 14 5", "1| chunk: a 13 6", *until(14, 16, 3)),
        until(15, 16, 4),
        ("1| chunk: a 19 7", *until(20, 19, 5)),
        until("end finished", "end finished", 6),
    ]
    whole = joining(kind)
    state = States()
    for step in steps:
        assert joining(kind, state=state)(*step) == whole(*step)
    assert state.rows == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_state_is_what_may_yet_have_a_partner(kind: JoinKind) -> None:
    """Also of keys that come once and never again."""
    state = States()
    join = joining(kind, state=state)
    for epoch in range(40):
        time = epoch * 10
        join(f"0| chunk: a{epoch} {time} 1", f"1| chunk: b{epoch} {time} 1; . {time} 2")
        join(*until(time, time, epoch))
        assert state.rows <= (2, 4)
    join(*until(398, 398, 99))  # 8 above the last rows: a partner's partner was at most 7 away
    assert state.rows == (0, 0)
    assert (state(0).buckets(), state(1).buckets()) == ([], [])


def test_an_inner_join_forgets_by_the_other_sides_watermark_alone() -> None:
    state = States()
    join = joining(state=state)
    join("0| chunk: a 10 1", "1| chunk: b 10 2", *until(10, 15, 1))
    assert state.rows == (1, 1)
    join("1| watermark u 16", "*| barrier 2")
    assert state.rows == (0, 1)
    join("0| watermark t 12", "*| barrier 3")
    assert state.rows == (0, 1)
    join("0| watermark t 13", "*| barrier 4")
    assert state.rows == (0, 0)


def test_the_condition_decides_who_is_a_partner() -> None:
    node = a_join(JoinKind.LEFT, -2, 5, condition=expr('"v" > "w"', "BOOLEAN", "v", "w"))
    join = joining(join=node)
    rows = join.rows("0| chunk: a 10 4; a 10 .", "1| chunk: a 10 3; a 10 4", "*| barrier 1")
    assert rows == ["a 10 4 a 10 3"]
    assert join.rows(*until(90, 90, 2)) == ["a 10 . . . ."]


def test_without_keys_all_rows_within_the_bounds_meet() -> None:
    join = joining(join=a_join(lower=-2, upper=5, keys=()))
    rows = ("0| chunk: a 10 1; . 20 2", "1| chunk: b 12 3; . 21 4", "*| barrier 1")
    assert join.rows(*rows) == [". 20 2 . 21 4", "a 10 1 b 12 3"]


def test_the_ends_of_int64() -> None:
    low, high = -(2**63), END - 2
    join = joining(JoinKind.FULL)
    rows = join.rows(
        f"0| chunk: a {low} 1; b {high} 2; c {low} 3", f"1| chunk: a {low + 5} 4; b {high} 5",
        "*| barrier 1", *until("end finished", "end finished", 2),
    )  # fmt: skip
    assert rows == [f"a {low} 1 a {low + 5} 4", f"b {high} 2 b {high} 5", f"c {low} 3 . . ."]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_random_streams_give_what_a_loop_over_all_pairs_gives(kind: JoinKind) -> None:
    for seed in seeds(15):
        rng = random.Random(seed)
        lower = rng.randint(-6, 3)
        upper = lower + rng.randint(0, 8)
        state = States()
        join = joining(kind, lower, upper, state)
        sent: list[list[tuple[str, int, int]]] = [[], []]
        marks, found = [0, 0], []
        for epoch in range(25):
            lines = []
            for port, column in enumerate("tu"):
                rows = [
                    (rng.choice("ab"), marks[port] + rng.randrange(12), len(sent[port]) + index)
                    for index in range(rng.randrange(4))
                ]
                sent[port] += rows
                lines += [f"{port}| chunk: {'; '.join(f'{k} {t} {n}' for k, t, n in rows)}"]
                marks[port] += rng.choice([0, 1, 7])
                lines += [f"{port}| watermark {column} {marks[port]}"]
            found += join.rows(*lines, f"*| barrier {epoch}")
            if rng.random() < 0.3:
                join = joining(kind, lower, upper, state)
        found += join.rows(*until("end finished", "end finished", 99))
        assert sorted(found) == sorted(_by_loop(kind, lower, upper, *sent)), f"seed {seed}"
        assert state.rows == (0, 0)


def _by_loop(
    kind: JoinKind,
    lower: int,
    upper: int,
    lefts: list[tuple[str, int, int]],
    rights: list[tuple[str, int, int]],
) -> list[str]:
    pairs = [
        (a, b) for a in lefts for b in rights if a[0] == b[0] and lower <= b[1] - a[1] <= upper
    ]
    with_left, with_right = {a for a, _ in pairs}, {b for _, b in pairs}
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return [_row(a) for a in lefts if (a in with_left) == (kind is JoinKind.SEMI)]
    found = [f"{_row(a)} {_row(b)}" for a, b in pairs]
    if kind in (JoinKind.LEFT, JoinKind.FULL):
        found += [f"{_row(a)} . . ." for a in lefts if a not in with_left]
    if kind in (JoinKind.RIGHT, JoinKind.FULL):
        found += [f". . . {_row(b)}" for b in rights if b not in with_right]
    return found


def _row(row: tuple[str, int, int]) -> str:
    return " ".join(map(str, row))
