from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kits.executor import ENGINE, Text, expr, leaf
from kits.join import LEFT, Said, States
from tidegate.executor.joins.lookup_join import LookupJoinExecutor
from tidegate.plan.joins import JoinKind, LookupJoin
from tidegate.plan.nodes import Expr

TABLE = "q VARCHAR, w BIGINT, e BIGINT"
OUTPUT = "q VARCHAR, w BIGINT"
KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
OPEN, ENDED = "1| watermark e none", "1| watermark e end finished"


def node(
    kind: JoinKind = JoinKind.LEFT,
    condition: Expr | None = None,
    keys: tuple[tuple[str, str], ...] = (("k", "q"),),
) -> LookupJoin:
    left, right = leaf(LEFT), leaf(TABLE)
    join = LookupJoin((), left, right, kind, keys, ("", "e"), 0, 0, condition)
    return LookupJoin(
        join.given(left.schema, right.schema), left, right, kind, keys, ("", "e"), 0, 0, condition
    )


def joining(join: LookupJoin | None = None, state: States | None = None) -> Said:
    texts = (Text(LEFT, OUTPUT), Text(TABLE, LEFT))
    return Said(LookupJoinExecutor(join or node(), ENGINE, state or States()), texts)


ROWS, KNOWN = "0| chunk: a 1 1; b 2 2; c 3 3; . 4 4", "1| chunk: a 10 0; a 11 0; b 20 0; . 30 0"


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (JoinKind.INNER, ["a 1 1 a 10", "a 1 1 a 11", "b 2 2 b 20"]),
        (JoinKind.LEFT, ["a 1 1 a 10", "a 1 1 a 11", "b 2 2 b 20", "c 3 3 . .", ". 4 4 . ."]),
        (JoinKind.SEMI, ["a 1 1", "b 2 2"]),
        (JoinKind.ANTI, ["c 3 3", ". 4 4"]),
    ],
)
def test_with_all_rows_of_the_table(kind: JoinKind, rows: list[str]) -> None:
    join = joining(node(kind))
    found = join.rows(ROWS, KNOWN, "0| watermark t 1", ENDED, "*| barrier 1")
    assert sorted(found) == sorted(rows)


def test_rows_and_watermarks_wait_until_the_table_has_ended() -> None:
    state = States()
    first = joining(state=state)
    assert first(ROWS, KNOWN, "0| watermark t 1", OPEN, "*| barrier 1") == [
        "watermark t none",
        "barrier 1",
    ]
    assert state.rows == (4, 3)
    again = joining(state=state)  # another epoch, another executor
    assert again("1| chunk: c 30 0", "0| watermark t 3", ENDED, "*| barrier 2") == [
        "chunk: . 4 4 . .; a 1 1 a 10; a 1 1 a 11; b 2 2 b 20; c 3 3 c 30",
        "watermark t 3",
        "barrier 2",
    ]
    assert state.rows == (0, 4)


def test_state_is_gone_when_both_have_ended() -> None:
    state = States()
    join = joining(state=state)
    join(ROWS, KNOWN, "0| watermark t end finished", ENDED, "*| barrier 1")
    assert state.rows == (0, 0)


def test_a_condition_and_no_keys() -> None:
    condition = expr("w > v * 8", "BOOLEAN", "w", "v")
    join = joining(node(JoinKind.INNER, condition, keys=()))
    assert join.rows(ROWS, KNOWN, ENDED, "0| watermark t 1", "*| barrier 1") == [
        "a 1 1 . 30", "a 1 1 a 10", "a 1 1 a 11", "a 1 1 b 20", "b 2 2 . 30", "b 2 2 b 20",
        "c 3 3 . 30",
    ]  # fmt: skip


def test_a_table_of_which_nobody_reads_a_column() -> None:
    left, right = leaf(LEFT), leaf("e BIGINT")
    join = LookupJoin(left.schema, left, right, JoinKind.INNER, (), ("", "e"), 0, 0)
    said = Said(LookupJoinExecutor(join, ENGINE, States()), (Text(LEFT), Text("e BIGINT", LEFT)))
    rows = said.rows("0| chunk: a 1 1", "1| chunk: 0; 0", ENDED, "0| watermark t 1", "*| barrier 1")
    assert rows == ["a 1 1", "a 1 1"]


_ROW = st.tuples(st.sampled_from("abc."), st.integers(0, 3))


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.sampled_from(KINDS),
    st.lists(st.tuples(st.booleans(), _ROW), max_size=14),
    st.integers(1, 4),
    st.integers(0, 4),
)
def test_whatever_the_epochs(
    kind: JoinKind, rows: list[tuple[bool, tuple[str, int]]], size: int, behind: int
) -> None:
    """Against loops over the rows, for any order of the two sides."""
    lefts = [row for is_left, row in rows if is_left]
    table = defaultdict(list)
    for is_left, (key, value) in rows:
        if not is_left and key != ".":
            table[key].append(value)
    wanted = []
    for key, value in lefts:
        partners = table[key] if key != "." else []
        row = f"{key} 0 {value}"
        if kind.has_right:
            wanted += [f"{row} {key} {partner}" for partner in partners]
            wanted += [f"{row} . ."] if kind is JoinKind.LEFT and not partners else []
        elif bool(partners) == (kind is JoinKind.SEMI):
            wanted.append(row)
    state, found = States(), []
    last_of_table = max([n for n, (is_left, _) in enumerate(rows) if not is_left], default=0)
    for epoch, start in enumerate(range(0, len(rows) + 1 + behind, size)):
        join = joining(node(kind), state)
        lines = []
        for is_left, (key, value) in rows[start : start + size]:
            lines.append(f"0| chunk: {key} 0 {value}" if is_left else f"1| chunk: {key} {value} 0")
        ended = start + size > last_of_table + behind
        word = ENDED if ended else OPEN
        found += join.rows(*lines, "0| watermark t 0", word, f"*| barrier {epoch + 1}")
    assert sorted(found) == sorted(wanted)
