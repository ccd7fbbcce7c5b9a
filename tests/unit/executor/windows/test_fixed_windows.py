from __future__ import annotations

import numpy as np
import pytest

from kits.executor import Text, leaf, schema
from tidegate.executor.windows import fixed_windows as windows
from tidegate.executor.windows.fixed_windows import LOWEST, floors, last_of, raised
from tidegate.executor.windows.hop import HopExecutor
from tidegate.plan.windows import Hop
from tidegate.types import END

TEXT = Text("v BIGINT, t BIGINT, __offset BIGINT")


def a_hop(slide: int, size: int) -> HopExecutor:
    below = leaf("v BIGINT, t BIGINT")
    added = schema("window_start BIGINT, window_end BIGINT")
    return HopExecutor(Hop((*below.schema, *added), below, "t", size, slide=slide))


def test_rows_leave_in_chunks_that_keep_a_row_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "ROWS_MAX", 7)
    chunks = list(a_hop(5, 15).process(TEXT.chunk("1 0 7; 2 5 8; 3 . 9; 4 10 10", "s0")))
    assert [TEXT.show(chunk) for chunk in chunks] == [
        "chunk s0: 1 0 -10 5 7; 1 0 -5 10 7; 1 0 0 15 7; 2 5 -5 10 8; 2 5 0 15 8; 2 5 5 20 8",
        "chunk s0: 3 . . . 9; 4 10 0 15 10; 4 10 5 20 10; 4 10 10 25 10",
    ]


def test_one_row_may_have_more_windows_than_a_chunk_has_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(windows, "ROWS_MAX", 2)
    chunks = list(a_hop(5, 15).process(TEXT.chunk("1 0 7; 2 5 8")))
    assert [chunk.data.num_rows for chunk in chunks] == [3, 3]  # type: ignore[union-attr]


def test_no_rows_leave_as_no_rows() -> None:
    (chunk,) = a_hop(5, 15).process(TEXT.chunk(""))
    assert TEXT.show(chunk) == "chunk: "
    assert chunk.data.column_names == ["v", "t", "window_start", "window_end", "__offset"]  # type: ignore[union-attr]


def test_other_watermarks_pass_alone() -> None:
    assert TEXT.run(a_hop(5, 15), "watermark v 5", "barrier 1") == ["watermark v 5", "barrier 1"]


@pytest.mark.parametrize("offset", [0, 3])
def test_floors_are_aligned_and_never_above(offset: int) -> None:
    times = np.arange(-50, 50, dtype=np.int64)
    starts, past = floors(times, 7, offset)
    assert (starts <= times).all()
    assert (times - starts < 7).all()
    assert ((starts - offset) % 7 == 0).all()
    assert (past == times - starts).all()


def test_what_leaves_int64_is_held() -> None:
    ends = np.array([-(2**63), LOWEST, END - 5, END - 1, END], dtype=np.int64)
    assert floors(ends[:1], 10, 0)[0].tolist() == [LOWEST]
    assert raised(ends, 10).tolist() == [-(2**63) + 10, LOWEST + 10, END - 1, END - 1, END - 1]
    assert last_of(ends[:2]).tolist() == [LOWEST, LOWEST]
