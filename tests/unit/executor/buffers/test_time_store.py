from __future__ import annotations

import random

import pyarrow as pa
import pytest

from kits.many import seeds
from tidegate.executor.buffers import time_runs
from tidegate.executor.buffers.time_store import TimeStore, spanned
from tidegate.state import MemoryStateTable

MIN, MAX = -(2**63), 2**63 - 1


def rows(*times: int) -> pa.Table:
    return pa.table({"t": pa.array(times, pa.int64())})


def a_store(*times: int, state: MemoryStateTable | None = None) -> TimeStore:
    store = TimeStore(state if state is not None else MemoryStateTable(), "t")
    store.append(rows(*times))
    return store


def between(store: TimeStore, low: int, high: int) -> list[int]:
    tables = store.between(low, high)
    return sorted(time for table in tables for time in table.column("t").to_pylist())


def test_both_ends_of_a_range_are_included_and_rows_stay() -> None:
    store = a_store(5, 9, 7, 5)
    assert between(store, 5, 7) == [5, 5, 7]
    assert between(store, 5, 7) == [5, 5, 7]
    assert between(store, 8, 8) == []
    assert between(store, 9, 20) == [9]
    assert between(store, 7, 6) == []


def test_the_ends_of_int64() -> None:
    store = a_store(MIN, 0, MAX - 1)
    assert between(store, MIN, MAX) == [MIN, 0, MAX - 1]
    assert between(store, MIN, MIN) == [MIN]
    assert between(store, MAX - 1, MAX) == [MAX - 1]


def test_a_bucket_goes_when_all_of_it_is_below_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_runs, "BUCKETS_MAX", 1)
    state = MemoryStateTable()
    store = a_store(1, 5, 9, state=state)
    store.drop(9)
    assert between(store, 0, 20) == [1, 5, 9]
    store.drop(10)
    assert between(store, 0, 20) == []
    assert state.buckets() == []


def test_a_row_at_the_bound_stays() -> None:
    store = a_store(5, 6)
    store.drop(6)
    assert between(store, MIN, MAX) == [6]


def test_a_later_row_keeps_an_old_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_runs, "BUCKETS_MAX", 1)
    store = a_store(0, 1000)
    store.append(rows(0, 1020))
    store.append(rows(0, 700))  # of the same bucket, but not its last
    store.drop(1020)
    assert between(store, 1020, 1020) == [1020]


def test_a_range_reads_only_the_buckets_that_have_some_of_it() -> None:
    read: list[int] = []

    class Watched(MemoryStateTable):
        def read(self, bucket: int, below: int | None = None) -> list[pa.Table]:
            read.append(bucket)
            return super().read(bucket, below)

    store = a_store(10, 20, 30, state=Watched())
    read.clear()
    assert between(store, 11, 20) == [20]
    assert read == [20]


def test_a_restart_knows_all_up_to_the_last_barrier() -> None:
    state = MemoryStateTable()
    store = a_store(5, 700, 9, state=state)
    store.persist()
    again = TimeStore(state, "t")
    assert between(again, MIN, MAX) == [5, 9, 700]
    again.drop(9)
    again.persist()
    again = TimeStore(state, "t")
    assert between(again, MIN, MAX) == [9, 700]
    again.append(rows(6))
    assert between(again, 0, 10) == [6, 9]


def test_nothing_is_written_where_nothing_changed() -> None:
    written: list[str] = []

    class Watched(MemoryStateTable):
        def put(self, name: str, value: bytes) -> None:
            written.append(name)
            super().put(name, value)

    store = a_store(5, state=Watched())
    store.persist()
    written.clear()
    store.append(rows())
    store.drop(5)
    store.persist()
    assert written == []
    store.drop(6)
    store.persist()
    assert len(written) == 1


@pytest.mark.slow
def test_random_appends_and_bounds() -> None:
    for seed in seeds(20):
        rng = random.Random(seed)
        state = MemoryStateTable()
        store = TimeStore(state, "t")
        known: list[int] = []
        bound = 0
        for _ in range(30):
            width = rng.choice([5, 1000, 10**9])
            new = [bound + rng.randrange(width) for _ in range(rng.randrange(15))]
            store.append(rows(*new))
            known += new
            bound += rng.choice([0, 3, 400, 10**8])
            store.drop(bound)
            store.persist()
            low = bound + rng.randrange(width)
            high = low + rng.randrange(width)
            assert between(store, low, high) == sorted(t for t in known if low <= t <= high)
            if rng.random() < 0.3:
                store = TimeStore(state, "t")
        assert between(store, bound, MAX) == sorted(time for time in known if time >= bound)
        store.drop(max(known) + 1)
        assert state.rows == 0


def test_spanned() -> None:
    assert spanned([rows(5, -3), rows(), rows(9)], "t") == (-3, 9)
    assert spanned([rows()], "t") is None
    assert spanned([], "t") is None
