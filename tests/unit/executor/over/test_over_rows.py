from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.executor import ENGINE
from kits.keyed import one_hash, small_merges
from kits.many import examples
from kits.over import ENDED, SO_FAR, Said, Tables, a_node, call, lag, lead, rows, span, to
from oracle import decode
from oracle.over import Call, OverQuery, Span
from tidegate.executor.buffers import time_queue
from tidegate.executor.buffers.keyed_rows import with_hashes
from tidegate.executor.over import over_rows
from tidegate.executor.over.over_rows import OverRowsExecutor
from tidegate.plan.nodes import SortKey
from tidegate.plan.over import Frame, OverCall
from tidegate.types import END


def over(*calls: OverCall, tables: Tables | None = None, **parts: Any) -> Said:
    tables = Tables() if tables is None else tables
    return Said(OverRowsExecutor(a_node(*calls, **parts), ENGINE, tables))


def test_rows_behind_leave_as_soon_as_they_are_known() -> None:
    said = over(lag())
    assert said("chunk: a 5 1; b 5 2; a 3 7; a 6 3") == []
    assert said(*to(6, 1)) == ["chunk: a 5 1 7; b 5 2 .; a 3 7 .", "watermark t 6", "barrier 1"]
    assert said.rows(*to(6, 2)) == []
    assert said.rows(*to(7, 3)) == ["a 6 3 1"]


def test_nothing_leaves_without_a_watermark_or_before_the_barrier() -> None:
    said = over(lag())
    assert said("chunk: a 5 1", "barrier 1") == ["watermark t none", "barrier 1"]
    assert said("watermark t 9", "watermark v 99") == []
    assert said("barrier 2") == ["chunk: a 5 1 .", "watermark t 9", "barrier 2"]


def test_lead_waits_for_as_many_later_rows_of_its_partition() -> None:
    said = over(lead(2))
    assert said.rows("chunk: a 1 1; a 2 2; b 1 9", *to(3, 1)) == []
    assert said.rows("chunk: b 4 8; a 4 3", *to(4, 2)) == []
    assert said.rows(*to(5, 3)) == ["a 1 1 3"]
    assert said.rows("chunk: a 5 4; a 6 5", *to(7, 4)) == ["a 2 2 4", "a 4 3 5"]
    assert said.rows(*to(ENDED, 5)) == ["a 5 4 .", "a 6 5 .", "b 1 9 .", "b 4 8 ."]


def test_rows_of_equal_time_are_not_later_and_leave_together() -> None:
    said = over(lead())
    assert said.rows("chunk: a 1 1; a 1 2; a 1 3", *to(2, 1)) == []
    assert said.rows("chunk: a 2 4", *to(3, 2)) == ["a 1 1 2", "a 1 2 3", "a 1 3 4"]


@pytest.mark.parametrize("function", ["lag", "lead"])
def test_a_default_stands_where_there_is_no_row(function: str) -> None:
    said = over(call(function, offset=2, default="t"))
    found = said.rows("chunk: a 1 7; a 2 8; a 3 .; a 4 9", *to(ENDED, 1))
    lagged = ["a 1 7 1", "a 2 8 2", "a 3 . 7", "a 4 9 8"]
    led = ["a 1 7 .", "a 2 8 9", "a 3 . 3", "a 4 9 4"]
    assert found == (lagged if function == "lag" else led)


def test_frames_of_rows_that_look_ahead() -> None:
    said = over(call("sum", rows(-1, 2)))
    assert said.rows("chunk: a 1 1; a 2 10; a 3 100", *to(4, 1)) == ["a 1 1 111"]
    assert said.rows("chunk: a 4 1000", *to(5, 2)) == ["a 2 10 1111"]
    assert said.rows(*to(ENDED, 3)) == ["a 3 100 1110", "a 4 1000 1100"]


def test_frames_of_time_that_look_ahead_wait_for_time_only() -> None:
    """The frame of the row at 1 is 1 to 4: the watermark must be above it."""
    said = over(call("count", span(0, 3)))
    assert said.rows("chunk: a 1 1; a 4 2; a 5 3", *to(4, 1)) == []
    assert said("barrier 2") == ["watermark t 1", "barrier 2"]
    assert said.rows(*to(5, 3)) == ["a 1 1 2"]
    assert said.rows(*to(9, 4)) == ["a 4 2 2", "a 5 3 1"]


def test_frames_of_time_that_look_back_have_both_ends() -> None:
    said = over(call("sum", span(-3)))
    found = said.rows("chunk: a 1 1; a 4 10; a 4 100; a 5 1000; b 5 7", *to(6, 1))
    assert found == ["a 1 1 1", "a 4 10 111", "a 4 100 111", "a 5 1000 1110", "b 5 7 7"]
    assert said.rows("chunk: a 7 5", *to(8, 2)) == ["a 7 5 1115"]
    assert said.rows("chunk: a 12 6", *to(13, 3)) == ["a 12 6 6"]


def test_a_row_is_kept_while_a_frame_may_reach_it() -> None:
    """The next row may be at the watermark, and its frame begins so much before."""
    said = over(call("sum", span(-10)))
    assert said.rows("chunk: a 4 1; a 5 10", *to(15, 1)) == ["a 4 1 1", "a 5 10 11"]
    assert said.rows("chunk: a 15 100", *to(16, 2)) == ["a 15 100 110"]


def test_calls_of_one_node_leave_when_all_are_final() -> None:
    said = over(lag(), lead(), call("count", span(0, 10)), call("sum", SO_FAR))
    assert said.rows("chunk: a 1 1; a 2 2", *to(11, 1)) == []
    assert said.rows(*to(12, 2)) == ["a 1 1 . 2 2 1"]
    assert said.rows("chunk: a 12 4", *to(13, 3)) == ["a 2 2 1 4 2 3"]


def test_ties_are_in_the_order_of_split_and_offset() -> None:
    said = over(call("row_number"), lag())
    found = said.rows("chunk: a 5 1 s2 0; a 5 2 s10 11; a 5 3 s10 2", *to(6, 1))
    assert found == ["a 5 1 3 2", "a 5 2 2 3", "a 5 3 1 ."]


def test_further_columns_of_the_order() -> None:
    said = over(lag(), call("rank"), order=(SortKey("t"), SortKey("v", True, True)))
    assert said.rows("chunk: a 5 1; a 5 3; a 5 .; a 5 3", *to(6, 1)) == [
        "a 5 . . 1",
        "a 5 1 3 4",
        "a 5 3 . 2",
        "a 5 3 3 2",
    ]


def test_a_null_key_is_a_partition_and_no_key_is_one() -> None:
    text = "chunk: . 1 1; a 2 2; . 3 3"
    assert over(lag()).rows(text, *to(9, 1)) == [". 1 1 .", ". 3 3 1", "a 2 2 ."]
    assert over(lag(), keys=()).rows(text, *to(9, 1)) == [". 1 1 .", ". 3 3 2", "a 2 2 1"]


def test_lead_holds_the_watermark_at_the_oldest_row_that_waits() -> None:
    said = over(lead(), follow=(("t", 0), ("v", -10)))
    assert said("chunk: a 5 100; b 8 100", *to(20, 1)) == [
        "watermark t 5",
        "watermark v -5",
        "barrier 1",
    ]
    assert said("chunk: a 30 100", *to(25, 2)) == ["watermark t 5", "watermark v -5", "barrier 2"]
    assert said(*to(31, 3)) == [
        "chunk: a 5 100 100",
        "watermark t 8",
        "watermark v -2",
        "barrier 3",
    ]
    assert said(*to(ENDED, 4))[1:] == [
        "watermark t end finished",
        "watermark v end finished",
        "barrier 4",
    ]


def test_a_held_watermark_is_held_over_a_restart() -> None:
    tables = Tables()
    over(lead(), tables=tables)("chunk: a 5 1", *to(20, 1))
    assert over(lead(), tables=tables)(*to(20, 2)) == ["watermark t 5", "barrier 2"]


def test_other_watermarks_end_and_the_status_passes() -> None:
    said = over(lag())
    assert said("watermark v 3", "watermark t 9 idle", "barrier 1") == [
        "watermark t 9 idle",
        "barrier 1",
    ]


def test_a_watermark_that_a_row_holds_is_not_idle() -> None:
    """A merge behind takes the highest of idle ones; these differ between instances."""
    said = over(lead())
    assert said("chunk: a 5 1", "watermark t 9 idle", "barrier 1") == ["watermark t 5", "barrier 1"]


def test_rows_without_a_time_leave_at_the_end_behind_all_others() -> None:
    tables = Tables()
    said = over(lag(), call("count", SO_FAR), tables=tables)
    assert said.rows("chunk: a . 1; a 5 2", *to(END - 1, 1)) == ["a 5 2 . 1"]
    assert said.rows("chunk: a . 3", *to(ENDED, 2)) == ["a . 1 2 3", "a . 3 1 3"]
    assert tables.held == {}


def test_times_at_the_ends() -> None:
    first, last = -(2**63), END - 2
    said = over(lag(), lead(), call("count", span(-5, 5)))
    assert said.rows(f"chunk: a {first} 1; a {last} 2", *to(ENDED, 1)) == [
        f"a -{2**63} 1 . 2 1",
        f"a {last} 2 1 . 1",
    ]


RUNNING = (
    call("row_number"),
    call("rank"),
    call("dense_rank"),
    call("sum", SO_FAR),
    call("avg", rows(None)),
    call("first_value", SO_FAR),
    call("last_value", rows(None)),
)
# By time; 3 is twice there, in two epochs of the same partition. The first value is NULL.
STEPS = [
    ("chunk: a 1 .; b 1 4; a 3 1; a 3 3", *to(2, 1)),
    ("chunk: a 3 8", *to(4, 2)),
    ("chunk: b 4 .; a 5 0", *to(6, 3)),
]
FOUND = [
    ["a 1 . 1 1 1 . . . .", "b 1 4 1 1 1 4 4.0 4 4"],
    ["a 3 1 2 2 2 12 1.0 . 1", "a 3 3 3 2 2 12 2.0 . 3", "a 3 8 4 2 2 12 4.0 . 8"],
    ["a 5 0 5 5 3 12 3.0 . 0", "b 4 . 2 2 2 4 4.0 4 ."],
]


@pytest.mark.slow
@pytest.mark.parametrize("is_new", [False, True], ids=["one executor", "a new one each epoch"])
def test_what_is_carried(is_new: bool) -> None:
    tables = Tables()
    said = over(*RUNNING, tables=tables)
    offset = 0
    for step, found in zip(STEPS, FOUND, strict=True):
        if is_new:
            said = over(*RUNNING, tables=tables)
            said._offset = offset
        assert said.rows(*step) == found
        offset += 4
    assert tables["context"].rows == 0
    assert said.rows(*to(ENDED, 9)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "calls",
    [(lag(2), call("sum", rows(-2))), (lead(2),), (call("count", span(-4, 3)),), RUNNING],
    ids=["back", "ahead", "time", "running"],
)
def test_a_restart_in_the_middle_changes_nothing(calls: tuple[OverCall, ...]) -> None:
    steps = [
        ("chunk: a 1 1 s 0; b 2 2 s 1; a 2 3 s 2", *to(2, 1)),
        ("chunk: a 4 4 s 3; a 2 5 s 4", *to(5, 2)),
        ("barrier 3",),
        ("chunk: b 6 6 s 5; a 6 7 s 6; . 5 8 s 7", *to(6, 4)),
        ("chunk: a 9 9 s 8", *to(10, 5)),
        to(ENDED, 6),
    ]
    tables, whole = Tables(), over(*calls)
    for step in steps:
        assert over(*calls, tables=tables).rows(*step) == whole.rows(*step)
    assert tables.held == {}


@pytest.mark.slow
def test_an_epoch_that_is_played_again_gives_the_same() -> None:
    """A crash behind the barrier of an executor and before that of the job."""
    tables = Tables()
    over(*RUNNING, lead(), tables=tables)("chunk: a 1 1 s 0; a 2 2 s 1", *to(3, 1))
    again = Tables()
    again.update({name: table.snapshot() for name, table in tables.items()})
    step = ("chunk: a 3 3 s 2; a 4 4 s 3", *to(5, 2))
    first = over(*RUNNING, lead(), tables=tables).rows(*step)
    assert first == over(*RUNNING, lead(), tables=again).rows(*step)
    assert [row.split()[1] for row in first] == ["2", "3"]


@pytest.mark.slow
def test_the_last_rows_of_each_partition_are_kept() -> None:
    tables = Tables()
    with small_merges():
        said = over(lag(2), call("sum", SO_FAR), tables=tables)
        for epoch in range(40):
            found = said.rows(f"chunk: a {epoch} {epoch}; b {epoch} 0", *to(epoch + 1, epoch))
            before = "." if epoch < 2 else epoch - 2
            total = epoch * (epoch + 1) // 2
            assert found[0] == f"a {epoch} {epoch} {before} {total}"
            assert tables["context"].rows <= 3 * 4
            assert tables["carry"].rows <= 3 * 2
            assert tables["rows"].rows == 0
    said(*to(ENDED, 99))
    assert tables.held == {}


def test_what_time_has_passed_is_forgotten_without_new_rows() -> None:
    """Also of keys that come once and never again."""
    tables = Tables()
    said = over(call("count", span(-10)), tables=tables)
    said("chunk: a 5 1; b 6 2; c 7 3", *to(8, 1))
    assert tables["context"].rows == 3
    said(*to(17, 2))
    assert tables["context"].rows == 3  # the row at 7 may still be counted
    said(*to(18, 3))
    assert tables.held == {}


def test_everything_is_gone_at_the_end() -> None:
    """Also where no row waits for the end, and only something is carried."""
    tables = Tables()
    said = over(call("row_number"), tables=tables)
    said("chunk: a 5 1; b 6 2", *to(8, 1))
    assert tables.held == {"carry": 2}
    assert said.rows(*to(ENDED, 2)) == []
    assert tables.held == {}


@pytest.mark.slow
def test_a_backlog_leaves_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = Tables()
    times = [0, 500, 501, 90_000, 7_000_000]
    said = over(lag(), lead(), call("sum", SO_FAR), tables=tables)
    said(f"chunk: {'; '.join(f'a {time} 1' for time in times)}; a . 1", "barrier 1")
    monkeypatch.setattr(time_queue, "EMIT_ROWS_MAX", 2)
    found = said(*to(ENDED, 2))
    assert len(found) > 4
    shown = [row.split() for line in found[:-2] for row in line.removeprefix("chunk: ").split("; ")]
    assert [[row[1], *row[3:]] for row in shown] == [
        ["0", ".", "1", "1"],
        ["500", "1", "1", "2"],
        ["501", "1", "1", "3"],
        ["90000", "1", "1", "4"],
        ["7000000", "1", "1", "5"],
        [".", "1", ".", "6"],
    ]
    assert tables.held == {}


# Random streams: of each row its key, how far above the watermark it is, and its value.
ROW = st.tuples(st.sampled_from("ab."), st.integers(0, 9), st.none() | st.integers(0, 5))
EPOCHS = st.lists(
    st.tuples(st.lists(ROW, max_size=6), st.integers(0, 7), st.booleans()), max_size=6
)
FRAMES = (
    SO_FAR,
    rows(None),
    *(rows(*edges) for edges in [(-2, 0), (-3, -1), (-1, 2), (0, 1), (1, 2), (-6, 0), (-5, 1)]),
    *(span(start, end) for start, end in [(-3, 0), (-2, 2), (0, 3), (-6, -2), (1, 4)]),
)
CALLS = st.one_of(
    st.builds(lag, st.integers(1, 3)),
    st.builds(lead, st.integers(1, 3)),
    st.sampled_from(["row_number", "rank", "dense_rank"]).map(call),
    st.builds(
        call,
        st.sampled_from(["count", "sum", "min", "max", "first_value", "last_value"]),
        st.sampled_from(FRAMES),
    ),
)


def judged(calls: list[OverCall], seen: list[decode.Row], watermark: int | None) -> list[str]:
    """What must have left, row by row."""
    asked = tuple(
        Call(
            decode.Column(f"c{number}", each.output.type),
            each.function,
            _of("v"),
            _span(each.frame),
            each.offset,
        )
        for number, each in enumerate(calls)
    )
    select = tuple((decode.Column(name, "BIGINT"), _of(name)) for name in "ktv")
    query = OverQuery("t", (_of("k"),), asked, select)
    found = query.run(seen, watermark, watermark is None).rows
    return sorted(" ".join("." if v is None else str(v) for v in row.values()) for row in found)


def _of(name: str) -> Callable[[decode.Values], Any]:
    return lambda row: row[name]


def _span(frame: Frame | None) -> Span | None:
    if frame is None:
        return None
    return Span("ROWS" if frame.in_rows else "RANGE", frame.start, frame.end)


@pytest.mark.slow
@pytest.mark.parametrize("hashing", [with_hashes, one_hash])
@given(EPOCHS, st.lists(CALLS, min_size=1, max_size=3))
@examples(60)
def test_random_rows_leave_when_they_are_final_with_what_all_rows_say(
    hashing: Callable[..., pa.Table],
    epochs: list[tuple[list[tuple[str, int, int | None]], int, bool]],
    calls: list[OverCall],
) -> None:
    """Cut into epochs anywhere, with restarts, and merges all the time, also of equal hashes."""
    with small_merges(), patch.object(over_rows, "with_hashes", hashing):
        tables, seen, left, watermark = Tables(), list[decode.Row](), list[str](), 0
        said = over(*calls, tables=tables)
        for epoch, (drawn, rise, restarts) in enumerate(epochs):
            if restarts:
                said = over(*calls, tables=tables)
            lines = []
            for key, above, value in drawn:
                split, offset = f"s{len(seen) * 5 // 2 % 3}", len(seen)
                shown = "." if value is None else value
                lines.append(f"{key} {watermark + above} {shown} {split} {offset}")
                values = {"k": None if key == "." else key, "t": watermark + above, "v": value}
                seen.append(decode.Row(split, offset, values))
            watermark += rise
            left += said.rows(*[f"chunk: {'; '.join(lines)}"] * bool(lines), *to(watermark, epoch))
            assert sorted(left) == judged(calls, seen, watermark)
        left += said.rows(*to(ENDED, 99))
        assert sorted(left) == judged(calls, seen, None)
        assert tables.held == {}
