from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.epochs.rejections import BOUNDS_S, rejections_of
from tidegate.epochs.sums import summed
from tidegate.types import LEDGER_SCHEMA

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "account": st.sampled_from(["a", "b"]),
            "operator": st.sampled_from(["Decode", "WatermarkFilter"]),
            "reason": st.sampled_from(["malformed", "late"]),
            "time_type": st.sampled_from([None, "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "BIGINT"]),
            "lateness": st.none() | st.integers(1, 10**12) | st.sampled_from([10**6, 5 * 10**6]),
        }
    ),
    max_size=30,
)


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=LEDGER_SCHEMA)


def bucket_of(late_s: float) -> int:
    return next((n for n, bound in enumerate(BOUNDS_S) if late_s <= bound), len(BOUNDS_S))


@pytest.mark.slow
@given(ROWS, ROWS)
def test_as_row_by_row(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> None:
    found = summed([rejections_of(table_of(first)), rejections_of(table_of(second))])
    rows: Counter[tuple[str, ...]] = Counter()
    buckets: Counter[tuple[Any, ...]] = Counter()
    seconds: Counter[tuple[str, ...]] = Counter()
    for row in first + second:
        key = (row["account"], row["operator"], row["reason"])
        rows[key] += 1
        if (row["time_type"] or "").startswith("TIMESTAMP") and row["lateness"] is not None:
            buckets[(*key, bucket_of(row["lateness"] / 1e6))] += 1
            seconds[key] += row["lateness"]
    for each, count in rows.items():
        told = found[each[0]][each[1]][each[2]]
        assert told.rows == count
        assert told.buckets == tuple(buckets[(*each, n)] for n in range(len(BOUNDS_S) + 1))
        assert abs(told.seconds - seconds[each] / 1e6) < 1e-3 * max(1, seconds[each] / 1e6)
    assert sum(len(r) for o in found.values() for r in o.values()) == len(rows)


def test_what_is_added_is_not_shared() -> None:
    row = {
        "account": "a",
        "operator": "o",
        "reason": "late",
        "time_type": "TIMESTAMP",
        "lateness": 1,
    }
    first = rejections_of(table_of([row]))
    second = summed([first, rejections_of(table_of([row]))])
    assert first["a"]["o"]["late"].rows == 1
    assert first["a"]["o"]["late"].buckets[0] == 1
    assert second["a"]["o"]["late"].buckets[0] == 2
