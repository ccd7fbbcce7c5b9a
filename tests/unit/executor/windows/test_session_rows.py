from __future__ import annotations

import pytest

from kits.executor import ENGINE, Text, leaf, schema
from tidegate.executor.windows.session_rows import SessionRowsExecutor
from tidegate.plan.physical import SessionRows
from tidegate.plan.windows import Session
from tidegate.state import MemoryStateTable
from tidegate.types import END

TEXT = Text("k VARCHAR, t BIGINT, __offset BIGINT")


def sessions(
    gap: int = 10, keys: tuple[str, ...] = ("k",), state: MemoryStateTable | None = None
) -> SessionRowsExecutor:
    below = leaf("k VARCHAR, t BIGINT")
    added = schema("window_start BIGINT, window_end BIGINT")
    session = Session((*below.schema, *added), below, "t", keys, gap)
    node = SessionRows(session.schema, below, session, ("__offset",))
    return SessionRowsExecutor(node, ENGINE, state if state is not None else MemoryStateTable())


def test_rows_leave_when_their_session_is_over() -> None:
    got = TEXT.run(
        sessions(), "chunk: a 1 0; a 5 1; b 3 2", "watermark t 13", "barrier 1",
        "watermark t 15", "barrier 2",
    )  # fmt: skip
    assert got == [
        "chunk: b 3 3 13 2",
        "watermark t 1",
        "watermark window_start 1",
        "watermark window_end 14",
        "barrier 1",
        "chunk: a 1 1 15 0; a 5 1 15 1",
        "watermark t 15",
        "watermark window_start 15",
        "watermark window_end 16",
        "barrier 2",
    ]


def test_a_row_exactly_one_gap_later_begins_the_next_one() -> None:
    got = TEXT.run(
        sessions(), "chunk: a 1 0; a 11 1; a 20 2", "watermark t end finished", "barrier 1"
    )
    assert got[0] == "chunk: a 1 1 11 0; a 11 11 30 1; a 20 11 30 2"
    assert got[1:] == [
        "watermark t end finished",
        "watermark window_start end finished",
        "watermark window_end end finished",
        "barrier 1",
    ]


def test_a_row_between_two_sessions_makes_them_one() -> None:
    state = MemoryStateTable()
    TEXT.run(sessions(state=state), "chunk: a 1 0; a 16 1", "watermark t 5", "barrier 1")
    got = TEXT.run(
        sessions(state=state), "chunk: a 8 2", "watermark t 12", "barrier 2",
        "watermark t 26", "barrier 3",
    )  # fmt: skip
    assert got[:4] == [
        "watermark t 1",
        "watermark window_start 1",
        "watermark window_end 13",
        "barrier 2",
    ]
    assert got[4] == "chunk: a 1 1 26 0; a 8 1 26 2; a 16 1 26 1"


def test_null_is_a_key_and_without_keys_there_is_one_session() -> None:
    rows = "chunk: . 1 0; a 2 1; . 5 2"
    end = ("watermark t end finished", "barrier 1")
    assert TEXT.run(sessions(), rows, *end)[0] == "chunk: a 2 2 12 1; . 1 1 15 0; . 5 1 15 2"
    assert TEXT.run(sessions(keys=()), rows, *end)[0] == (
        "chunk: . 1 1 15 0; a 2 1 15 1; . 5 1 15 2"
    )


def test_a_row_without_a_time_leaves_at_the_end() -> None:
    state = MemoryStateTable()
    got = TEXT.run(sessions(state=state), "chunk: a . 0; a -5 1", "watermark t 50", "barrier 1")
    assert got[0] == "chunk: a -5 -5 5 1"
    got = TEXT.run(sessions(state=state), "watermark t end finished", "barrier 2")
    assert got[0] == "chunk: a . . . 0"
    assert state.rows == 0


def test_the_watermark_is_held_back_by_rows_that_were_not_read() -> None:
    """Those at or above it, which no session that ended had to do with."""
    executor = sessions()
    TEXT.run(executor, "chunk: a 1 0; b 30 1", "watermark t 11", "barrier 1")
    got = TEXT.run(executor, "watermark t 35", "barrier 2")
    assert got[0] == "watermark t 30"


def test_a_watermark_that_rows_hold_is_not_idle() -> None:
    """A merge behind takes the highest of idle ones; these differ between instances."""
    executor = sessions()
    got = TEXT.run(executor, "chunk: a 1 0", "watermark t 5 idle", "barrier 1")
    assert got[0] == "watermark t 1"
    assert [line for line in got if line.startswith("watermark window_start")] == [
        "watermark window_start 1"
    ]
    assert any(line.startswith("watermark window_end") and "idle" in line for line in got)
    assert TEXT.run(sessions(), "watermark t 5 idle", "barrier 1")[0] == "watermark t 5 idle"


def test_nothing_is_read_before_a_session_can_be_over(monkeypatch: pytest.MonkeyPatch) -> None:
    state = MemoryStateTable()
    executor = sessions(state=state)
    TEXT.run(executor, "chunk: a 1 0; a 8 1", "watermark t 2", "barrier 1")
    monkeypatch.setattr(state, "read", None)
    assert TEXT.run(executor, "watermark t 10", "barrier 2")[0] == "watermark t 1"


@pytest.mark.slow
def test_state_is_the_rows_of_open_sessions() -> None:
    state = MemoryStateTable()
    executor = sessions(state=state)
    for epoch in range(50):
        TEXT.run(
            executor, f"chunk: a{epoch} {epoch * 100} 0; b {epoch * 100} 1",
            f"watermark t {epoch * 100 + 5}", f"barrier {epoch}",
        )  # fmt: skip
        assert state.rows <= 4


def test_the_ends_of_int64() -> None:
    rows = f"chunk: a {-(2**63) + 1} 0; a {END - 2} 1"
    got = TEXT.run(sessions(), rows, "watermark t end finished", "barrier 1")
    low = -(2**63) + 1
    assert got[0] == f"chunk: a {low} {low} {low + 10} 0; a {END - 2} {END - 2} {END - 1} 1"


def test_no_watermark_says_nothing() -> None:
    assert TEXT.run(sessions(), "chunk: a 1 0", "barrier 1") == [
        "watermark t none",
        "watermark window_start none",
        "watermark window_end none",
        "barrier 1",
    ]
