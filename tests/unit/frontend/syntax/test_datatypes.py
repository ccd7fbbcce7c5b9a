from __future__ import annotations

import pytest

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.datatypes import parse_type, shown_type
from tidegate.frontend.syntax.dialect import cursor_over


def _type(text: str) -> str:
    source = Source("f.sql", text)
    cursor = cursor_over(source.whole)
    type_ = parse_type(cursor)
    assert cursor.at_end
    return type_


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("STRING", "VARCHAR"),
        ("varchar(20)", "VARCHAR"),
        ("CHARACTER VARYING", "VARCHAR"),
        ("INT", "INTEGER"),
        ("bigint", "BIGINT"),
        ("DOUBLE PRECISION", "DOUBLE"),
        ("FLOAT", "DOUBLE"),
        ("DECIMAL", "DECIMAL(28,10)"),
        ("DECIMAL(10)", "DECIMAL(10,0)"),
        ("NUMERIC(10, 2)", "DECIMAL(10,2)"),
        ("TIMESTAMP", "TIMESTAMP"),
        ("TIMESTAMP(3)", "TIMESTAMP"),
        ("TIMESTAMP(3) WITHOUT TIME ZONE", "TIMESTAMP"),
        ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE"),
        ("TIMESTAMP_LTZ(3)", "TIMESTAMP WITH TIME ZONE"),
        ("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"),
        ("TIME(3)", "TIME"),
        ("DATE", "DATE"),
        ("BOOLEAN", "BOOLEAN"),
        ("ROW<a INT, `type` STRING>", 'STRUCT("a" INTEGER, "type" VARCHAR)'),
        ("STRUCT<a ROW<b TIMESTAMP(3)>>", 'STRUCT("a" STRUCT("b" TIMESTAMP))'),
        ("ROW(a INT NOT NULL)", 'STRUCT("a" INTEGER)'),
        ("ARRAY<INT>", "INTEGER[]"),
        ("INT[]", "INTEGER[]"),
        ("MAP<STRING, INT>", "MAP(VARCHAR, INTEGER)"),
        ("MAP<STRING, BYTES>", "MAP(VARCHAR, BLOB)"),
        ("MAP(VARCHAR, BLOB)", "MAP(VARCHAR, BLOB)"),
        ("bytea", "BLOB"),
        ("VARBINARY(16)", "BLOB"),
    ],
)
def test_types(text: str, type_: str) -> None:
    assert _type(text) == type_


@pytest.mark.parametrize(
    "text", ["", "5", "'INT'", "ROW<>", "ARRAY<", "DECIMAL(1,2)", "DECIMAL(0)"]
)
def test_no_types(text: str) -> None:
    with pytest.raises(SqlSyntaxError):
        _type(text)


@pytest.mark.parametrize(
    ("type_", "shown"),
    [
        ("VARCHAR", "STRING"),
        ("DECIMAL(4,2)", "DECIMAL(4,2)"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIMESTAMP WITH TIME ZONE[]", "TIMESTAMP_LTZ(6)[]"),
        ("MAP(VARCHAR, BLOB)", "MAP(STRING, BYTES)"),
        ('STRUCT("INTEGER" INTEGER, at TIMESTAMP)', 'STRUCT("INTEGER" INT, at TIMESTAMP(6))'),
    ],
)
def test_types_as_users_write_them(type_: str, shown: str) -> None:
    assert shown_type(type_) == shown
    assert shown_type("TIMESTAMP", 3) == "TIMESTAMP(3)"
