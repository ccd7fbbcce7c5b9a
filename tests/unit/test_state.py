from __future__ import annotations

import pyarrow as pa
import pytest

from tidegate.state import (
    RUNS_PER_LEVEL,
    MemoryStateTable,
    compact,
    gathered,
    get_int,
    put_int,
    take_until,
)


def run(*values: int) -> pa.Table:
    return pa.table({"v": pa.array(values, pa.int64())})


def held(table: MemoryStateTable, bucket: int) -> list[int]:
    return [value for part in table.read(bucket) for value in part.column("v").to_pylist()]


def test_values() -> None:
    table = MemoryStateTable()
    assert table.get("a") is None
    table.put("a", b"1")
    assert table.get("a") == b"1"
    table.put("a", b"2")
    assert table.get("a") == b"2"


def test_runs_are_appended_and_read_in_order() -> None:
    table = MemoryStateTable()
    table.append(20, run(1))
    table.append(-10, run(2))
    table.append(20, run(3))
    assert table.buckets() == [-10, 20]
    assert held(table, 20) == [1, 3]
    assert held(table, 5) == []
    assert table.levels(5) == []
    assert table.rows == 3


def test_what_is_taken_ends_at_the_bound_and_goes() -> None:
    table = MemoryStateTable()
    for bucket in (2, 1, 3):
        table.append(bucket, run(bucket))
    assert [taken.column("v").to_pylist() for taken in take_until(table, 3)] == [[1], [2]]
    assert table.buckets() == [3]


def test_buckets_are_gathered_by_their_rows() -> None:
    table = MemoryStateTable()
    for bucket in (1, 2, 4):
        table.append(bucket, run(bucket, bucket))
    read = [(until, len(runs)) for until, runs in gathered(table, [1, 2, 3, 4], 9, 3)]
    assert read == [(3, 2), (9, 1)]
    assert [until for until, _ in gathered(table, [1, 2], 9, 4)] == [3, 9]
    assert list(gathered(table, [], 9, 4)) == [(9, [])]


def test_range_delete_is_strict() -> None:
    table = MemoryStateTable()
    for bucket in (1, 2, 3):
        table.append(bucket, run(bucket))
    table.delete_until(2)
    assert table.buckets() == [2, 3]


def test_compaction_rewrites_a_row_a_logarithmic_number_of_times() -> None:
    table = MemoryStateTable()
    written = 0

    def merge(runs: list[pa.Table]) -> pa.Table:
        nonlocal written
        together = pa.concat_tables(runs)
        written += together.num_rows
        return together

    for value in range(600):
        table.append(7, run(value))
        compact(table, 7, merge)
        assert len(table.levels(7)) < 4 * RUNS_PER_LEVEL
    assert sorted(held(table, 7)) == list(range(600))
    assert written < 600 * 4


def test_compaction_keeps_the_order_of_appending() -> None:
    table = MemoryStateTable()
    for value in range(200):
        table.append(7, run(value))
        compact(table, 7, pa.concat_tables)
    assert held(table, 7) == list(range(200))


def _unexpected(runs: list[pa.Table]) -> pa.Table:
    raise AssertionError(f"nothing to merge in {runs}")


@pytest.mark.parametrize("count", [0, 1, RUNS_PER_LEVEL - 1])
def test_few_runs_are_left_alone(count: int) -> None:
    table = MemoryStateTable()
    for value in range(count):
        table.append(7, run(value))
    compact(table, 7, _unexpected)
    assert len(table.levels(7)) == count


def test_replace_leaves_higher_levels() -> None:
    table = MemoryStateTable()
    table.append(7, run(1), level=2)
    table.append(7, run(2))
    table.append(7, run(3), level=1)
    table.replace(7, 2, run(2, 3))
    assert table.levels(7) == [2, 2]
    assert held(table, 7) == [1, 2, 3]
    assert [part.num_rows for part in table.read(7, below=2)] == []


def test_a_snapshot_is_not_touched_by_later_writes() -> None:
    table = MemoryStateTable()
    table.put("a", b"1")
    table.append(7, run(1))
    copy = table.snapshot()
    table.put("a", b"2")
    table.append(7, run(2))
    table.delete_until(100)
    assert copy.get("a") == b"1"
    assert held(copy, 7) == [1]


def test_numbers() -> None:
    table = MemoryStateTable()
    assert get_int(table, "n", 7) == 7
    put_int(table, "n", -(2**63))
    assert get_int(table, "n", 7) == -(2**63)
