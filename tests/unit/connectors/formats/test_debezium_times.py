from __future__ import annotations

import pyarrow as pa
import pytest

from kits.executor import ENGINE, schema
from tidegate.connectors.formats.debezium_times import struct_of, times_of

COLUMNS = schema("a BIGINT, d DATE, t TIMESTAMP, z TIMESTAMP WITH TIME ZONE, c TIME")


def value(column: str, unit: str, text: str) -> str | None:
    sql = f"SELECT CAST({times_of(COLUMNS, unit)[column]} AS VARCHAR) AS v FROM texts"
    found = ENGINE.query(sql, {"texts": pa.table({"t": [text]})})
    shown: str | None = found.column("v")[0].as_py()
    return shown


def test_a_unit_makes_numbers_times() -> None:
    assert list(times_of(COLUMNS, "")) == ["d"]
    assert list(times_of(COLUMNS, "ms")) == ["d", "t", "z", "c"]


@pytest.mark.parametrize(
    ("column", "unit", "text", "shown"),
    [
        ("d", "", "-1", "1969-12-31"),
        ("d", "", "999999999999", None),
        ("t", "ms", "1500", "1970-01-01 00:00:01.5"),
        ("t", "us", "-1", "1969-12-31 23:59:59.999999"),
        ("t", "ns", "-1", "1969-12-31 23:59:59.999999"),
        ("t", "ns", "1500", "1970-01-01 00:00:00.000001"),
        ("t", "ms", "999999999999999999", None),
        ("t", "ms", "1.5", None),
        ("t", "ms", "2024-05-01 10:00", "2024-05-01 10:00:00"),
        ("z", "ms", "2024-05-01T10:00:00Z", "2024-05-01 10:00:00+00"),
        ("c", "ms", "86399999", "23:59:59.999"),
        ("c", "ms", "86400000", None),
        ("c", "us", "-1", None),
    ],
)
def test_values(column: str, unit: str, text: str, shown: str | None) -> None:
    assert value(column, unit, text) == shown


def test_times_are_texts_first() -> None:
    kinds = struct_of(COLUMNS[:2], times_of(COLUMNS, ""))
    assert kinds == 'STRUCT("a" BIGINT, "d" VARCHAR)'
