"""What is written, and that decode reads it back."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from kits.plain import plain
from tidegate.connectors.formats.json_encode import encode
from tidegate.connectors.formats.json_format import decode
from tidegate.types import Column
from unit.connectors.files_kit import ENGINE


@pytest.mark.parametrize(
    ("type_", "sql", "text"),
    [
        ("BIGINT", "-9223372036854775808", "-9223372036854775808"),
        ("DECIMAL(28,10)", "'123456789012345678.5'", "123456789012345678.5000000000"),
        ("DECIMAL(10,2)", "'0.10'", "0.10"),
        ("DOUBLE", "1e20", "1e+20"),
        ("DOUBLE", "'nan'", '"NaN"'),
        ("DOUBLE", "'inf'", '"Infinity"'),
        ("DOUBLE", "'-inf'", '"-Infinity"'),
        ("DOUBLE", "NULL", "null"),
        ("BOOLEAN", "true", "true"),
        ("VARCHAR", "'a\"b\\' || chr(10) || chr(1) || 'é'", '"a\\"b\\\\\\n\\u0001é"'),
        ("TIMESTAMP", "'2024-01-01 10:00:00'", '"2024-01-01 10:00:00"'),
        ("TIMESTAMP", "'2024-01-01 10:00:00.5'", '"2024-01-01 10:00:00.500000"'),
        ("TIMESTAMP", "'1969-12-31 23:59:59.000001'", '"1969-12-31 23:59:59.000001"'),
        ("TIMESTAMP", "'9999-12-31 23:59:59.999999'", '"9999-12-31 23:59:59.999999"'),
        ("TIMESTAMP WITH TIME ZONE", "'2024-01-01 10:00:00+02'", '"2024-01-01 08:00:00"'),
        ("DATE", "'2024-01-31'", '"2024-01-31"'),
        ("TIME", "'10:00:00'", '"10:00:00"'),
        ("STRUCT(a BIGINT, b VARCHAR)", "{'a': 1, 'b': NULL}", '{"a":1,"b":null}'),
        ("BIGINT[]", "[1, NULL, 3]", "[1,null,3]"),
        ("BIGINT[]", "[]", "[]"),
        ("STRUCT(a BIGINT)", "NULL", "null"),
        ("BIGINT[]", "NULL", "null"),
        ("DATE[][]", "[['2024-05-01'], NULL, []]", '[["2024-05-01"],null,[]]'),
        ("DECIMAL(4,4)", "0.5", "0.5000"),
        ("DECIMAL(4,4)[]", "[0, -0.25]", "[0.0000,-0.2500]"),
        ("TIMESTAMP", "'0044-03-15 (BC) 10:00:00.5'", '"0044-03-15 (BC) 10:00:00.5"'),
        ("TIMESTAMP", "'0044-03-15 (BC) 10:00:00'", '"0044-03-15 (BC) 10:00:00"'),
        ("TIMESTAMP WITH TIME ZONE", "'0001-12-31 (BC) 23:00:00.5+00'",
         '"0001-12-31 (BC) 23:00:00.5"'),
        ("DATE", "'0044-03-15 (BC)'", '"0044-03-15 (BC)"'),
        ("BLOB", "'\\xC3\\x28a'", '"wyhh"'),
        ("BLOB", "''", '""'),
        ("STRUCT(b BLOB)[]", "[{'b': 'a'::BLOB}]", '[{"b":"YQ=="}]'),
        ("MAP(VARCHAR, BIGINT)", "MAP {'k\"': 1, '': NULL}", '{"k\\"":1,"":null}'),
        ("MAP(VARCHAR, BIGINT)", "MAP {}", "{}"),
        ("MAP(VARCHAR, BIGINT)", "NULL", "null"),
        ("MAP(BIGINT, MAP(BOOLEAN, DATE))", "MAP {7: MAP {true: '2024-05-01'}}",
         '{"7":{"true":"2024-05-01"}}'),
        ("MAP(DOUBLE, BLOB)", "MAP {'inf'::DOUBLE: 'a'::BLOB, 1.5: NULL}",
         '{"Infinity":"YQ==","1.5":null}'),
        ("MAP(TIMESTAMP, TIME)", "MAP {'2024-05-01 10:00:00.5': '10:00:00'}",
         '{"2024-05-01 10:00:00.500000":"10:00:00"}'),
        ("MAP(BLOB, BIGINT)", "MAP {'a'::BLOB: 1}", '{"YQ==":1}'),
        ("MAP(VARCHAR[], BIGINT)", "MAP {['a\"']: 1}", '{"[\\"a\\\\\\"\\"]":1}'),
        ("TIMESTAMP", "NULL", "null"),
        ("VARCHAR", "NULL", "null"),
    ],
)  # fmt: skip
def test_values(type_: str, sql: str, text: str) -> None:
    schema = (Column("x", type_),)
    data = ENGINE.query(f"SELECT CAST({sql} AS {type_}) AS x")
    assert encode(data, schema, ENGINE).decode() == f'{{"x":{text}}}\n'
    line = pa.array([f'{{"x":{text}}}'])
    numbers = [plain(each) for each in (decode(line, schema, ENGINE).data, data)]
    assert numbers[0] == numbers[1]


def test_odd_names_and_no_rows() -> None:
    schema = (Column("q\"'é", "BIGINT"), Column("b", "VARCHAR"))
    data = pa.table({"q\"'é": [1], "b": ["x"]})
    assert json.loads(encode(data, schema, ENGINE)) == {"q\"'é": 1, "b": "x"}
    assert encode(data.slice(0, 0), schema, ENGINE) == b""


@pytest.mark.slow
@examples(50)
@given(st.lists(st.tuples(st.none() | st.integers(-(2**63), 2**63 - 1), st.none() | st.text())))
def test_what_is_written_reads_back(rows: list[tuple[int | None, str | None]]) -> None:
    schema = (Column("a", "BIGINT"), Column("b", "VARCHAR"))
    data = pa.table(
        {
            "a": pa.array([a for a, _ in rows], pa.int64()),
            "b": pa.array([b for _, b in rows], pa.string()),
        }
    )
    text = encode(data, schema, ENGINE).decode()
    lines = pa.array(text.split("\n")[:-1], pa.string())
    assert len(lines) == len(rows)
    assert decode(lines, schema, ENGINE).data.to_pylist() == data.to_pylist()
