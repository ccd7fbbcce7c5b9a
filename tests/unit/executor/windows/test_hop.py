from __future__ import annotations

import pytest

from kits.executor import Text, leaf, schema
from tidegate.executor.windows.hop import HopExecutor
from tidegate.plan.windows import Hop
from tidegate.types import END

MINUTE = 60_000_000
TEXT = Text(
    "v BIGINT, t TIMESTAMP, __offset BIGINT", "window_start TIMESTAMP, window_end TIMESTAMP"
)
NUMBERS = Text("t BIGINT")


def a_hop(
    slide: int, size: int, columns: str = "v BIGINT, t TIMESTAMP", offset: int = 0
) -> HopExecutor:
    below = leaf(columns)
    kind = columns.rsplit(maxsplit=1)[-1]
    windows = schema(f"window_start {kind}, window_end {kind}")
    return HopExecutor(Hop((*below.schema, *windows), below, "t", size, offset, slide=slide))


def test_a_row_stands_in_each_of_its_windows_in_their_order() -> None:
    hop = a_hop(10 * MINUTE, 30 * MINUTE)
    (out,) = hop.process(TEXT.chunk("1 10:40 7; 2 10:39 8", split="s0"))
    assert TEXT.show(out) == (
        "chunk s0: 1 10:40 10:20 10:50 7; 1 10:40 10:30 11:00 7; 1 10:40 10:40 11:10 7;"
        " 2 10:39 10:10 10:40 8; 2 10:39 10:20 10:50 8; 2 10:39 10:30 11:00 8"
    )


def test_a_row_without_a_time_stands_there_once_without_windows() -> None:
    (out,) = a_hop(10 * MINUTE, 30 * MINUTE).process(TEXT.chunk("3 . 9; 1 10:40 7"))
    assert TEXT.show(out).split(";")[0] == "chunk: 3 . . . 9"
    assert TEXT.show(out).count(";") == 3


@pytest.mark.parametrize(
    ("time", "slide", "size", "offset", "windows"),
    [
        (0, 5, 10, 0, [(-5, 5), (0, 10)]),
        (4, 5, 10, 0, [(-5, 5), (0, 10)]),
        (5, 5, 10, 0, [(0, 10), (5, 15)]),
        (-1, 5, 10, 0, [(-10, 0), (-5, 5)]),
        (5, 5, 10, 2, [(-3, 7), (2, 12)]),
        (5, 5, 10, -3, [(-3, 7), (2, 12)]),
        (7, 10, 10, 0, [(0, 10)]),
        (-(2**63) + 3, 5, 10, 3, [(-(2**63) + 1, -(2**63) + 6), (-(2**63) + 1, -(2**63) + 11)]),
    ],
)
def test_windows_are_aligned_to_the_slide(
    time: int, slide: int, size: int, offset: int, windows: list[tuple[int, int]]
) -> None:
    (out,) = a_hop(slide, size, "t BIGINT", offset).process(NUMBERS.chunk(str(time)))
    shown = "; ".join(f"{time} {start} {end}" for start, end in windows)
    assert NUMBERS.show(out) == f"chunk: {shown}"


def test_the_end_of_time_is_in_windows_that_end_below_it() -> None:
    (out,) = a_hop(5, 10, "t BIGINT").process(NUMBERS.chunk(str(END)))
    ends = [row.split()[2] for row in NUMBERS.show(out).removeprefix("chunk: ").split("; ")]
    assert ends == [str(END - 1), str(END - 1)]


def test_watermarks_are_of_the_first_window_that_is_still_open() -> None:
    got = TEXT.run(a_hop(10 * MINUTE, 30 * MINUTE), "watermark t 10:40", "watermark t 10:49")
    assert got == [
        "watermark t 10:40",
        "watermark window_start 10:20",
        "watermark window_end 10:50",
        "watermark t 10:49",
        "watermark window_start 10:20",
        "watermark window_end 10:50",
    ]


@pytest.mark.parametrize("value", ["none", "end finished"])
def test_no_watermark_and_the_end_stay(value: str) -> None:
    got = TEXT.run(a_hop(10 * MINUTE, 30 * MINUTE), f"watermark t {value}")
    assert got == [f"watermark {name} {value}" for name in ("t", "window_start", "window_end")]
