"""Decode against a reference in plain Python, one line at a time and several."""

from __future__ import annotations

import json
import math
import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from tidegate.connectors.formats.json_exact import decode_exact
from tidegate.connectors.formats.json_format import PIECE_ROWS, decode
from tidegate.connectors.formats.json_shape import shape_of
from tidegate.engine.engine import Engine
from tidegate.types import Column, Schema
from unit.connectors.json_kit import ENGINE, rows_of

FLAT: Schema = (
    Column("a", "BIGINT"),
    Column("b", "VARCHAR"),
    Column("c", "DECIMAL(10,2)"),
    Column("d", "DOUBLE"),
    Column("e", "BOOLEAN"),
    Column("t", "TIMESTAMP"),
)
NO_DECIMAL: Schema = (Column("a", "INTEGER"), Column("b", "VARCHAR"))
NESTED: Schema = (
    Column("n", "STRUCT(a BIGINT, b STRUCT(c DECIMAL(10,2)))"),
    Column("b", "VARCHAR"),
)
SCHEMAS = {"flat": FLAT, "no decimal": NO_DECIMAL, "nested": NESTED}


class Malformed(Exception):  # noqa: N818 -- a verdict, not an error
    pass


class Number(str):
    """The text of a JSON number."""

    __slots__ = ()


def refuse(token: str) -> Any:
    raise Malformed(token)


def pairs(items: list[tuple[str, Any]]) -> Any:
    return tuple(items)


def reference(line: str, schema: Schema) -> dict[str, Any] | None:
    """The row of a line by the rules in json_format's docstring; None: malformed."""
    try:
        document = json.loads(
            line,
            parse_int=Number,
            parse_float=Number,
            parse_constant=refuse,
            object_pairs_hook=pairs,
        )
        if re.search(r"\\u[dD][89a-fA-F]", line):
            re.sub(r'"(\\.|[^"\\])*"', check_surrogates, line)
        if not isinstance(document, tuple):
            return None
        row: dict[str, Any] = fields(document, [(c.name, c.type) for c in schema])
        return row
    except (Malformed, ValueError):
        return None


def check_surrogates(match: re.Match[str]) -> str:
    try:
        json.loads(match[0]).encode()
    except UnicodeEncodeError:
        raise Malformed(match[0]) from None
    return '""'


def fields(document: tuple[tuple[str, Any], ...], declared: list[tuple[str, str]]) -> Any:
    row: dict[str, Any] = {}
    for name, type_ in declared:
        values = [value for key, value in document if key == name]
        if len(values) > 1:
            raise Malformed(name)
        row[name] = fit(values[0], type_) if values and values[0] is not None else None
    return row


def fit(value: Any, type_: str) -> Any:  # noqa: PLR0912 -- one branch per rule
    if type_.startswith("STRUCT"):
        if not isinstance(value, tuple):
            raise Malformed(value)
        inner = {
            NESTED[0].type: [("a", "BIGINT"), ("b", "STRUCT(c DECIMAL(10,2))")],
            "STRUCT(c DECIMAL(10,2))": [("c", "DECIMAL(10,2)")],
        }
        return fields(value, inner[type_])
    if type_ == "BOOLEAN":
        if not isinstance(value, bool):
            raise Malformed(value)
        return value
    if type_ == "VARCHAR":
        return value if isinstance(value, str) else compact(value)
    if not isinstance(value, str):
        raise Malformed(value)
    if type_ == "TIMESTAMP":
        if isinstance(value, Number) or "epoch" in value.lower():
            raise Malformed(value)
        return duck(value, type_)
    if type_ in ("BIGINT", "INTEGER"):
        pattern = r"-?[0-9]+" if isinstance(value, Number) else r"[^.eE]*|\s*0[xXbB].*"
        if not re.fullmatch(pattern, value):
            raise Malformed(value)
        return duck(value, type_)
    if type_ == "DOUBLE":
        number = duck(value, type_)
        special = re.fullmatch(r"\s*[+-]?(nan|inf|infinity)\s*", value, re.IGNORECASE)
        if not math.isfinite(number) and (isinstance(value, Number) or not special):
            raise Malformed(value)
        return number
    if isinstance(value, Number):
        return decimal(value)
    return duck(value, type_)


def compact(value: Any) -> str:
    """The text of a value: what its line says, without blanks."""
    if isinstance(value, tuple):
        return "{" + ",".join(f"{compact(key)}:{compact(part)}" for key, part in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    return value if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)


def decimal(text: str) -> Decimal:
    try:
        value = Decimal(text).quantize(Decimal("0.01"), ROUND_HALF_UP)
    except InvalidOperation:
        raise Malformed(text) from None
    if abs(value) >= 10**8:
        raise Malformed(text)
    return value


@cache
def duck(text: str, type_: str) -> Any:
    """What DuckDB's cast makes of a text."""
    table = pa.table({"x": pa.array([str(text)])})
    sql = f"SELECT TRY_CAST(x AS {type_}) AS v, TRY_CAST(x AS {type_}) IS NOT NULL"
    if type_ == "TIMESTAMP":
        sql += " AND isfinite(TRY_CAST(x AS TIMESTAMP))"
    result = ENGINE.query(f"{sql} AS ok FROM input", {"input": table})
    if not result.column("ok")[0].as_py():
        raise Malformed(text)
    if type_ == "TIMESTAMP":
        return result.column("v")[0].cast(pa.int64()).as_py()
    return result.column("v")[0].as_py()


def same(left: Any, right: Any) -> bool:
    return repr(left) == repr(right) or left == right


INTEGERS = ["0", "-0", "1", "-7", "12345678901", "9223372036854775807", "9223372036854775808"]
INTEGERS += ["-9223372036854775808", "99999999999999999999", "1" * 60]
NUMBERS = [
    *INTEGERS,
    "1.0",
    "1.5",
    "-0.0",
    "1e3",
    "1E-2",
    "1.005",
    "99999999.995",
    "1e400",
    "1e-400",
]
STRINGS = ["", "x", "12", " 12 ", "+12", "0x1F", "1_0", "1.5", "1e3", "-", "nan", "Infinity"]
STRINGS += ["-inf", "true", "{", "[1]", "2024-01-01 10:00:00", "2024-02-30", "2024-01-01T10:00:00Z"]
STRINGS += ["infinity", "epoch", "9999-12-31 23:59:59.999999", "1970-01-01 00:00:00", "nan, inf"]
STRINGS += [
    "a,]",
    ", NaN",
    "é",
    "\U0001f600",
    "a\\b",
    'q"q',
    "\t",
    "a\u0000b",
    "2024-01-01 10:00:00.5",
]
LITERALS = [
    "true",
    "false",
    "null",
    "NaN",
    "-Infinity",
    "inf",
    "tru",
    "{}",
    "[]",
    "[1,]",
    '{"c":1}',
]
LITERALS += ['{"a":1}', '{"a":1,"a":2}', '{"a":true}', '{"b":{"c":1.25}}', '{"b":{"c":"x"}}', "01"]
LITERALS += ['"\\ud800"', '"\\ud83d\\ude00"', '"\\q"', '{"a":1,}', "[[1]]", "+1", ".5", "1."]

values = st.one_of(
    st.sampled_from(NUMBERS),
    st.sampled_from(STRINGS).map(json.dumps),
    st.sampled_from(STRINGS).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.sampled_from(LITERALS),
    st.integers(-(10**12), 10**12).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9)).map(str),
    st.text(st.characters(codec="utf-8"), max_size=6).map(json.dumps),
)
names = st.sampled_from(["a", "b", "c", "d", "e", "t", "n", "z", "\\u0061", "A", ""])
good_values = {
    "a": st.integers(-100, 100).map(str),
    "b": st.sampled_from(['"x"', '"y z"', "1", "null"]),
    "c": st.sampled_from(["1", "1.25", '"3.5"']),
    "d": st.sampled_from(["1.5", "2"]),
    "e": st.sampled_from(["true", "false"]),
    "t": st.just('"2024-01-01 10:00:00"'),
    "n": st.sampled_from(['{"a":1,"b":{"c":1.5}}', '{"a":2,"b":null}', "null"]),
}


@st.composite
def plain_lines(draw: st.DrawFn, schema: Schema) -> str:
    return "{" + ",".join(f'"{c.name}":{draw(good_values[c.name])}' for c in schema) + "}"


@st.composite
def near_lines(draw: st.DrawFn, schema: Schema) -> str:
    """A plain line with one field of any value, so that only that one decides."""
    odd = draw(st.sampled_from([c.name for c in schema]))
    parts = [f'"{c.name}":{draw(values if c.name == odd else good_values[c.name])}' for c in schema]
    return "{" + ",".join(parts) + "}"


@st.composite
def odd_lines(draw: st.DrawFn) -> str:
    space = st.sampled_from(["", "", "", " ", "\t"])
    count = draw(st.integers(0, 5))
    body = ""
    for index in range(count):
        comma = "," if index else ""
        body += f'{comma}{draw(space)}"{draw(names)}"{draw(space)}:'
        body += f"{draw(space)}{draw(values)}{draw(space)}"
    tail = draw(st.sampled_from(["}", "}", "}", "}", ",}", "", "} ", "}}", "} x"]))
    return draw(space) + "{" + body + tail


def any_lines(schema: Schema) -> st.SearchStrategy[str]:
    return st.one_of(
        plain_lines(schema), near_lines(schema), near_lines(schema), odd_lines(), values
    ).filter(lambda line: bool(line.strip()) and "\n" not in line)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
@examples(150)
@given(data=st.data())
def test_decode_agrees_with_the_reference(name: str, data: st.DataObject) -> None:
    schema = SCHEMAS[name]
    line = data.draw(any_lines(schema))
    expected = reference(line, schema)
    assert same(rows_of([line], schema)[0], expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
@examples(60)
@given(data=st.data())
def test_a_chunk_agrees_with_the_reference(name: str, data: st.DataObject) -> None:
    """So it decodes as its lines, which do too."""
    schema = SCHEMAS[name]
    lines = data.draw(st.lists(any_lines(schema), min_size=1, max_size=8))
    assert same(rows_of(lines, schema), [reference(line, schema) for line in lines])


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
@examples(60)
@given(data=st.data())
def test_the_exact_path_takes_what_the_fast_path_takes(name: str, data: st.DataObject) -> None:
    schema = SCHEMAS[name]
    lines = pa.array(data.draw(st.lists(any_lines(schema), min_size=1, max_size=3)), pa.string())
    table, good = decode_exact(lines, schema, shape_of(schema), ENGINE)
    decoded = decode(lines, schema, ENGINE)
    assert decoded.data.equals(table) or same(decoded.data.to_pylist(), table.to_pylist())
    assert decoded.good.tolist() == good.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("text", [*NUMBERS, *map(json.dumps, STRINGS), *LITERALS])
@pytest.mark.parametrize("column", FLAT, ids=lambda column: column.type)
def test_every_value_in_every_column(column: Column, text: str) -> None:
    for schema in ((column,), (column, Column("p", "DECIMAL(10,2)"))):
        line = f'{{"{column.name}":{text},"p":1.5}}'
        assert same(rows_of([line], schema)[0], reference(line, schema))


@pytest.mark.slow
def test_one_bad_line_among_many_costs_only_itself() -> None:
    lines = [f'{{"a":{index},"b":"x"}}' for index in range(3 * PIECE_ROWS)]
    lines[PIECE_ROWS + 5] = '{"a":1.5,"b":"x"}'
    lines[PIECE_ROWS + 7] = '{"a":7}'
    rows = rows_of(lines, NO_DECIMAL)
    assert rows[PIECE_ROWS + 5] is None
    assert rows[PIECE_ROWS + 7] == {"a": 7, "b": None}
    assert sum(row is None for row in rows) == 1
    assert rows[-1] == {"a": 3 * PIECE_ROWS - 1, "b": "x"}


def test_decimals_do_not_pass_through_a_double() -> None:
    schema = (Column("c", "DECIMAL(38,10)"),)
    lines = ['{"c":12345678901234567890.0123456789}', '{"c":"9007199254740993.1"}']
    assert [row and str(row["c"]) for row in rows_of(lines, schema)] == [
        "12345678901234567890.0123456789",
        "9007199254740993.1000000000",
    ]


def test_no_lines() -> None:
    assert rows_of([], FLAT) == []


@pytest.mark.slow
@pytest.mark.parametrize("plain", [True, False], ids=["fast", "exact"])
@pytest.mark.parametrize(
    ("zone", "hour"), [("UTC", "10"), ("Europe/Berlin", "08"), ("America/New_York", "14")]
)
def test_a_text_without_an_offset_is_in_the_session_time_zone(
    zone: str, hour: str, plain: bool
) -> None:
    schema = tuple(
        Column(name, type_)
        for name, type_ in [
            ("z", "TIMESTAMP WITH TIME ZONE"),
            ("t", "TIMESTAMP"),
            ("q", 'STRUCT("a b" TIMESTAMP WITH TIME ZONE, n BIGINT)'),
            ("l", "TIMESTAMP WITH TIME ZONE[]"),
        ]
    )
    good = (
        '{"z":"2024-07-01 10:00:00","t":"2024-07-01 10:00:00Z",'
        '"q":{"a b":"2024-07-01T10:00:00","n":1},'
        '"l":["2024-07-01 10:00:00","2024-07-01T10:00:00Z"]}'
    )
    lines = [good] if plain else [good, '{"z":"x"}', '{"z":5}', '{"z":"infinity"}', "{}"]
    engine = Engine(zone)
    decoded = decode(pa.array(lines), schema, engine)
    assert decoded.good.tolist() == ([True] if plain else [True, False, False, False, True])
    hour_of = "epoch_ms({}) // 3600000 % 24".format
    a = hour_of('q."a b"')
    sql = f"SELECT {hour_of('z')} AS z, {hour_of('t')} AS t, {a} AS a, q.n,"
    sql += f" [{hour_of('e')} for e in l] AS l FROM rows LIMIT 1"
    first = engine.query(sql, {"rows": decoded.data}).to_pylist()[0]
    wanted = int(hour)
    assert first == {"z": wanted, "t": 10, "a": wanted, "n": 1, "l": [wanted, 10]}
