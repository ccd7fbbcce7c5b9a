from __future__ import annotations

from decimal import Decimal
from typing import Any

import duckdb
import pytest

from tidegate.reasons import Reason
from tidegate.types import (
    END,
    LEDGER_SCHEMA,
    Column,
    Counts,
    FilterState,
    Status,
    column_named,
    decimal_scale,
    event_time_literal,
    event_time_sql,
    is_event_time_type,
    merged_watermark,
)


@pytest.mark.parametrize(
    ("type_", "fits"),
    [
        ("TIMESTAMP", True),
        ("TIMESTAMP WITH TIME ZONE", True),
        ("BIGINT", True),
        ("DECIMAL(18,3)", True),
        ("DECIMAL(18, 3)", True),
        ("DECIMAL(19,3)", False),
        ("INTEGER", False),
        ("VARCHAR", False),
        ("DATE", False),
        ("DECIMAL", False),
    ],
)
def test_types_that_may_carry_a_watermark(type_: str, fits: bool) -> None:
    assert is_event_time_type(type_) is fits


@pytest.mark.slow
@pytest.mark.parametrize(
    "type_", ["TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "BIGINT", "DECIMAL(18,3)"]
)
@pytest.mark.parametrize("value", [0, -1, 1_714_550_400_123_456, 253_402_300_799_999_999])
def test_event_time_comes_back_from_its_literal(type_: str, value: int) -> None:
    literal = event_time_literal(value, type_)
    assert one(f"SELECT {event_time_sql(literal, type_)}") == value
    assert one(f"SELECT typeof({literal})") == type_


@pytest.mark.slow
def test_a_decimal_counts_in_its_last_digit() -> None:
    assert one(f"SELECT {event_time_sql('1.5::DECIMAL(5,2)', 'DECIMAL(5,2)')}") == 150
    assert one(f"SELECT {event_time_literal(150, 'DECIMAL(5,2)')}") == Decimal("1.50")
    assert decimal_scale("DECIMAL(5,2)") == 2
    assert decimal_scale("BIGINT") is None


def one(sql: str) -> Any:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        ((value,),) = connection.execute(sql).fetchall()
    return value


def test_accounts_balance() -> None:
    counts = Counts(read=10, used=4, filtered=3, late=2, quarantined=1)
    assert counts.balanced
    counts += Counts(read=1, late=1)
    assert counts == Counts(11, 4, 3, 3, 1)
    assert counts.balanced
    assert not Counts(read=1).balanced


ACTIVE, IDLE, FINISHED = Status.ACTIVE, Status.IDLE, Status.FINISHED


@pytest.mark.parametrize(
    ("inputs", "merged"),
    [
        ([(5, ACTIVE), (9, ACTIVE)], (5, ACTIVE)),
        ([(5, ACTIVE), (None, ACTIVE)], (None, ACTIVE)),
        ([(5, IDLE), (9, ACTIVE)], (9, ACTIVE)),
        ([(END, FINISHED), (9, ACTIVE)], (9, ACTIVE)),
        ([(5, IDLE), (9, IDLE)], (9, IDLE)),
        ([(5, IDLE), (None, IDLE)], (5, IDLE)),
        ([(None, IDLE)], (None, IDLE)),
        ([(5, IDLE), (END, FINISHED)], (5, IDLE)),
        ([(None, IDLE), (END, FINISHED)], (END, FINISHED)),
        ([(END, FINISHED)], (END, FINISHED)),
        ([], (END, FINISHED)),
    ],
)
def test_what_is_sure_over_all_inputs(
    inputs: list[tuple[int | None, Status]], merged: tuple[int | None, Status]
) -> None:
    assert merged_watermark(inputs) == merged


@pytest.mark.parametrize(
    ("watermark", "floor", "effective"), [(None, None, None), (5, None, 5), (None, 3, 3), (5, 7, 7)]
)
def test_rows_are_judged_by_the_watermark_or_a_floor_above_it(
    watermark: int | None, floor: int | None, effective: int | None
) -> None:
    assert FilterState(watermark, floor).effective == effective


def test_counts_add_up_and_none_of_them_changes() -> None:
    first = Counts(3, 2, 1)
    assert first + Counts(2, 1, 0, 1) == Counts(5, 3, 1, 1)
    assert first == Counts(3, 2, 1)


def test_reasons_stand_in_the_order_in_which_they_apply() -> None:
    assert [str(reason) for reason in Reason] == [
        "crashed",
        "malformed",
        "passed_over",
        "null_time",
        "future",
        "behind_merged",
        "late",
        "key_moved",
        "closed",
    ]


def test_columns_by_name() -> None:
    schema = (Column("a", "BIGINT"), Column("b", "VARCHAR"))
    assert column_named(schema, "b") == schema[1]
    with pytest.raises(KeyError):
        column_named(schema, "c")


def test_the_ledger_has_what_the_design_names() -> None:
    named = {"table", "split", "offset", "event_time", "watermark", "lateness", "operator"}
    assert named | {"reason", "record"} <= set(LEDGER_SCHEMA.names)
