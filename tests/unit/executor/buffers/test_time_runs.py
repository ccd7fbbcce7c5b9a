from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidegate.executor.buffers.time_runs import BUCKETS_MAX, NULL_BUCKET, append_by_time
from tidegate.state import MemoryStateTable


def stored(*times: int | None) -> MemoryStateTable:
    state = MemoryStateTable()
    append_by_time(state, pa.table({"t": pa.array(times, pa.int64())}), "t")
    return state


def test_no_row_is_below_the_name_of_its_bucket() -> None:
    rng = np.random.default_rng(7)
    times = rng.integers(-(10**12), 10**12, 5_000)
    state = stored(*times.tolist())
    buckets = state.buckets()
    assert 1 < len(buckets) <= BUCKETS_MAX
    found = []
    for bucket, following in zip(buckets, [*buckets[1:], 2**63 - 1], strict=True):
        rows = [time for run in state.read(bucket) for time in run.column("t").to_pylist()]
        assert all(bucket <= time < following for time in rows)
        found += rows
    assert sorted(found) == sorted(times.tolist())


def test_a_few_times_have_a_bucket_each() -> None:
    assert stored(5, 3, 5, 9).buckets() == [3, 5, 9]


def test_rows_without_a_time_stand_alone() -> None:
    state = stored(None, 4, None)
    assert state.buckets() == [4, NULL_BUCKET]
    assert sum(run.num_rows for run in state.read(NULL_BUCKET)) == 2


def test_runs_of_a_bucket_are_merged() -> None:
    state = MemoryStateTable()
    for _ in range(20):
        append_by_time(state, pa.table({"t": [1]}), "t")
    assert len(state.read(1)) < 12
    assert state.rows == 20
