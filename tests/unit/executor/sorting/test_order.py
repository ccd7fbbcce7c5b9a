from __future__ import annotations

import pyarrow as pa
import pytest

from kits.executor import ENGINE
from tidegate.executor.sorting import order
from tidegate.executor.sorting.order import sorted_by, sorted_slices
from tidegate.plan.nodes import SortKey

TIME = SortKey("t")


def test_null_is_the_largest_value() -> None:
    data = pa.table({"t": [2, None, 1, 2], "k": ["b", "a", None, "a"]})
    assert sorted_by(ENGINE, data, [TIME, SortKey("k")]).to_pylist() == [
        {"t": 1, "k": None},
        {"t": 2, "k": "a"},
        {"t": 2, "k": "b"},
        {"t": None, "k": "a"},
    ]


def test_keys_may_descend_and_have_null_at_either_end() -> None:
    data = pa.table({"t": [1, 1, 1, 2], "k": [1, None, 2, 9]})

    def ks(key: SortKey) -> list[int | None]:
        return [row["k"] for row in sorted_by(ENGINE, data, [TIME, key]).to_pylist()]

    assert ks(SortKey("k", descending=True)) == [2, 1, None, 9]
    assert ks(SortKey("k", descending=True, nulls_first=True)) == [None, 2, 1, 9]
    assert ks(SortKey("k", nulls_first=True)) == [None, 1, 2, 9]


def test_types_stay_what_they_were() -> None:
    data = pa.table({"t": [2, 1], "s": pa.array(["a", "b"], pa.large_string())})
    assert sorted_by(ENGINE, data, [TIME]).schema == data.schema


def test_slices_are_the_whole_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "CHUNK_ROWS_MAX", 2)
    data = pa.table({"t": [4, 2, 3, 1, 5]})
    got = [piece.column("t").to_pylist() for piece in sorted_slices(ENGINE, data, [TIME])]
    assert got == [[1, 2], [3, 4], [5]]
    assert list(sorted_slices(ENGINE, data.slice(0, 0), [TIME])) == []
    assert list(sorted_slices(ENGINE, data.slice(0, 1), [TIME])) == [data.slice(0, 1)]


def test_one_row_needs_no_engine() -> None:
    data = pa.table({"t": [2]})
    assert sorted_by(ENGINE, data, [TIME]) is data
