from __future__ import annotations

import pytest

from tidegate.frontend.expressions.typecheck import (
    Interval,
    TypeChecker,
    TypeCheckError,
    converted,
    is_integer,
    is_numeric,
    struct_field,
)
from tidegate.plan.nodes import column_expr
from tidegate.plan.user_functions import UserFunction
from tidegate.types import Column

_CHECKER = TypeChecker()
_SCHEMA = (Column("a", "BIGINT"), Column("s", "STRUCT(x TIMESTAMP, y STRUCT(z INTEGER))"))


def test_types() -> None:
    assert _CHECKER.type_of('"a" + 1', _SCHEMA) == "BIGINT"
    assert _CHECKER.type_of("1", ()) == "INTEGER"
    assert _CHECKER.type_of(struct_field('"s"', "x"), _SCHEMA) == "TIMESTAMP"
    with pytest.raises(TypeCheckError, match="No function matches"):
        _CHECKER.type_of('"a" + "s"', _SCHEMA)


def test_fields() -> None:
    fields = _CHECKER.fields(_SCHEMA[1].type)
    assert fields == {"x": "TIMESTAMP", "y": "STRUCT(z INTEGER)"}
    assert _CHECKER.fields("BIGINT") == {}


def test_intervals() -> None:
    day = _CHECKER.interval("INTERVAL '1 day 2 seconds'")
    assert day == Interval(0, 1, 2_000_000)
    assert day.fixed_us == 86_402_000_000
    month = _CHECKER.interval("INTERVAL '1' MONTH")
    assert month is not None
    assert month.fixed_us is None
    assert _CHECKER.interval("NULL") is None


def test_integers() -> None:
    assert _CHECKER.integer("5 * 3") == 15
    assert _CHECKER.integer("1.5", scale=3) == 1500
    assert _CHECKER.integer("1.5") is None


def test_kinds_of_types() -> None:
    assert is_integer("BIGINT")
    assert is_numeric("DECIMAL(10,2)")
    assert not is_integer("DOUBLE")
    assert not is_numeric("VARCHAR")


def test_zones() -> None:
    assert _CHECKER.zone_is_fixed
    assert not TypeChecker("Europe/Berlin").zone_is_fixed


def test_a_function_is_known_where_it_is_declared_only() -> None:
    declaring, other = TypeChecker(), TypeChecker()
    declaring.declare(UserFunction("twice", ("BIGINT",), "BIGINT", "", "twice"))
    assert declaring.type_of('twice("a")', _SCHEMA) == "BIGINT"
    for checker in (other, TypeChecker()):
        with pytest.raises(TypeCheckError, match="twice does not exist"):
            checker.type_of('twice("a")', _SCHEMA)
    declaring.forget("twice")
    with pytest.raises(TypeCheckError, match="twice does not exist"):
        declaring.type_of('twice("a")', _SCHEMA)


def test_functions() -> None:
    assert "row_number" in _CHECKER.functions("window")
    assert "abs" in _CHECKER.functions("scalar")
    assert "string_agg" in _CHECKER.functions("aggregate")


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("INTEGER", "INTEGER", "INTEGER"),
        ("INTEGER", "BIGINT", "BIGINT"),
        ("DATE", "TIMESTAMP", "TIMESTAMP"),
        ("BOOLEAN", "TIMESTAMP", None),
    ],
)
def test_common_types(one: str, other: str, common: str | None) -> None:
    assert _CHECKER.common(one, other) == common
    assert _CHECKER.common(other, one) == common


def test_conversions_of_numbers_keep_the_order() -> None:
    value = column_expr(Column("a", "BIGINT"))
    assert converted(value, "BIGINT") is value
    number = converted(value, "DOUBLE")
    assert (number.sql, number.type, number.monotone_in) == ('CAST("a" AS DOUBLE)', "DOUBLE", "a")
    text = converted(value, "VARCHAR")
    assert (text.type, text.monotone_in) == ("VARCHAR", None)
    assert text.lost == "a cast to VARCHAR does not keep the order"
