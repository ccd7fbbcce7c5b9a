from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kits.executor import ENGINE, Text, leaf
from tidegate.executor.over.recent_rows import RecentRowsExecutor
from tidegate.plan.over import Frame, OverCall, RecentRows
from tidegate.state import MemoryStateTable
from tidegate.types import Column

COLUMNS = "t BIGINT, v BIGINT, keep BOOLEAN"
ADDED = "most BIGINT, n BIGINT, before BIGINT, first BIGINT"
CALLS = (
    OverCall(Column("most", "BIGINT"), "max", ("t",), Frame(True, -2)),
    OverCall(Column("n", "BIGINT"), "count", (), Frame(True, -3, -1), where="keep"),
    OverCall(Column("before", "BIGINT"), "lag", ("v",), None, 2),
    OverCall(Column("first", "BIGINT"), "first_value", ("v",), Frame(True, -1)),
)


def recent(state: MemoryStateTable, split: str = "s") -> RecentRowsExecutor:
    below = leaf(COLUMNS)
    schema = (*below.schema, *(call.output for call in CALLS))
    return RecentRowsExecutor(
        RecentRows(schema, below, "x.recent", "x", CALLS), split, ENGINE, state
    )


TEXT = Text(COLUMNS, ADDED)


def test_the_last_rows_of_the_split() -> None:
    state = MemoryStateTable()
    assert TEXT.run(recent(state), "chunk s: 5 1 true; 9 2 true", "chunk s: 3 3 false") == [
        "chunk s: 5 1 true 5 0 . 1; 9 2 true 9 1 . 1",
        "chunk s: 3 3 false 9 2 1 2",
    ]


def test_after_a_restart() -> None:
    state = MemoryStateTable()
    TEXT.run(recent(state), "chunk s: 5 1 true; 9 2 true", "barrier 1")
    TEXT.run(recent(state, "other"), "chunk other: 100 1 true", "barrier 1")
    assert TEXT.run(recent(state), "chunk s: 3 3 false") == ["chunk s: 3 3 false 9 2 1 2"]


def test_nothing_and_watermarks_pass() -> None:
    lines = ["chunk s: ", "watermark t 5", "barrier 1"]
    assert TEXT.run(recent(MemoryStateTable()), *lines) == lines


_ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans()), max_size=20)


@pytest.mark.slow
@settings(deadline=None)
@given(_ROWS, st.integers(1, 5), st.booleans())
def test_whatever_the_chunks(rows: list[tuple[int, int, bool]], size: int, restarts: bool) -> None:
    """Against a loop over the rows."""
    wanted = []
    for at, (t, v, keep) in enumerate(rows):
        most = max(row[0] for row in rows[max(0, at - 2) : at + 1])
        n = sum(row[2] for row in rows[max(0, at - 3) : at])
        before = rows[at - 2][1] if at >= 2 else "."
        first = rows[max(0, at - 1)][1]
        wanted.append(f"{t} {v} {str(keep).lower()} {most} {n} {before} {first}")
    state = MemoryStateTable()
    executor, found = recent(state), []
    for start in range(0, len(rows), size):
        part = "; ".join(
            f"{t} {v} {str(keep).lower()}" for t, v, keep in rows[start : start + size]
        )
        lines = TEXT.run(executor, f"chunk s: {part}", f"barrier {start + 1}")
        found += lines[0].removeprefix("chunk s: ").split("; ")
        executor = recent(state) if restarts else executor
    assert found == wanted
