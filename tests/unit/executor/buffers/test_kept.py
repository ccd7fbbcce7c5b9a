"""Rows that live for a time; what becomes of views is tested with `recompute`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidegate.executor.buffers.kept import Kept
from tidegate.executor.buffers.keyed_rows import HASH
from tidegate.state import MemoryStateTable

EMPTY = pa.table({"v": pa.array([], pa.int64()), HASH: pa.array([], pa.uint64())})


def rows(*pairs: tuple[int, int]) -> pa.Table:
    return pa.table(
        {
            "v": pa.array([value for value, _ in pairs], pa.int64()),
            HASH: pa.array([hash_ for _, hash_ in pairs], pa.uint64()),
        }
    )


def hashes(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.uint64)


def test_a_key_lives_from_its_last_change() -> None:
    state = MemoryStateTable()
    kept = Kept(state, EMPTY, 10)
    kept.begin(0)
    assert kept.find(hashes(1, 2)).num_rows == 0
    kept.replace(rows((10, 1), (20, 2)), hashes(1, 2))
    kept = Kept(state, EMPTY, 10)
    kept.begin(10)
    assert sorted(kept.find(hashes(1, 2)).column("v").to_pylist()) == [10, 20]
    kept.replace(rows((11, 1), (20, 2)), hashes(1))
    kept.begin(11)
    assert kept.find(hashes(1, 2)).column("v").to_pylist() == [11]
    kept.replace(rows((11, 1)), hashes(2))
    kept.begin(21)
    assert kept.find(hashes(1, 2)).num_rows == 0


def test_without_a_time_all_is_kept() -> None:
    kept = Kept(MemoryStateTable(), EMPTY)
    kept.begin(0)
    kept.find(hashes(1))
    kept.replace(rows((10, 1), (11, 1)), hashes(1))
    kept.begin(2**60)
    assert kept.find(hashes(1)).column("v").to_pylist() == [10, 11]
    assert kept.find(hashes(1)).column_names == ["v", HASH]
