from __future__ import annotations

import pytest

from kits.executor import ENGINE
from tidegate.plan.early import Early
from tidegate.types import END, Column


@pytest.mark.parametrize(
    ("type_", "time", "every", "tick"),
    [
        ("BIGINT", "10", 10, 20),  # a row at a tick is not below it
        ("BIGINT", "19", 10, 20),
        ("BIGINT", "0", 7, 7),
        ("BIGINT", "-1", 10, 0),
        ("BIGINT", "-10", 10, 0),
        ("BIGINT", "NULL", 10, None),
        ("BIGINT", "-9223372036854775808", 10, -9223372036854775800),
        ("BIGINT", "9223372036854775799", 10, 9223372036854775800),
        ("BIGINT", "9223372036854775800", 10, END),  # the next one would not be one of 64 bits
        ("BIGINT", "9223372036854775807", 10, END),
        ("BIGINT", "5", 5 * 10**18, 5 * 10**18),
        ("BIGINT", "-5", 5 * 10**18, 0),
        ("TIMESTAMP", "'infinity'", 60_000_000, None),
        ("TIMESTAMP", "'-infinity'", 60_000_000, None),
        ("DECIMAL(10,2)", "1.99", 100, 200),
        ("TIMESTAMP", "'1970-01-01 00:00:59.999999'", 60_000_000, 60_000_000),
        ("TIMESTAMP", "'1969-12-31 23:59:59'", 60_000_000, 0),
        ("TIMESTAMP WITH TIME ZONE", "'1970-01-01 01:00:00+01'", 60_000_000, 60_000_000),
    ],
)
def test_a_tick_is_the_first_multiple_above_a_time(
    type_: str, time: str, every: int, tick: int | None
) -> None:
    sql = Early(Column("t", type_), every).tick_sql(f"CAST({time} AS {type_})")
    found = ENGINE.query(f"SELECT {sql} AS tick", {})
    assert found.column("tick").to_pylist() == [tick]
    assert str(found.schema.field("tick").type) == "int64"
