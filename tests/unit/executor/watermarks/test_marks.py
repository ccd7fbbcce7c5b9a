from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kits.executor import ENGINE
from tidegate.dataframes import filter_of
from tidegate.errors import OptionsError
from tidegate.executor.watermarks.marks import mark, marking
from tidegate.plan.nodes import WatermarkFilter
from tidegate.state import MemoryStateTable

EPOCH_US = 1_767_225_600_000_000
NAMES = ("w", "why")


def filter_on(type_: str, strategy: str, **options: str) -> WatermarkFilter:
    columns = [("id", "BIGINT"), ("t", type_), ("slack", "BIGINT"), ("unread", "VARCHAR")]
    given = {"unit": "us", "skew": "0", **options}
    return marking(filter_of(columns, "t", strategy, given["unit"], given["skew"]))


def rows(times: list[Any], kind: pa.DataType | None = None, **more: list[Any]) -> pa.Table:
    numbers = list(range(len(times)))
    columns = {"id": numbers, "slack": [0] * len(times), "unread": ["x"] * len(times), **more}
    return pa.table({**columns, "t": pa.array(times, kind)})


def marks(data: pa.Table, node: WatermarkFilter, state: MemoryStateTable) -> list[tuple[Any, Any]]:
    found = mark(data, "a", node, EPOCH_US, state, ENGINE, NAMES)
    assert found.column_names == [*data.column_names, *NAMES]
    assert found.select(data.column_names).equals(data), "the rows stay as they are"
    return list(zip(*(found.column(name).to_pylist() for name in NAMES), strict=True))


def test_each_row_is_told_its_watermark_and_why_it_was_refused() -> None:
    node, state = filter_on("BIGINT", "t - 5"), MemoryStateTable()
    first = marks(rows([10, 20, 14, None, 15]), node, state)
    assert first == [
        (None, None),
        (5, None),
        (15, "late"),
        (15, "null_time"),
        (15, None),
    ]
    again = marks(rows([14, 40, 30]), node, state)
    assert again == [(15, "late"), (15, None), (35, "late")], "the state was kept"


def test_keys_have_watermarks_of_their_own() -> None:
    node = filter_on("BIGINT", "t PER (slack) EXPIRE AFTER 100")
    found = marks(rows([50, 10, 49, 9, 10], slack=[1, 2, 1, 2, 2]), node, MemoryStateTable())
    assert found == [(None, None), (None, None), (50, "late"), (10, "late"), (10, None)]


def test_a_key_that_is_no_column_is_refused() -> None:
    with pytest.raises(OptionsError, match="is a column of the DataFrame"):
        filter_on("BIGINT", "t PER (slack + 1) EXPIRE AFTER 100")


def test_splits_do_not_know_of_each_other() -> None:
    node, state = filter_on("BIGINT", "t"), MemoryStateTable()
    marks(rows([10]), node, state)
    found = mark(rows([1]), "b", node, EPOCH_US, state, ENGINE, NAMES)
    assert found.column("why").to_pylist() == [None]


def test_a_strategy_reads_other_columns() -> None:
    node = filter_on("BIGINT", "t - slack")
    assert [column.name for column in node.schema] == ["t", "slack"]
    found = marks(rows([10, 9, 8], slack=[1, 0, 0]), node, MemoryStateTable())
    assert found == [(None, None), (9, None), (9, "late")]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_a_watermark_has_the_type_of_its_time(zone: str | None) -> None:
    kind = pa.timestamp("us", zone)
    type_ = "TIMESTAMP" if zone is None else "TIMESTAMP WITH TIME ZONE"
    begin = datetime(2026, 1, 1, tzinfo=None if zone is None else UTC)
    times = [begin + timedelta(seconds=seconds) for seconds in (0, 60, 50)]
    node = filter_on(type_, "t - INTERVAL '5' SECOND")
    data = mark(rows(times, kind), "a", node, EPOCH_US, MemoryStateTable(), ENGINE, NAMES)
    assert data.schema.field("w").type == kind
    assert data.column("w").to_pylist()[2] == begin + timedelta(seconds=55)
    assert data.column("why").to_pylist() == [None, None, "late"]


def test_decimals() -> None:
    kind = pa.decimal128(10, 2)
    node = filter_on("DECIMAL(10, 2)", "t - 0.5", unit="none")
    times = [Decimal("1.00"), Decimal("0.49"), Decimal("0.50")]
    found = marks(rows(times, kind), node, MemoryStateTable())
    assert found == [(None, None), (Decimal("0.50"), "late"), (Decimal("0.50"), None)]


def test_the_future_is_the_epoch_s() -> None:
    node = filter_on("BIGINT", "t", skew="1 h")
    far, near = EPOCH_US + 3_600_000_001, EPOCH_US + 3_600_000_000
    found = marks(rows([far, near, 5]), node, MemoryStateTable())
    assert found == [(None, "future"), (None, None), (near, "late")]


def test_a_watermark_that_measures_disorder() -> None:
    node = filter_on("BIGINT", "SOURCE_WATERMARK()", unit="us")
    state = MemoryStateTable()
    found = marks(rows(list(range(0, 10**9, 10**6))), node, state)
    assert found[0] == (None, None)
    assert found[-1][0] is not None
    assert {why for _, why in found} == {None}


def test_no_rows() -> None:
    node = filter_on("BIGINT", "t")
    assert marks(rows([], pa.int64()), node, MemoryStateTable()) == []
