"""CSV lines: quotes, NULL, field counts, values that do not fit; and back."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from tidegate.connectors.formats.csv_format import decode, encode, header
from tidegate.connectors.option_types import CsvOptions, parsed
from tidegate.types import Column
from unit.connectors.files_kit import ENGINE, Run, source, write

SCHEMA = (Column("a", "BIGINT"), Column("b", "VARCHAR"), Column("c", "DECIMAL(10,2)"))
DEFAULT = CsvOptions.model_validate({})
ODD = CsvOptions.model_validate({"csv.field-delimiter": "|", "csv.quote-character": "'"})


def rows_of(lines: list[str], options: CsvOptions = DEFAULT) -> list[Any]:
    decoded = decode(pa.array(lines, pa.string()), SCHEMA, options, ENGINE)
    rows = iter(decoded.data.to_pylist())
    return [tuple(map(str, next(rows).values())) if good else None for good in decoded.good]


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("1,x,2.5", ("1", "x", "2.50")),
        (",,", ("None", "None", "None")),
        ('1,"x,y",2', ("1", "x,y", "2.00")),
        ('1,"say ""hi""",2', ("1", 'say "hi"', "2.00")),
        ('"1","","2"', ("1", "", "2.00")),
        ('1,"é,",2', ("1", "é,", "2.00")),
        ("1,x", None),
        ("1,x,2,3", None),
        ("x,x,2", None),
        ("1.5,x,2", None),
        ('1,"x,2', None),
        ('1,x"y,2', None),
        ('1,"x"y,2', None),
        ("1,x,99999999999", None),
    ],
)
def test_lines(line: str, row: Any) -> None:
    assert rows_of([line]) == [row]
    assert rows_of([line, '1,"q",2']) == [row, ("1", "q", "2.00")]


NESTED = (
    Column("l", "BIGINT[]"),
    Column("m", "MAP(VARCHAR, DATE)"),
    Column("s", "STRUCT(a DOUBLE)"),
)


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        (["[1,null]", '{"k":"2024-05-01"}', '{"a":1.5}'],
         {"l": [1, None], "m": [("k", date(2024, 5, 1))], "s": {"a": 1.5}}),
        (["[]", "{}", "{}"], {"l": [], "m": [], "s": {"a": None}}),
        ([None, None, None], {"l": None, "m": None, "s": None}),
        (["[x]", "{}", "{}"], None),
        (["[1.5]", "{}", "{}"], None),
        (["null", "{}", "{}"], None),
        (["", "{}", "{}"], None),
        (["[1]", "{k=2024-05-01}", "{}"], None),
        (["[1]", '{"k":"2024-05-01 PM"}', "{}"], None),
        (["[1]", "{}", "{a=x}"], None),
        (["[1]", "{}", '{"a":"x"}'], None),
        (["[1]", "{}", '{"a":1},"w":{}'], None),
    ],
)  # fmt: skip
def test_lists_maps_and_rows_are_json(fields: list[str | None], wanted: Any) -> None:
    line = "|".join("" if text is None else f"'{text}'" for text in fields)
    good = pa.array([line, "'[7]'||", "x"])
    decoded = decode(good, NESTED, ODD, ENGINE)
    others = [{"l": [7], "m": None, "s": None}]
    assert decoded.data.to_pylist() == [wanted] * (wanted is not None) + others
    assert decoded.good.tolist() == [wanted is not None, True, False]
    assert decode(good[:0], NESTED, ODD, ENGINE).data.to_pylist() == []


def test_what_is_nested_is_written_as_json() -> None:
    data = pa.table({
        "l": pa.array([[1, None], None], pa.list_(pa.int64())),
        "m": pa.array([[("a|'", 19844)], []], pa.map_(pa.string(), pa.int32())).cast(
            pa.map_(pa.string(), pa.date32())
        ),
        "s": [{"a": float("nan")}, None],
    })  # fmt: skip
    text = encode(data, NESTED, ODD, ENGINE).decode()
    assert text == """[1,null]|'{"a|''":"2024-05-01"}'|{"a":"NaN"}\n|{}|\n"""


def test_bytes_are_base64() -> None:
    schema = (Column("a", "BIGINT"), Column("b", "BLOB"))
    data = pa.table({"a": [1, 2, 3], "b": [b"\\x41\xff", b"", None]})
    text = encode(data, schema, DEFAULT, ENGINE).decode()
    assert text == '1,XHg0Mf8=\n2,""\n3,\n'
    decoded = decode(pa.array([*text.split("\n")[:-1], "4,\\x41"]), schema, DEFAULT, ENGINE)
    assert decoded.data.to_pylist() == data.to_pylist()
    assert decoded.good.tolist() == [True, True, True, False]


def test_other_characters() -> None:
    assert rows_of(["1|'a|b'|2", "1|it|2"], ODD) == [("1", "a|b", "2.00"), ("1", "it", "2.00")]


@pytest.mark.slow
@examples(60)
@given(
    st.lists(
        st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\n")), min_size=1
    ),
    st.sampled_from([DEFAULT, ODD]),
)
def test_what_is_written_reads_back(values: list[str | None], options: CsvOptions) -> None:
    schema = (Column("a", "BIGINT"), Column("b", "VARCHAR"))
    data = pa.table(
        {"a": pa.array(range(len(values)), pa.int64()), "b": pa.array(values, pa.string())}
    )
    text = encode(data, schema, options, ENGINE).decode()
    lines = pa.array(text.split("\n")[:-1], pa.string())
    assert decode(lines, schema, options, ENGINE).data.to_pylist() == data.to_pylist()


TEXTS = st.none() | st.sampled_from(
    ["", " ", "\t", "\ufeff", "\ufeffx", "a,b", '"', "NULL", "\r", "x\r", "\r\t", "'", "\x00", "x"]
)


@pytest.mark.slow
@examples(80)
@given(
    rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5),
    columns=st.sampled_from([1, 2]),
    delimiter=st.sampled_from([",", "\t", " "]),
    null=st.sampled_from(["", "NULL"]),
    head=st.sampled_from(["true", "false"]),
)
def test_files_that_are_written_read_back(
    rows: list[tuple[str | None, ...]], columns: int, delimiter: str, null: str, head: str
) -> None:
    schema = tuple(Column(f"c{number}", "VARCHAR") for number in range(columns))
    wanted = [dict(zip(("c0", "c1"), row[:columns], strict=False)) for row in rows]
    if columns == 1 and not null:  # a line that is empty is no row
        wanted = [row for row in wanted if row["c0"] is not None]
    data = pa.Table.from_pylist(wanted, pa.schema([(c.name, pa.string()) for c in schema]))
    names = {"csv_field__delimiter": delimiter, "csv_null__literal": null, "csv_header": head}
    with TemporaryDirectory() as directory:
        table = source(directory, schema, format="csv", **names)
        options = parsed(CsvOptions, table.options)
        text = encode(data, schema, options, ENGINE)
        path = write(Path(directory) / "a" / "1.csv", text, end="")
        if head == "true":
            path.write_bytes(header(schema, options) + text)
        run = Run(table).to_end()
    assert [row for _, row in run.rows.get("a", [])] == wanted
    assert run.malformed.get("a", []) == []


def test_a_newline_in_a_text_is_written_and_does_not_read_back() -> None:
    data = pa.table({"a": ["x\ny"]})
    text = encode(data, (Column("a", "VARCHAR"),), DEFAULT, ENGINE)
    assert text == b'"x\ny"\n'
    decoded = decode(pa.array(['"x', 'y"']), (Column("a", "VARCHAR"),), DEFAULT, ENGINE)
    assert decoded.good.tolist() == [False, False]


def test_header() -> None:
    assert header((Column("a", "BIGINT"), Column("b,c", "DATE")), DEFAULT) == b'a,"b,c"\n'
