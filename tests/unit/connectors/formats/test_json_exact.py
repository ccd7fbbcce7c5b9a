"""The exact path alone: integers of more than 64 bits, names that need care, doubled names."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from tidegate.connectors.formats.json_exact import decode_exact
from tidegate.connectors.formats.json_format import decode
from tidegate.connectors.formats.json_shape import shape_of
from tidegate.types import Column, Schema
from unit.connectors.files_kit import ENGINE


def rows_of(lines: list[str], schema: Schema) -> list[Any]:
    strings = pa.array(lines, pa.string())
    table, good = decode_exact(strings, schema, shape_of(schema), ENGINE)
    fast = decode(strings, schema, ENGINE)
    assert (fast.data.to_pylist(), fast.good.tolist()) == (table.to_pylist(), good.tolist())
    rows = iter(table.to_pylist())
    return [next(rows) if ok else None for ok in good]


def test_huge_integers() -> None:
    schema = (Column("n", "STRUCT(h HUGEINT)"),)
    lines = ['{"n":{"h":18446744073709551616}}', '{"n":{"h":1e20}}', '{"n":{"h":1.5}}']
    rows = rows_of(lines, schema)
    assert [row and int(row["n"]["h"]) for row in rows] == [18446744073709551616, None, None]


@pytest.mark.parametrize("name", ["a/b", "a~b", "a'b", 'a"b', "a.b", "a b", "0", "é", "$", "*"])
def test_names_that_need_care(name: str) -> None:
    schema = (Column(name, "BIGINT"), Column("z", "VARCHAR"))
    lines = [json.dumps({name: 1, "z": "x"}), json.dumps({name: 1.5}), json.dumps({name: 2})]
    assert rows_of(lines, schema) == [{name: 1, "z": "x"}, None, {name: 2, "z": None}]


def test_declared_names_may_occur_once_others_often() -> None:
    schema = (Column("n", "STRUCT(a BIGINT)"),)
    lines = [
        '{"n":{"a":1,"x":1,"x":2},"y":1,"y":2}',
        '{"n":{"a":1,"a":1}}',
        '{"n":{"a":1},"n":null}',
        '{"n":{"a":1,"\\u0061":1}}',
    ]
    assert rows_of(lines, schema) == [{"n": {"a": 1}}, None, None, None]


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("DATE", '"2024-01-01"', '"infinity"'),
        ("TIME", '"10:00:00"', '"epoch"'),
        ("TIMESTAMP WITH TIME ZONE", '"2024-01-01 10:00:00+02"', '"epoch"'),
        ("UUID", '"6f1e3c9a-3f0a-4b7e-9a55-0f6f6f6f6f6f"', "1"),
        ("BLOB", '"eA=="', '"x"'),
        ("FLOAT", "1.5", "1e39"),
        ("TINYINT", "127", "128"),
        ("BOOLEAN[]", "[true]", "1"),
        ("STRUCT(a BIGINT)[]", '[{"a":1}]', '[{"a":"x"}]'),
    ],
)
def test_other_types(type_: str, good: str, bad: str) -> None:
    rows = rows_of([f'{{"x":{good}}}', f'{{"x":{bad}}}', '{"x":null}'], (Column("x", type_),))
    assert rows[0] is not None
    assert rows[0]["x"] is not None
    assert rows[1:] == [None, {"x": None}]
