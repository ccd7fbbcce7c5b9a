from __future__ import annotations

import pytest

from kits.executor import Text, leaf, schema
from tidegate.executor.windows.tumble import TumbleExecutor
from tidegate.plan.windows import Tumble
from tidegate.types import END

MINUTE = 60_000_000
TEXT = Text(
    "v BIGINT, t TIMESTAMP, __offset BIGINT", "window_start TIMESTAMP, window_end TIMESTAMP"
)
NUMBERS = Text("t BIGINT")


def a_tumble(size: int, columns: str = "v BIGINT, t TIMESTAMP", offset: int = 0) -> TumbleExecutor:
    below = leaf(columns)
    kind = columns.rsplit(maxsplit=1)[-1]
    windows = schema(f"window_start {kind}, window_end {kind}")
    return TumbleExecutor(Tumble((*below.schema, *windows), below, "t", size, offset))


def test_windows_stand_behind_the_visible_columns() -> None:
    got = TEXT.run(a_tumble(30 * MINUTE), "chunk s0: 1 10:40 7; 2 10:30 8; 3 . 9; 4 11:00 10")
    assert got == [
        "chunk s0: 1 10:40 10:30 11:00 7; 2 10:30 10:30 11:00 8; 3 . . . 9; 4 11:00 11:00 11:30 10"
    ]


def test_the_types_are_those_of_the_time() -> None:
    for kind in ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "BIGINT", "DECIMAL(18;3)"):
        text = Text(f"t {kind}")
        row = "10:40" if kind.startswith("TIMESTAMP") else "100"
        (out,) = a_tumble(60, f"t {kind}").process(text.chunk(row))
        data = out.data  # type: ignore[union-attr]
        assert data.schema.field("window_start").type == data.schema.field("t").type
        assert data.schema.field("window_end").type == data.schema.field("t").type


@pytest.mark.parametrize(
    ("time", "size", "offset", "start", "end"),
    [
        (0, 10, 0, 0, 10),
        (9, 10, 0, 0, 10),
        (-1, 10, 0, -10, 0),
        (-10, 10, 0, -10, 0),
        (-11, 10, 0, -20, -10),
        (4, 10, 5, -5, 5),
        (5, 10, 5, 5, 15),
        (5, 10, -3, -3, 7),
        (7, 10, 27, 7, 17),
        (END, 10, 0, END - 7, END - 1),
        (-(2**63), 10, 0, -(2**63) + 1, -(2**63) + 11),
    ],
)
def test_windows_are_aligned_to_the_epoch(
    time: int, size: int, offset: int, start: int, end: int
) -> None:
    got = NUMBERS.run(a_tumble(size, "t BIGINT", offset), f"chunk: {time}")
    assert got == [f"chunk: {time} {start} {end}"]


def test_watermarks_of_the_rfc() -> None:
    assert TEXT.run(a_tumble(30 * MINUTE), "watermark t 10:40") == [
        "watermark t 10:40",
        "watermark window_start 10:30",
        "watermark window_end 11:00",
    ]


def test_watermark_at_a_boundary_closes_the_window_before() -> None:
    assert TEXT.run(a_tumble(30 * MINUTE), "watermark t 11:00 idle") == [
        "watermark t 11:00 idle",
        "watermark window_start 11:00 idle",
        "watermark window_end 11:30 idle",
    ]


def test_window_time_is_a_millisecond_before_the_end() -> None:
    below = leaf("t TIMESTAMP")
    windows = schema("window_start TIMESTAMP, window_end TIMESTAMP, window_time TIMESTAMP")
    node = Tumble((*below.schema, *windows), below, "t", 30 * MINUTE, with_time=True)
    text = Text("t TIMESTAMP, window_start TIMESTAMP, window_end TIMESTAMP, window_time TIMESTAMP")
    (chunk,) = TumbleExecutor(node).process(Text("t TIMESTAMP").chunk("10:40; .; 11:00"))
    assert text.show(chunk) == (
        "chunk: 10:40 10:30 11:00 10:59:59.999000; . . . .; 11:00 11:00 11:30 11:29:59.999000"
    )
    assert text.run(TumbleExecutor(node), "watermark t 11:00") == [
        "watermark t 11:00",
        "watermark window_start 11:00",
        "watermark window_end 11:30",
        "watermark window_time 11:29:59.999000",
    ]
    assert text.run(TumbleExecutor(node), "watermark t end finished")[-1] == (
        "watermark window_time end finished"
    )


@pytest.mark.parametrize("value", ["none", "end finished"])
def test_no_watermark_and_the_end_stay(value: str) -> None:
    names = ("t", "window_start", "window_end")
    got = TEXT.run(a_tumble(30 * MINUTE), f"watermark t {value}")
    assert got == [f"watermark {name} {value}" for name in names]


def test_other_watermarks_pass_alone() -> None:
    lines = ["watermark v 5", "barrier 1"]
    assert TEXT.run(a_tumble(30 * MINUTE), *lines) == lines
