from __future__ import annotations

import pytest

from tidegate.plan.aggregate_types import is_wide, result_type


@pytest.mark.parametrize(
    ("function", "argument", "distinct", "result"),
    [
        ("count", None, False, "BIGINT"),
        ("count", "VARCHAR", True, "BIGINT"),
        ("sum", "INTEGER", False, "DECIMAL(38,0)"),
        ("sum", "UBIGINT", False, "DECIMAL(38,0)"),
        ("sum", "DECIMAL(28,10)", False, "DECIMAL(38,10)"),
        ("sum", "FLOAT", False, "DOUBLE"),
        ("avg", "DECIMAL(28,10)", False, "DOUBLE"),
        ("min", "VARCHAR", False, "VARCHAR"),
        ("last_value", "TIMESTAMP", False, "TIMESTAMP"),
        ("bool_or", "BOOLEAN", False, "BOOLEAN"),
        ("bit_xor", "UBIGINT", False, "UBIGINT"),
        ("median", "DECIMAL(9,2)", False, "DOUBLE"),
        ("stddev_samp", "INTEGER", False, "DOUBLE"),
        ("mode", "TIMESTAMP", False, "TIMESTAMP"),
        ("array_agg", "DATE", True, "DATE[]"),
        ("string_agg", "VARCHAR", False, "VARCHAR"),
        ("max_by", "VARCHAR", False, "VARCHAR"),
    ],
)
def test_result_types(function: str, argument: str | None, distinct: bool, result: str) -> None:
    assert result_type(function, argument, distinct) == result


@pytest.mark.parametrize(
    ("function", "argument", "distinct"),
    [
        ("histogram", "BIGINT", False),
        ("median", "VARCHAR", False),
        ("mode", "BIGINT", True),
        ("bit_or", "DOUBLE", False),
        ("bit_or", "HUGEINT", False),
        ("sum", "VARCHAR", False),
        ("avg", "TIMESTAMP", False),
        ("bool_and", "BIGINT", False),
        ("first_value", "BIGINT", True),
        ("sum", None, False),
    ],
)
def test_what_the_catalogue_has_not(function: str, argument: str | None, distinct: bool) -> None:
    with pytest.raises(ValueError, match=r"."):
        result_type(function, argument, distinct)


@pytest.mark.parametrize(
    ("type_", "wide"),
    [("DECIMAL(28,2)", False), ("DECIMAL(29,2)", True), ("BIGINT", False), ("HUGEINT", True)],
)
def test_sums_that_may_leave_38_digits(type_: str, wide: bool) -> None:
    assert is_wide(type_) is wide
