from __future__ import annotations

import numpy as np
import pytest

from tidegate.executor.split_rows import SplitRows


def offsets(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize("named", [True, False])
def test_counts_and_offsets(named: bool) -> None:
    rows = SplitRows(named=named)
    rows.add("b", 2, offsets(1, 4))
    rows.add("a", 1, offsets(7))
    rows.add("b", 1, offsets(9))
    assert rows.splits == ["a", "b"]
    count, which = rows.of("b")
    assert (count, which.tolist()) == (3, [1, 4, 9] if named else [])
    assert rows.of("c")[0] == 0


def test_an_epoch_is_remembered_until_the_next_one_begins() -> None:
    rows = SplitRows(named=True)
    rows.add("a", 1, offsets(7))
    rows.end()
    assert rows.of("a")[0] == 1
    rows.add("a", 1, offsets(8))
    assert rows.of("a")[1].tolist() == [8]
    rows.end()
    rows.end()
    assert rows.splits == []
