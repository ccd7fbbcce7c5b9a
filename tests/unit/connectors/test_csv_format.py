"""CSV lines: quotes, NULL, field counts, values that do not fit; and back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.connectors.csv_format import decode, encode, header
from tidegate.connectors.options import CsvOptions
from tidegate.types import Column
from unit.connectors.files_kit import ENGINE

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


def test_other_characters() -> None:
    assert rows_of(["1|'a|b'|2", "1|it|2"], ODD) == [("1", "a|b", "2.00"), ("1", "it", "2.00")]


@settings(max_examples=60, deadline=None)
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


def test_header() -> None:
    assert header((Column("a", "BIGINT"), Column("b,c", "DATE")), DEFAULT) == b'a,"b,c"\n'
