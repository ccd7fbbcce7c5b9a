"""The SQL by type, and who evaluates it; more is tested with the filter (test_watermark_filter)."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from kits.executor import ENGINE, expr, leaf
from tidegate.executor.columns import INT64_MAX
from tidegate.executor.watermarks.strategy import Clock, Fixed, Rows, candidate_sql
from tidegate.plan.nodes import Expr, WatermarkFilter
from tidegate.types import END, Measured


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


def _node(strategy: Expr, type_: str = "BIGINT") -> WatermarkFilter:
    below = leaf(f"t {type_}")
    return WatermarkFilter(below.schema, below, "f", "acc", "t", strategy, 0, 1)


def _rows(times: list[int], eligible: list[bool]) -> Rows:
    return Rows(pa.table({"t": times}), np.array(times), np.array(eligible))


_PLAIN = expr('"t" - 5', "BIGINT", "t")


@pytest.mark.parametrize("how", [_PLAIN, dataclasses.replace(_PLAIN, shift_us=-5)])
def test_a_row_that_is_not_eligible_has_no_candidate(how: Expr) -> None:
    candidates, has = Fixed(_node(how), ENGINE).candidates(_rows([9, 7, 20], [True, False, True]))
    assert has.tolist() == [True, False, True]
    assert candidates[has].tolist() == [4, 15]


def test_the_time_itself_is_no_computation_and_never_the_end() -> None:
    strategy = Fixed(_node(expr('"t"', "BIGINT", "t")), ENGINE)
    candidates, has = strategy.candidates(_rows([9, END], [True, True]))
    assert (candidates.tolist(), has.tolist()) == ([9, END - 1], [True, True])
    assert (strategy.at_barrier(5), strategy.snapshot()) == (None, Measured())


def test_a_row_that_is_not_eligible_is_judged_at_the_end_of_time() -> None:
    rows = _rows([9, 7], [True, True])
    assert rows.judged is rows.times
    assert _rows([9, 7], [True, False]).judged.tolist() == [9, INT64_MAX]


@pytest.mark.parametrize(
    ("sql", "said"), [("\"t\" - INTERVAL '1' SECOND", 4_000_000), ('nullif("t", "t")', None)]
)
def test_the_clock_speaks_at_a_barrier(sql: str, said: int | None) -> None:
    zoned = "TIMESTAMP WITH TIME ZONE"
    assert Clock(_node(expr(sql, zoned, "t"), zoned), ENGINE).at_barrier(5_000_000) == said
