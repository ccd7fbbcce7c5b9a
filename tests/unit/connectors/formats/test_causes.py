"""The field, the value and the type of records that do not decode."""

from __future__ import annotations

import json

import pytest

from tidegate.connectors.formats.causes import causes_of, kind_of
from tidegate.connectors.options import validate_options
from tidegate.plan.tables import ChangingTable, Table
from tidegate.types import Column
from unit.connectors.files_kit import ENGINE

COLUMNS = (
    Column("id", "INTEGER"),
    Column("t", "TIMESTAMP"),
    Column("n", "STRUCT(a DECIMAL(10,2), b STRUCT(c BOOLEAN))"),
    Column("l", "BIGINT[]"),
)


def cause(record: bytes, form: str = "json", **options: str) -> str:
    raw = {"path": "/tmp", "format": form} | {k.replace("_", "."): v for k, v in options.items()}
    columns = COLUMNS if form == "json" else COLUMNS[:2]
    table = Table("t", columns, "filesystem", form, validate_options("filesystem", "source", raw))
    (found,) = causes_of([record], table, ENGINE)
    return found


def test_a_column_that_says_what_happens() -> None:
    raw = {"path": "/tmp", "format": "json", "scan.changes.op": "op"}
    columns = (Column("id", "INTEGER"), Column("op", "VARCHAR"))
    options = validate_options("filesystem", "source", raw)
    table = ChangingTable("t", columns, "filesystem", "json", options, key=("id",))
    found = causes_of([b'{"id":1,"op":"x"}', b'{"id":"a","op":"c"}'], table, ENGINE)
    assert [text.split(" (")[0] for text in found] == [
        "column 'op' says nothing known",
        "field 'id': \"a\" does not fit INTEGER",
    ]


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        ('{"id":2.0}', "field 'id': 2.0 does not fit INTEGER"),
        ('{"id":1,"t":"x"}', "field 't': \"x\" does not fit TIMESTAMP"),
        ('{"id":99999999999}', "field 'id': 99999999999 does not fit INTEGER"),
        ('{"n":{"a":"1,5"}}', "field 'n.a': \"1,5\" does not fit DECIMAL(10,2)"),
        ('{"n":{"a":1,"b":{"c":1}}}', "field 'n.b.c': 1 does not fit BOOLEAN"),
        ('{"n":5}', "field 'n': 5 does not fit STRUCT(a DECIMAL(10,2), b STRUCT(c BOOLEAN))"),
        ('{"l":[1,true]}', "field 'l': [1,true] does not fit BIGINT[]"),
        ('{"id":1,"id":2}', "field 'id' occurs 2 times"),
        ("[1]", "it is not a JSON object: [1]"),
        ("nonsense", "it is not JSON: Expecting value"),
        ('{"id":NaN}', "it is not JSON: NaN is no number of JSON"),
        ('{"id":"' + "x" * 500 + '"}', "field 'id': \"" + "x" * 59 + "… does not fit INTEGER"),
        ("[" * 100_000, ""),
    ],
)
def test_json(record: str, wanted: str) -> None:
    assert cause(record.encode()).startswith(wanted)


ALIKE = [
    ([b'{"id":2.0}', b'{"id":"x does not fit y"}'], "field 'id' does not fit INTEGER"),
    ([b'{"n":{"a":"1,5"}}', b'{"n":{"a":"\\n"}}'], "field 'n.a' does not fit DECIMAL(10,2)"),
    ([b'{"id":1,"id":2}', b'{"id":1,"id":2,"id":3}'], "field 'id' occurs more than once"),
    ([b"[1]", b'["\\n"]', b"2"], "it is not a JSON object"),
    ([b"nonsense", b'{"id":NaN}', b'{"id":'], "it is not JSON"),
    ([b'{"id":"caf\xe9"}', b"\xff"], "a byte is not UTF-8"),
]


@pytest.mark.parametrize(("records", "wanted"), ALIKE)
def test_what_causes_have_in_common(records: list[bytes], wanted: str) -> None:
    assert {kind_of(cause(record)) for record in records} == {wanted}


def test_a_number_for_a_time_has_a_hint() -> None:
    assert "declare BIGINT, and compute TO_TIMESTAMP_LTZ(t, 3)" in cause(b'{"t":1714521602000}')


@pytest.mark.parametrize("inside", ['"a\\udc00"', '{"b":["\\ud800x"]}'])
def test_half_of_a_character_in_a_field_that_nobody_declared(inside: str) -> None:
    half = "\\udc00" if "dc00" in inside else "\\ud800"
    assert cause(b'{"id":1,"other":%s}' % inside.encode()) == f"{half} is half of a character"


def test_a_value_that_is_deeper_than_calls_may_go() -> None:
    deep = "[" * 900 + "]" * 900
    told = cause(f'{{"id":{deep}}}'.encode())
    assert told.startswith("field 'id': [[[[")
    assert told.endswith("… does not fit INTEGER")


def test_bytes() -> None:
    assert cause(b'{"id":"caf\xe9"}') == "byte 10 is not UTF-8"


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        ("1", "it has 1 field(s), the table has 2 column(s)"),
        ("1,2024-05-01 PM", "field 't': \"2024-05-01 PM\" does not fit TIMESTAMP"),
        ('"a ""b""",', 'field \'id\': "a \\"b\\"" does not fit INTEGER'),
        ('1,"2024-05-01', "a quote is out of place"),
    ],
)
def test_csv(record: str, wanted: str) -> None:
    assert cause(record.encode(), "csv") == wanted


def parquet_cause(record: str, *columns: Column) -> str:
    options = validate_options("filesystem", "source", {"path": "/tmp", "format": "parquet"})
    table = Table("t", columns, "filesystem", "parquet", options)
    (found,) = causes_of([record.encode()], table, ENGINE)
    return found


def test_parquet() -> None:
    """Texts fit as fields of csv do, what else there is as in json."""
    columns = (Column("b", "BOOLEAN"), Column("l", "BIGINT[]"), Column("x", "BLOB"))
    number = '{"b":2,"l":"[1]","x":"YQ=="}'
    assert parquet_cause(number, *columns) == "field 'b': 2 does not fit BOOLEAN"
    nested = '{"b":"t","l":"[1.5]","x":"YQ=="}'
    assert parquet_cause(nested, *columns) == "field 'l': \"[1.5]\" does not fit BIGINT[]"
    assert parquet_cause('{"b":"yes","l":[1],"x":7}', *columns) == "field 'x': 7 does not fit BLOB"
    wide = Column("d", "DECIMAL(10,2)")
    assert parquet_cause('{"d":"NaN"}', wide) == "field 'd': \"NaN\" does not fit DECIMAL(10,2)"


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("BIGINT[]", "[x]"),
        ("STRUCT(a INTEGER)", '{"a":"x"}'),
        ("MAP(INTEGER, BIGINT)", '{"1.0":1}'),
        ("BLOB", "\\x41"),
    ],
)
def test_nested_fields_of_csv(type_: str, value: str) -> None:
    pairs = validate_options("filesystem", "source", {"path": "/tmp", "format": "csv"})
    table = Table("t", (Column("n", "BIGINT"), Column("v", type_)), "filesystem", "csv", pairs)
    record = '1,"' + value.replace('"', '""') + '"'
    (found,) = causes_of([record.encode()], table, ENGINE)
    assert found == f"field 'v': {json.dumps(value)} does not fit {type_}"


def test_with_a_header_a_line_alone_does_not_tell() -> None:
    assert cause(b"x,y", "csv", csv_header="true") == ""


@pytest.mark.parametrize(
    ("record", "head", "wanted"),
    [
        ("x,1", "other,id", ""),
        ("x,y", "other,id", "field 'id': \"y\" does not fit INTEGER"),
        ("x", "other,id", "it has 1 field(s), the header has 2 column(s)"),
        ("x,y", "a,b", "the header of its file has none of the columns, or one twice"),
    ],
)
def test_csv_below_a_header(record: str, head: str, wanted: str) -> None:
    raw = {"path": "/tmp", "format": "csv", "csv.header": "true"}
    table = Table("t", COLUMNS, "filesystem", "csv", validate_options("filesystem", "source", raw))
    (found,) = causes_of([record.encode()], table, ENGINE, {0: head.encode()})
    assert found == wanted or (not wanted and found == "a quote is out of place")


def test_many_at_once() -> None:
    table = Table("t", COLUMNS, "filesystem", "json", validate_options(
        "filesystem", "source", {"path": "/tmp", "format": "json"}))  # fmt: skip
    records = [b'{"id":"x"}', b"\xff", b'{"t":1}', b'{"id":1.5,"t":1}']
    found = causes_of(records, table, ENGINE)
    assert [each.split(":")[0] for each in found] == [
        "field 'id'", "byte 0 is not UTF-8", "field 't'", "field 'id'",
    ]  # fmt: skip
