"""Texts that fit, and DuckDB's casts that are too kind."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidegate.connectors.formats.json_shape import Kind
from tidegate.connectors.formats.text_rules import literal, text_fits
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


def test_literals() -> None:
    assert literal("it's") == "'it''s'"
