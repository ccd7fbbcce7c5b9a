from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tidegate.executor.watermarks.key_watermarks import KeyWatermarks
from tidegate.executor.watermarks.strategy import Rows
from tidegate.plan.strategies import PerKey
from tidegate.types import Keys


def _judged(
    keys: KeyWatermarks, columns: dict[str, list[Any]], times: list[int], **types: pa.DataType
) -> list[bool]:
    data = pa.table({name: pa.array(v, types.get(name)) for name, v in columns.items()})
    at = np.array(times, dtype=np.int64)
    has = np.ones(len(at), dtype=np.bool_)
    late: list[bool] = keys.judge(Rows(data, at, has), at, has, keys.watermark).late.tolist()
    return late


def test_keys_are_told_apart_by_all_their_columns() -> None:
    keys = KeyWatermarks(PerKey(("a", "b"), 1_000), None, Keys())
    # Joined without their lengths, the first two would be one.
    columns = {"a": ["x", "x1:", "x", None, "n", ""], "b": ["1:y", "y", None, "x", "x", None]}
    assert _judged(keys, columns, [60, 50, 40, 30, 20, 10]) == [False] * 6
    assert _judged(keys, columns, [60, 50, 40, 30, 20, 10]) == [False] * 6
    assert _judged(keys, columns, [59, 49, 39, 29, 19, 9]) == [True] * 6


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([1, -1, None], pa.int64()),
        ([Decimal("1.50"), Decimal("-1.50"), None], pa.decimal128(10, 2)),
        ([True, False, None], pa.bool_()),
        ([dt.date(2026, 1, 1), dt.date(1969, 1, 1), None], pa.date32()),
        ([dt.datetime(2026, 1, 1), dt.datetime(1969, 1, 1), None], pa.timestamp("us")),
        (["a", "", None], pa.string()),
        (["a", "b", None], pa.dictionary(pa.int32(), pa.string())),
    ],
)
def test_keys_of_every_type(values: list[Any], type_: pa.DataType) -> None:
    keys = KeyWatermarks(PerKey(("k",), 1_000), None, Keys())
    assert _judged(keys, {"k": values}, [30, 20, 10], k=type_) == [False] * 3
    again = KeyWatermarks(PerKey(("k",), 1_000), keys.watermark, keys.snapshot().per_key)
    assert _judged(again, {"k": values}, [29, 20, 9], k=type_) == [True, False, True]


def test_a_barrier_forgets_keys_that_do_not_count() -> None:
    keys = KeyWatermarks(PerKey(("k",), 100), None, Keys())
    _judged(keys, {"k": list(range(5_000))}, list(range(5_000)))
    state = keys.snapshot().per_key
    assert (state.first, keys.watermark, state.key_count) == (0, 4_899, 101)
    again = KeyWatermarks(PerKey(("k",), 100), keys.watermark, state)
    assert len(again._names) == len(again._known.keys) == 101
    # One that is kept, one that was forgotten, and a new one.
    assert _judged(again, {"k": [4_990, 7, 6_000]}, [4_989, 4_900, 4_898]) == [True, False, True]


def test_what_is_written_stays_while_there_are_no_rows() -> None:
    keys = KeyWatermarks(PerKey(("k",), 100), None, Keys())
    assert keys.snapshot().per_key == Keys()
    _judged(keys, {"k": ["x"]}, [5])
    first = keys.snapshot().per_key
    again = KeyWatermarks(PerKey(("k",), 100), keys.watermark, first)
    assert again.snapshot().per_key == first
    assert first.keys != ""


def test_no_rows_are_no_keys() -> None:
    keys = KeyWatermarks(PerKey(("k", "l"), 100), None, Keys())
    assert _judged(keys, {"k": [], "l": []}, [], k=pa.string(), l=pa.int64()) == []
