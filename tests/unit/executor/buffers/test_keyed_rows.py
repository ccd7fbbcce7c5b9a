"""Rows by key, against a dict: puts, removals, crashes, merges in bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kits.keyed import small_merges
from kits.many import seeds
from tidegate.executor.buffers import keyed_rows
from tidegate.executor.buffers.keyed_rows import HASH, KeyedRows, hashes_of
from tidegate.state import HASH_MAX, MemoryStateTable

KEYS = 300


def hash_of(key: int) -> int:
    """Even, but for the last keys, which share hashes, at both ends too."""
    if key >= KEYS - 10:
        return (0, HASH_MAX)[key % 2]
    return key * 0x9E3779B97F4A7C15 % 2**64


def table_of(rows: Mapping[int, list[int]]) -> pa.Table:
    """Rows (key, value), sorted by hash."""
    pairs = [(hash_of(key), key, value) for key, values in rows.items() for value in values]
    pairs.sort(key=lambda pair: pair[0])
    hashes, keys, values = zip(*pairs, strict=True) if pairs else ((), (), ())
    return pa.table(
        {
            HASH: np.array(hashes, np.uint64),
            "k": pa.array(keys, pa.int64()),
            "v": pa.array(values, pa.int64()),
        }
    )


def hashes(keys: list[int]) -> keyed_rows.UInt64s:
    return np.unique(np.array([hash_of(key) for key in keys], np.uint64))


def by_key(table: pa.Table | None) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row in table.to_pylist() if table is not None else ():
        found.setdefault(row["k"], []).append(row["v"])
    return found


def with_hash(known: Mapping[int, list[int]], keys: list[int]) -> dict[int, list[int]]:
    wanted = {hash_of(key) for key in keys}
    return {key: values for key, values in known.items() if hash_of(key) in wanted}


def since(bound: int, rows: pa.Table) -> pa.Table:
    return rows.filter(pc.field("v") >= bound)


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    with small_merges():
        yield


@pytest.mark.parametrize("seed", seeds(80))
def test_it_is_a_dict(seed: int) -> None:
    rng = Random(seed)
    state, known = MemoryStateTable(), dict[int, list[int]]()
    kept = (state.snapshot(), dict(known))
    for value in range(rng.choice((5, 40, 120))):
        if rng.random() < 0.1:  # a crash: what was since the last barrier is gone
            state, known = kept[0].snapshot(), dict(kept[1])
        rows = KeyedRows(state)
        keys = rng.sample(range(KEYS), rng.choice((1, 5, 60)))
        assert by_key(rows.find(hashes(keys))) == with_hash(known, keys)
        changed = with_hash(known, keys)
        changed |= {key: [value] * rng.choice((1, 1, 3)) for key in keys if rng.random() < 0.8}
        changed = {key: values for key, values in changed.items() if rng.random() < 0.9}
        left = {hash_of(key) for key in changed}
        gone = [hash_of(key) for key in keys if hash_of(key) not in left]
        rows.put(table_of(changed), np.unique(np.array(gone, np.uint64)))
        for key in with_hash(known, keys):
            del known[key]
        known |= changed
        rows.settle()
        if rng.random() < 0.7:
            kept = (state.snapshot(), dict(known))
    whole = list(KeyedRows(state).scan())
    assert by_key(pa.concat_tables(whole) if whole else None) == known
    order = [hash_ for part in whole for hash_ in hashes_of(part).tolist()]
    assert order == sorted(order)


@pytest.mark.parametrize("seed", seeds(40))
def test_rows_add_up_and_old_ones_are_dropped_in_merges(seed: int) -> None:
    rng = Random(seed)
    state, known = MemoryStateTable(), dict[int, list[int]]()
    for value in range(60):
        bound = value - 10
        rows = KeyedRows(state, adds=True, prune=partial(since, bound))
        new = {key: [value] for key in rng.sample(range(KEYS), 20)}
        for key in new:
            known.setdefault(key, []).append(value)
        rows.put(table_of(new))
        rows.settle()
        keys = rng.sample(range(KEYS), 20)
        found = by_key(rows.find(hashes(keys)))
        wanted = with_hash(known, keys)
        for key in {*found, *wanted}:
            ours = [v for v in found.get(key, []) if v >= bound]
            assert ours == [v for v in wanted.get(key, []) if v >= bound]
    assert state.rows < 60 * 20, "nothing was dropped"


def test_an_epoch_merges_in_bounds_and_all_is_written_few_times() -> None:
    """Whatever is kept: no epoch writes more than its share, and a row is written 5 times."""
    rng = Random(1)
    state = MemoryStateTable()
    keys = {key: [0] for key in range(KEYS - 10)}
    KeyedRows(state).put(table_of(keys))
    put = written = 0
    for value in range(200):
        rows = KeyedRows(state)
        new = {key: [value] for key in rng.sample(range(KEYS - 10), 12)}
        rows.put(table_of(new))
        before = state._last
        rows.settle()
        step = sum(state._tables[n].num_rows for n in range(before + 1, state._last + 1))
        assert step <= 24 + 2 * 16, "more than its share"
        put += len(new)
        written += step + len(new)
    assert written <= 5 * put
    assert state.rows <= 3 * KEYS, "what nobody needs is kept"


def test_a_table_without_rows() -> None:
    rows = KeyedRows(MemoryStateTable())
    rows.put(table_of({}))
    rows.settle()
    assert rows.find(hashes([1])) is None
    assert list(rows.scan()) == []
    rows.put(table_of({1: [1]}))
    rows.put(table_of({}), hashes([1]))
    assert rows.find(hashes([1])) is None
    assert list(rows.scan()) == []


def test_a_bucket_goes_with_the_merge_in_it() -> None:
    """And one that comes again begins anew: what merged there is not taken for its own."""
    state = MemoryStateTable()
    every = {key: [0] for key in range(KEYS)}
    for value in range(3):
        KeyedRows(state, 7).put(table_of({key: [value] for key in every}))
    KeyedRows(state, 7).settle()
    assert state.values, "no merge is going on"
    state.delete_until(8)
    assert (state.values, state.rows) == ({}, 0)
    rows = KeyedRows(state, 7)
    rows.put(table_of(every))
    rows.settle()
    assert by_key(pa.concat_tables(rows.scan())) == every
