"""on-periodic (S10), and the watermark before each row as a column (CURRENT_WATERMARK)."""

from __future__ import annotations

import pytest

from kits.executor import ENGINE, Text, chunks, expr, leaf, schema
from tidegate.executor.checked import Checked
from tidegate.executor.watermarks.watermark_filter import WatermarkFilterExecutor
from tidegate.plan.nodes import Expr, WatermarkFilter
from tidegate.plan.strategies import Adaptive
from tidegate.state import MemoryStateTable
from tidegate.types import Chunk, FilterState, Pending

TEXT = Text("t BIGINT, __offset BIGINT, __record BLOB")
MINUS_5 = expr('"t" - 5', "BIGINT", "t")


def a_filter(
    *,
    strategy: Expr = MINUS_5,
    state: MemoryStateTable | None = None,
    columns: str = "t BIGINT",
    output: str = "",
    before: str = "",
    periodic_us: int = 0,
    adaptive: Adaptive | None = None,
) -> WatermarkFilterExecutor:
    below = leaf(columns)
    out = schema(output or columns)
    node = WatermarkFilter(
        out, below, "f1", "acc", "t", strategy, 0, 1000, adaptive, periodic_us, before
    )
    return WatermarkFilterExecutor(node, "tab", "s0", ENGINE, state or MemoryStateTable())


def test_between_barriers_nothing_rises() -> None:
    # A barrier's time is its number in seconds.
    executor = Checked(a_filter(periodic_us=2_000_000))
    got = TEXT.run(executor, "chunk s0: 9 0 a; 3 1 b", "barrier 1", "chunk s0: 3 2 c; 20 3 d")
    assert got == [
        "chunk s0: 9 0; 3 1",
        "watermark t 4",
        "barrier 1",
        "chunk s0: 20 3",
        "rejected: late 2 3 4 1",
    ]
    # One second is too soon; what is pending waits, and rows are judged by what was said.
    got = TEXT.run(executor, "barrier 2", "chunk s0: 4 4 e; 21 5 f")
    assert got == ["watermark t 4", "barrier 2", "chunk s0: 4 4; 21 5"]
    assert TEXT.run(executor, "barrier 3", "barrier 4") == [
        "watermark t 16",
        "barrier 3",
        "watermark t 16",
        "barrier 4",
    ]


def test_it_rises_again_as_soon_as_it_can_when_nothing_came_in_time() -> None:
    executor = a_filter(periodic_us=2_000_000)
    TEXT.run(executor, "chunk s0: 9 0 a", "barrier 1", "barrier 3", "barrier 5")
    assert TEXT.run(executor, "chunk s0: 20 1 b", "barrier 6")[1:] == [
        "watermark t 15",
        "barrier 6",
    ]


def test_what_is_pending_survives_a_restart() -> None:
    state = MemoryStateTable()
    TEXT.run(a_filter(periodic_us=2_000_000, state=state), "chunk s0: 9 0 a", "barrier 1")
    TEXT.run(a_filter(periodic_us=2_000_000, state=state), "chunk s0: 20 1 b", "barrier 2")
    again = a_filter(periodic_us=2_000_000, state=state)
    assert again.snapshot() == FilterState(4, None, 20, Pending(15, 1_000_000))
    assert TEXT.run(again, "barrier 3") == ["watermark t 15", "barrier 3"]
    assert again.snapshot() == FilterState(15, None, 20, Pending(None, 3_000_000))


def test_a_late_rows_candidate_is_not_pending() -> None:
    executor = a_filter(
        periodic_us=1, strategy=expr('CASE "t" WHEN 3 THEN 100 ELSE "t" END', "BIGINT", "t")
    )
    TEXT.run(executor, "chunk s0: 9 0 a", "barrier 1", "chunk s0: 3 1 b; 10 2 c")
    assert TEXT.run(executor, "barrier 2") == ["watermark t 10", "barrier 2"]


def test_a_finished_split_waits_for_nothing() -> None:
    executor = a_filter(periodic_us=2_000_000)
    TEXT.run(executor, "chunk s0: 9 0 a", "barrier 1", "chunk s0: 20 1 b")
    got = TEXT.run(executor, "status finished s0", "barrier 2")
    assert got[1:] == ["watermark t end finished", "barrier 2"]


def test_a_floor_is_taken_over_at_once() -> None:
    executor = a_filter(periodic_us=2_000_000)
    TEXT.run(executor, "chunk s0: 9 0 a", "barrier 1", "chunk s0: 20 1 b")
    executor.take_over(17)
    assert TEXT.run(executor, "chunk s0: 16 2 c") == ["rejected: behind_merged 2 16 17 1"]
    # What is pending lies below it and is no rise: it does not use up the interval.
    TEXT.run(executor, "barrier 4", "chunk s0: 30 3 d")
    assert TEXT.run(executor, "barrier 5") == ["watermark t 25", "barrier 5"]


def test_an_adaptive_watermark_rises_at_barriers_too() -> None:
    executor = a_filter(periodic_us=1, adaptive=Adaptive(1.0, 9, 0, 10**9, ()))
    got = TEXT.run(executor, "chunk s0: 9 0 a; 7 1 b; 12 2 c; 3 3 d", "barrier 1")
    assert got == ["chunk s0: 9 0; 7 1; 12 2; 3 3", "watermark t 10", "barrier 1"]


@pytest.mark.parametrize(("periodic_us", "shown"), [(0, ". 4 8 8"), (1, ". . . .")])
def test_the_watermark_before_the_row(periodic_us: int, shown: str) -> None:
    executor = Checked(a_filter(output="t BIGINT, w BIGINT", before="w", periodic_us=periodic_us))
    marks = shown.split()
    first, *_ = TEXT.run(executor, "chunk s0: 9 0 a; 13 1 b; 10 2 c; 11 3 d")
    rows = zip([9, 13, 10, 11], marks, range(4), strict=True)
    assert first == "chunk s0: " + "; ".join(f"{t} {w} {o}" for t, w, o in rows)
    TEXT.run(executor, "barrier 1")
    assert TEXT.run(executor, "chunk s0: 5 4 a; 11 5 b")[0] == "chunk s0: 11 8 5"


def test_the_floor_is_a_watermark_too() -> None:
    executor = a_filter(output="w BIGINT, t BIGINT", before="w")
    executor.take_over(3)
    assert TEXT.run(executor, "chunk s0: 7 0 a; 9 1 b")[0] == "chunk s0: 3 7 0; 3 9 1"


@pytest.mark.parametrize(
    ("type_", "delay", "rows", "shown"),
    [
        ("TIMESTAMP", "INTERVAL '1 minute'", "10:40 0 a; 10:45 1 b", "10:40 . 0; 10:45 10:39 1"),
        (
            "TIMESTAMP WITH TIME ZONE",
            "INTERVAL '1 minute'",
            "10:40 0 a; 10:45 1 b",
            "10:40 . 0; 10:45 10:39 1",
        ),
        ("DECIMAL(10;2)", "0.5", "10.25 0 a; 11.00 1 b", "10.25 . 0; 11.00 9.75 1"),
        ("DECIMAL(4;2)", "1000", "10.25 0 a; 11.00 1 b", "10.25 . 0; 11.00 -99.99 1"),
    ],
)
def test_it_has_the_type_of_the_time(type_: str, delay: str, rows: str, shown: str) -> None:
    columns = f"t {type_}, __offset BIGINT, __record BLOB"
    given = type_.replace(";", ",") if type_.startswith("T") else "DECIMAL(18,2)"
    strategy = expr(f'"t" - {delay}', given, "t")
    executor = a_filter(
        strategy=strategy, columns=f"t {type_}", output=f"t {type_}, w {type_}", before="w"
    )
    text = Text(columns)
    message = text.parse(f"chunk s0: {rows}")
    assert isinstance(message, Chunk)
    (out, *_) = executor.process(message)
    assert text.show(out) == f"chunk s0: {shown}"
    (chunk,) = chunks([out])
    expected = ENGINE.arrow_schema(schema(f"w {type_}")).field(0).type
    assert chunk.data.schema.field("w").type == expected
