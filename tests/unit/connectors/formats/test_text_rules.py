"""Texts that fit, and DuckDB's casts that are too kind."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tidegate.connectors.formats.json_shape import Kind
from tidegate.connectors.formats.text_rules import literal, stored_cast, stored_fits, text_fits
from unit.connectors.files_kit import ENGINE


@pytest.mark.parametrize(
    ("kind", "type_", "good", "bad"),
    [
        (Kind.INTEGER, "BIGINT", ["12", " 12 ", "-7", "0x1F"], ["1.5", "1e3", "x", ""]),
        (Kind.DECIMAL, "DECIMAL(10,2)", ["1.005", "1e3"], ["x", "1e9", "nan"]),
        (Kind.DOUBLE, "DOUBLE", ["1.5", "NaN", "-Infinity"], ["1e400", "x", "+-1", "+-inf"]),
        (Kind.TEXT, "VARCHAR", ["", "x"], []),
    ],
)
def test_rules(kind: Kind, type_: str, good: list[str], bad: list[str]) -> None:
    fits = text_fits(kind, f"TRY_CAST(x AS {type_})", "x")
    result = ENGINE.query(f"SELECT {fits} AS ok FROM input", {"input": pa.table({"x": good + bad})})
    assert result.column("ok").to_pylist() == [True] * len(good) + [False] * len(bad)


FLOATS = [0.1, 1.005, 2.675, 1e15, 1e16, 1.5e22, -1e-05, 4.9e-3, 0.00005, 1e400, float("nan"), None]


@pytest.mark.parametrize(
    ("type_", "wanted"),
    [
        ("DECIMAL(10,2)", ["0.10", "1.01", "2.68", *[None] * 3, *["0.00"] * 3, *[None] * 3]),
        ("DECIMAL(38,4)", ["0.1000", "1.0050", "2.6750", f"{10**15}.0000", f"{10**16}.0000",
                           f"{15 * 10**21}.0000", "0.0000", "0.0049", "0.0001", *[None] * 3]),
        ("DECIMAL(4,4)", ["0.1000", *[None] * 5, "0.0000", "0.0049", "0.0001", *[None] * 3]),
    ],
)  # fmt: skip
def test_a_fraction_is_the_decimal_that_it_is_written_as(type_: str, wanted: list[Any]) -> None:
    stored = pa.table({"s": pa.array(FLOATS, pa.float64())})
    value = stored_cast(type_, "s", pa.float64())
    found = ENGINE.query(f"SELECT {value} AS v FROM stored", {"stored": stored}).column("v")
    assert found.to_pylist() == [None if each is None else Decimal(each) for each in wanted]


def test_a_long_decimal_is_the_nearest_fraction() -> None:
    numbers = [Decimal(each) for each in ("36893488147419103233", "-99999999999999999999999")]
    stored = pa.table({"s": pa.array(numbers, pa.decimal128(38, 0))})
    for type_, kind in (("DOUBLE", float), ("FLOAT", lambda each: float(np.float32(str(each))))):
        value = stored_cast(type_, "s", pa.decimal128(38, 0))
        found = ENGINE.query(f"SELECT {value} AS v FROM stored", {"stored": stored}).column("v")
        assert found.to_pylist() == [kind(each) for each in numbers]


@pytest.mark.parametrize(
    ("kind", "given", "fits"),
    [
        (Kind.BOOLEAN, pa.bool_(), True),
        *((Kind.BOOLEAN, given, False) for given in (pa.int8(), pa.uint64(), pa.float32())),
        (Kind.BOOLEAN, pa.decimal128(3, 1), False),
        (Kind.INTEGER, pa.bool_(), False),
    ],
)
def test_numbers_are_no_booleans(kind: Kind, given: pa.DataType, fits: bool) -> None:
    assert (stored_fits(kind, "v", "s", given) != "false") is fits


def test_literals() -> None:
    assert literal("it's") == "'it''s'"
