from __future__ import annotations

import pytest

from kits.executor import Text, leaf, schema
from tidegate.executor.windows.cumulate import CumulateExecutor
from tidegate.plan.windows import Cumulate
from tidegate.types import END

TEXT = Text("t BIGINT")


def a_cumulate(step: int, size: int, offset: int = 0) -> CumulateExecutor:
    below = leaf("t BIGINT")
    windows = schema("window_start BIGINT, window_end BIGINT")
    node = Cumulate((*below.schema, *windows), below, "t", size, offset, step=step)
    return CumulateExecutor(node)


@pytest.mark.parametrize(
    ("time", "offset", "windows"),
    [
        (0, 0, [(0, 10), (0, 20), (0, 30)]),
        (9, 0, [(0, 10), (0, 20), (0, 30)]),
        (10, 0, [(0, 20), (0, 30)]),
        (29, 0, [(0, 30)]),
        (30, 0, [(30, 40), (30, 50), (30, 60)]),
        (-1, 0, [(-30, 0)]),
        (3, 5, [(-25, 5)]),
        (5, 5, [(5, 15), (5, 25), (5, 35)]),
        (5, -25, [(5, 15), (5, 25), (5, 35)]),
    ],
)
def test_a_row_is_in_the_windows_that_end_behind_it(
    time: int, offset: int, windows: list[tuple[int, int]]
) -> None:
    (out,) = a_cumulate(10, 30, offset).process(TEXT.chunk(str(time)))
    shown = "; ".join(f"{time} {start} {end}" for start, end in windows)
    assert TEXT.show(out) == f"chunk: {shown}"


def test_rows_have_their_own_number_of_windows_and_none_without_a_time() -> None:
    (out,) = a_cumulate(10, 30).process(TEXT.chunk("25; .; 11; 61"))
    assert TEXT.show(out) == (
        "chunk: 25 0 30; . . .; 11 0 20; 11 0 30; 61 60 70; 61 60 80; 61 60 90"
    )


def test_the_end_of_time_is_in_windows_that_end_below_it() -> None:
    (out,) = a_cumulate(10, 30).process(TEXT.chunk(str(END)))
    assert {row.split()[2] for row in TEXT.show(out).removeprefix("chunk: ").split("; ")} == {
        str(END - 1)
    }


@pytest.mark.parametrize(("watermark", "start", "end"), [(0, 0, 10), (19, 0, 20), (30, 30, 40)])
def test_watermarks_are_of_the_first_window_that_is_still_open(
    watermark: int, start: int, end: int
) -> None:
    assert TEXT.run(a_cumulate(10, 30), f"watermark t {watermark}") == [
        f"watermark t {watermark}",
        f"watermark window_start {start}",
        f"watermark window_end {end}",
    ]


@pytest.mark.parametrize("value", ["none", "end finished"])
def test_no_watermark_and_the_end_stay(value: str) -> None:
    got = TEXT.run(a_cumulate(10, 30), f"watermark t {value}")
    assert got == [f"watermark {name} {value}" for name in ("t", "window_start", "window_end")]
