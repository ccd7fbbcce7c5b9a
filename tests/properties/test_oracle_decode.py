"""Decoding by hand: each type's accepted and refused spellings, lines, offsets."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from oracle import (
    Column,
    Table,
)
from oracle.decode import NESTING_MAX, BadRow, Row, ended_lines, read_split, value_at

MALFORMED = object()

VALUES: list[tuple[str, str, Any]] = [
    ("BIGINT", "-9223372036854775808", -(2**63)),
    ("BIGINT", "9223372036854775808", MALFORMED),
    ("BIGINT", '"42"', 42),
    ("BIGINT", "-0", 0),
    ("BIGINT", "1.0", MALFORMED),
    ("BIGINT", "1.5", MALFORMED),
    ("BIGINT", "1e3", MALFORMED),
    ("BIGINT", '"1.5"', MALFORMED),
    ("BIGINT", '""', MALFORMED),
    ("BIGINT", "true", MALFORMED),
    ("BIGINT", "null", None),
    ("BIGINT", "9" * 5000, MALFORMED),
    ("INT", "2147483647", 2**31 - 1),
    ("INT", "2147483648", MALFORMED),
    ("DECIMAL(10,2)", "1.005", Decimal("1.01")),
    ("DECIMAL(10,2)", "-1.005", Decimal("-1.01")),
    ("DECIMAL(10,2)", '"2.5"', Decimal("2.5")),
    ("DECIMAL(10,2)", "1e3", Decimal(1000)),
    ("DECIMAL(10,2)", "99999999.994", Decimal("99999999.99")),
    ("DECIMAL(10,2)", "99999999.995", MALFORMED),
    ("DECIMAL(10,2)", "1e99999999999999999999", MALFORMED),
    ("DECIMAL(38,2)", "9" * 36 + ".99", Decimal("9" * 36 + ".99")),
    ("DECIMAL(10,2)", '"many"', MALFORMED),
    ("DOUBLE", "0.1", 0.1),
    ("DOUBLE", '"-2e-3"', -0.002),
    ("DOUBLE", "1e400", MALFORMED),
    ("DOUBLE", "NaN", MALFORMED),
    ("DOUBLE", '"Infinity"', MALFORMED),
    ("BOOLEAN", "true", True),
    ("BOOLEAN", '"true"', MALFORMED),
    ("BOOLEAN", "1", MALFORMED),
    ("VARCHAR", '"\\u00e9"', "é"),
    ("VARCHAR", "17", "17"),
    ("VARCHAR", "false", "false"),
    ("VARCHAR", "[ ]", "[]"),
    ("VARCHAR", '{"a": [1.50, null, "\\u00e9"]}', '{"a":[1.50,null,"é"]}'),
    ("VARCHAR", '"\\ud800"', MALFORMED),
    ("TIMESTAMP", '"1970-01-01 00:00:00"', 0),
    ("TIMESTAMP", '"1969-12-31T23:59:59.5"', -500_000),
    ("TIMESTAMP", '"1970-01-01 02:00:00+01:30"', 7_200_000_000),
    ("TIMESTAMP", '"1970-01-01 02:00:00+99:30"', MALFORMED),
    ("TIMESTAMPTZ", '"1970-01-01 02:00:00+01:30"', 1_800_000_000),
    ("TIMESTAMPTZ", '"1970-01-01T00:00:00Z"', 0),
    ("TIMESTAMP", '"9999-12-31 23:59:59.999999"', 253_402_300_799_999_999),
    ("TIMESTAMP", '"2024-02-30 00:00:00"', MALFORMED),
    ("TIMESTAMP", '"2024-01-01 00:00:60"', MALFORMED),
    ("TIMESTAMP", '"2024-01-01"', MALFORMED),
    ("TIMESTAMP", "1700000000", MALFORMED),
]


@pytest.mark.parametrize(("type_", "text", "value"), VALUES)
def test_decode_of_a_value(type_: str, text: str, value: Any) -> None:
    table = Table("t", (Column("x", type_),))
    (row,) = read_split(table, "s", [b'{"x": ' + text.encode() + b"}"])
    if value is MALFORMED:
        assert isinstance(row, BadRow)
    else:
        assert isinstance(row, Row)
        assert row.values == {"x": value}


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"3",
        b"null",
        b'{"x": 1} {"x": 2}',
        b'{"x": 1, "x": 1}',
        b'{"other": {"a": 1, "a": 1}}',
        b'{"other": NaN}',
        b'{"other": -Infinity}',
        b'{"x": "\xff"}',
        b"{'x': 1}",
        b'{"other": ' + b"[" * (NESTING_MAX + 1) + b"]" * (NESTING_MAX + 1) + b"}",
    ],
)
def test_malformed_lines(line: bytes) -> None:
    (row,) = read_split(Table("t", (Column("x", "VARCHAR"),)), "s", [line])
    assert row == BadRow("s", 0, line)


def test_a_watched_split_ends_with_its_last_newline() -> None:
    assert ended_lines([]) == []
    assert ended_lines([b"a", b"b\nc"]) == [b"a", b"b\n"]
    assert ended_lines([b"a\n", b"b"]) == [b"a\n", b""]
    assert ended_lines([b"a", b"b\r\n"]) == [b"a", b"b\r\n"]


def test_lines_offsets_and_fields() -> None:
    table = Table(
        "t",
        (Column("x", "INT"), Column("e", "STRUCT", (Column("y", "INT"), Column("z", "INT")))),
    )
    files = [b'\xef\xbb\xbf{"x": 1}\r\n\n \t\r\nbad\n{"more": [1]}', b"", b'{"e": {"y": 2}}\n']
    first, bad, missing, nested = read_split(table, "s", files)
    assert first == Row("s", 0, {"x": 1, "e": None})
    assert bad == BadRow("s", 1, b"bad")
    assert missing == Row("s", 2, {"x": None, "e": None})
    assert nested == Row("s", 3, {"x": None, "e": {"y": 2, "z": None}})
    assert isinstance(first, Row)
    assert isinstance(nested, Row)
    assert value_at(first.values, "e.y") is None
    assert value_at(nested.values, "e.y") == 2
