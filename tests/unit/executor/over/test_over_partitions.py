from __future__ import annotations

import pytest

from kits.executor import ENGINE
from kits.over import ENDED, Said, a_node, call, lag, lead, rows, to
from tidegate.executor.buffers import time_queue
from tidegate.executor.over.over_partitions import OverPartitionsExecutor
from tidegate.plan.nodes import SortKey
from tidegate.plan.over import OverCall
from tidegate.state import MemoryStateTable
from tidegate.types import END

WHOLE = rows(None, None)
DEAREST = (SortKey("v", True, True),)


def over(
    *calls: OverCall,
    state: MemoryStateTable | None = None,
    keys: tuple[str, ...] = ("k", "t"),
    order: tuple[SortKey, ...] = DEAREST,
    follow: tuple[tuple[str, int], ...] = (("t", 0),),
) -> Said:
    """Partitions by ``t``, which has the watermark."""
    node = a_node(*calls, keys=keys, order=order, follow=follow)
    return Said(
        OverPartitionsExecutor(node, ENGINE, MemoryStateTable() if state is None else state)
    )


def test_partitions_leave_whole_when_the_watermark_is_above_them() -> None:
    said = over(call("row_number"))
    assert said("chunk: a 5 1; b 5 7; a 6 4", *to(5, 1)) == ["watermark t 5", "barrier 1"]
    assert said.rows("chunk: a 5 3", *to(6, 2)) == ["a 5 1 2", "a 5 3 1", "b 5 7 1"]
    assert said.rows(*to(6, 3)) == []
    assert said.rows(*to(7, 4)) == ["a 6 4 1"]


def test_nothing_leaves_without_a_watermark_or_before_the_barrier() -> None:
    said = over(call("row_number"))
    assert said("chunk: a 5 1", "barrier 1") == ["watermark t none", "barrier 1"]
    assert said("watermark t 6 idle", "watermark v 99") == []
    assert said("barrier 2") == ["chunk: a 5 1 1", "watermark t 6 idle", "barrier 2"]


def test_any_order_is_final() -> None:
    """Descending, with the NULLs at either end; equal values by split and offset."""
    text = "chunk: a 5 3 s 1; a 5 . s 2; a 5 8 s 3; a 5 3 s 0"
    numbered = over(call("row_number"), call("rank"), lag(), lead())
    assert numbered.rows(text, *to(6, 1)) == [
        "a 5 . 1 1 . 8",
        "a 5 3 3 3 8 3",
        "a 5 3 4 3 3 .",
        "a 5 8 2 2 . 3",
    ]
    last = over(call("row_number"), order=(SortKey("v", True, False),))
    assert last.rows(text, *to(6, 1)) == ["a 5 . 4", "a 5 3 2", "a 5 3 3", "a 5 8 1"]


def test_functions_of_whole_partitions() -> None:
    said = over(call("percent_rank"), call("cume_dist"), call("sum", WHOLE))
    assert said.rows("chunk: a 5 1; a 5 2; a 5 2; a 5 .; a 6 9", *to(6, 1)) == [
        "a 5 . 0.0 0.25 5",
        "a 5 1 1.0 1.0 5",
        "a 5 2 0.3333333333333333 0.75 5",
        "a 5 2 0.3333333333333333 0.75 5",
    ]


def test_without_an_order() -> None:
    said = over(call("count", WHOLE), call("max", WHOLE), order=())
    assert said.rows("chunk: a 5 1; a 5 .; b 5 2", *to(6, 1)) == [
        "a 5 . 1 1",
        "a 5 1 1 1",
        "b 5 2 1 2",
    ]


def test_frames_that_look_ahead_wait_for_nothing_more() -> None:
    said = over(call("sum", rows(0, 1)), order=(SortKey("v"),))
    assert said.rows("chunk: a 5 100; a 5 1; a 5 10", *to(6, 1)) == [
        "a 5 1 11",
        "a 5 10 110",
        "a 5 100 100",
    ]


def test_columns_that_follow_are_moved_and_all_other_watermarks_end() -> None:
    said = over(call("row_number"), follow=(("v", -60), ("t", 0)))
    assert said("watermark v 3", *to(5, 1)) == ["watermark v -55", "watermark t 5", "barrier 1"]
    assert said(*to(ENDED, 2)) == [
        "watermark v end finished",
        "watermark t end finished",
        "barrier 2",
    ]


def test_partitions_without_a_time_leave_at_the_end() -> None:
    state = MemoryStateTable()
    said = over(call("row_number"), state=state)
    assert said.rows("chunk: a . 1; a . 2; b 5 1", *to(END - 1, 1)) == ["b 5 1 1"]
    assert said.rows("chunk: a . 3", *to(ENDED, 2)) == ["a . 1 3", "a . 2 2", "a . 3 1"]
    assert state.buckets() == []


def test_a_restart_changes_nothing_and_state_is_what_waits() -> None:
    state = MemoryStateTable()
    first = over(call("row_number"), state=state)
    assert first.rows("chunk: a 5 1 s 0; a 7 1 s 1; c 9 1 s 2", *to(6, 1)) == ["a 5 1 1"]
    assert state.rows == 2
    again = over(call("row_number"), state=state)
    assert again.rows(*to(6, 2)) == []
    assert again.rows("chunk: a 7 4 s 3", *to(8, 3)) == ["a 7 1 2", "a 7 4 1"]
    assert state.rows == 1
    assert over(call("row_number"), state=state).rows(*to(ENDED, 4)) == ["c 9 1 1"]
    assert state.rows == 0


def test_a_backlog_leaves_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    state = MemoryStateTable()
    times = [0, 500, 501, 90_000, 7_000_000]
    partitions = [f"a {time} {value}" for time in times for value in (1, 2)]
    over(call("row_number"), state=state)(f"chunk: {'; '.join(partitions)}", "barrier 1")
    monkeypatch.setattr(time_queue, "EMIT_ROWS_MAX", 2)
    found = over(call("row_number"), state=state)(*to(ENDED, 2))
    assert len(found) > 4
    shown = "; ".join(line.removeprefix("chunk: ") for line in found[:-2])
    assert sorted(shown.split("; ")) == sorted(f"a {t} {v} {3 - v}" for t in times for v in (1, 2))
    assert state.rows == 0
