from __future__ import annotations

import pyarrow as pa

from executor_kit import ENGINE
from tidegate.executor.order import sorted_by


def test_null_is_the_largest_value() -> None:
    data = pa.table({"t": [2, None, 1, 2], "k": ["b", "a", None, "a"]})
    assert sorted_by(ENGINE, data, ["t", "k"]).to_pylist() == [
        {"t": 1, "k": None},
        {"t": 2, "k": "a"},
        {"t": 2, "k": "b"},
        {"t": None, "k": "a"},
    ]


def test_one_row_needs_no_engine() -> None:
    data = pa.table({"t": [2]})
    assert sorted_by(ENGINE, data, ["t"]) is data
