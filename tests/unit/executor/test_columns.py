from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from kits.executor import ENGINE
from tidegate.executor.columns import (
    INT64_MAX,
    INT64_MIN,
    event_times,
    hidden_columns,
    ledger_rows,
    saturating_difference,
    times_column,
)
from tidegate.types import LEDGER_SCHEMA

SAMPLES = [
    ("BIGINT", "(1::BIGINT), (NULL), (-7)", [1, None, -7]),
    ("TIMESTAMP", "(make_timestamp(5)), (NULL), (make_timestamp(-5))", [5, None, -5]),
    ("TIMESTAMPTZ", "(make_timestamptz(5)), (NULL), (make_timestamptz(-5))", [5, None, -5]),
    ("DECIMAL(18,2)", "(1.25::DECIMAL(18,2)), (NULL), (-0.01)", [125, None, -1]),
    ("INTEGER", "(1::INTEGER), (NULL), (-7)", [1, None, -7]),
]


@pytest.mark.parametrize(("type_", "sql", "times"), SAMPLES)
def test_event_times_there_and_back(type_: str, sql: str, times: list[int | None]) -> None:
    column = ENGINE.query(f"SELECT v FROM (VALUES {sql}) t(v)").column("v")
    for piece, part in ((column, times), (column.slice(1), times[1:]), (column.slice(0, 0), [])):
        values, valid = event_times(piece)
        assert [v if ok else None for v, ok in zip(values, valid, strict=True)] == part
        if type_ != "INTEGER":
            assert times_column(values, valid, column.type).equals(piece.combine_chunks())


def test_event_times_are_not_copied() -> None:
    column = pa.chunked_array([pa.array([1, 2, 3])])
    values, _ = event_times(column)
    assert values.ctypes.data == column.chunk(0).buffers()[1].address


def test_event_times_of_many_chunks_and_other_units() -> None:
    column = pa.chunked_array([pa.array([1]), pa.array([2, None])])
    assert event_times(column)[0].tolist()[:2] == [1, 2]
    assert event_times(pa.array([1], pa.timestamp("ms")))[0].tolist() == [1000]


def test_text_has_no_event_time() -> None:
    with pytest.raises(TypeError, match="string"):
        event_times(pa.array(["a"]))


def test_negative_decimals_keep_their_sign() -> None:
    array = times_column(np.array([-1, 5]), np.array([True, True]), pa.decimal128(18, 2))
    assert array.to_pylist() == [Decimal("-0.01"), Decimal("0.05")]


def test_differences_stay_in_64_bits() -> None:
    left = np.array([5, INT64_MAX, INT64_MIN, -2])
    right = np.array([7, -1, 1, INT64_MAX])
    assert saturating_difference(left, right).tolist() == [-2, INT64_MAX, INT64_MIN, INT64_MIN]


def test_ledger_rows_have_the_ledgers_schema() -> None:
    rows = pa.table({"__offset": pa.array([4], pa.int64()), "x": [1]})
    got = ledger_rows(rows, account="a", table="t", split="s", operator="scan", reasons="malformed")
    assert got.schema == LEDGER_SCHEMA
    assert (
        got.to_pylist()[0] | {"offset": 4, "record": None, "event_time": None}
        == (got.to_pylist()[0])
    )


def test_hidden_columns() -> None:
    assert hidden_columns(pa.table({"a": [1], "__offset": [1], "_b": [2]})) == ["__offset"]
