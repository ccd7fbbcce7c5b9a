"""The SQL by type; what it computes is tested with the filter (test_watermark_filter)."""

from __future__ import annotations

import pytest

from kits.executor import ENGINE, expr
from tidegate.executor.watermarks.strategy import candidate_sql


@pytest.mark.parametrize(
    ("sql", "type_", "column", "unit_us", "candidate"),
    [
        ("5::BIGINT", "BIGINT", "BIGINT", 0, 5),
        ("5::BIGINT", "BIGINT", "TIMESTAMP", 1, 5000),
        ("1.2345::DECIMAL(10,4)", "DECIMAL(10,4)", "TIMESTAMP", 1, 1235),
        ("-1.5::DOUBLE", "DOUBLE", "BIGINT", 0, -1),
        ("TIMESTAMP '1970-01-01 00:00:01.5'", "TIMESTAMP", "BIGINT", 1_000_000, 2),
        ("TIMESTAMP '1969-12-31 23:59:58.5'", "TIMESTAMP", "BIGINT", 1_000_000, -1),
        ("DATE '1970-01-02'", "DATE", "BIGINT", 1000, 86_400_000),
        ("DATE '1970-01-02'", "DATE", "TIMESTAMP WITH TIME ZONE", 1, 86_400_000_000),
        ("3::INTEGER", "INTEGER", "DECIMAL(10,2)", 0, 300),
        ("1.001::DECIMAL(10,3)", "DECIMAL(10,3)", "DECIMAL(10,2)", 0, 101),
        ("NULL::BIGINT", "BIGINT", "TIMESTAMP", 1, None),
    ],
)
def test_candidate(sql: str, type_: str, column: str, unit_us: int, candidate: int | None) -> None:
    result = ENGINE.query(f"SELECT {candidate_sql(expr(sql, type_), column, unit_us)} AS c")
    assert str(result.schema.field("c").type) == "int64"
    assert result.column("c").to_pylist() == [candidate]


def test_microseconds_of_bigint_do_not_pass_through_double() -> None:
    sql = candidate_sql(expr("9007199254740993::BIGINT", "BIGINT"), "TIMESTAMP", 1)
    assert ENGINE.query(f"SELECT {sql} AS c").column("c").to_pylist() == [9007199254740993000]
