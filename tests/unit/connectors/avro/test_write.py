"""What is written is what fastavro reads, and what `read` reads back."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from tidegate.connectors.avro.derive import Unit, derived
from tidegate.connectors.avro.write import write
from tidegate.types import Column, Schema
from unit.connectors.avro.avro_kit import bare, same
from unit.connectors.avro.avro_rows import ENGINE, decode_all, values_of

LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-128, 127),
    "UINTEGER": st.integers(0, 2**32 - 1),
    "BIGINT": LONGS,
    "UBIGINT": st.integers(0, 2**64 - 1),
    "HUGEINT": st.integers(-(10**38) + 1, 10**38 - 1),
    "FLOAT": st.floats(width=32),
    "DOUBLE": st.floats(),
    "VARCHAR": TEXTS,
    "BLOB": st.binary(max_size=20),
    "DECIMAL(4,1)": st.decimals(-999, 999, places=1),
    "DECIMAL(28,10)": st.decimals(-(10**17), 10**17, places=10),
    "DATE": st.dates(),
    "TIME": st.times(),
    "TIMESTAMP": st.datetimes(),
    "BIGINT[]": st.lists(LONGS | st.none(), max_size=4),
    "STRUCT(a BIGINT, b VARCHAR)": st.fixed_dictionaries({"a": LONGS | st.none(), "b": TEXTS}),
    "MAP(VARCHAR, DOUBLE)": st.dictionaries(TEXTS, st.floats() | st.none(), max_size=3).map(
        lambda entries: list(entries.items())
    ),
    "STRUCT(l STRUCT(t TIMESTAMP)[])": st.fixed_dictionaries(
        {"l": st.lists(st.fixed_dictionaries({"t": st.datetimes()}) | st.none(), max_size=3)}
    ),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[Schema, pa.RecordBatch]:
    types = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    schema = tuple(Column(f"c{index}", type_) for index, type_ in enumerate(types))
    arrow = ENGINE.arrow_schema(schema)
    rows = draw(st.integers(0, 6))
    cells = (st.none() | VALUES[type_] for type_ in types)
    columns = [draw(st.lists(cell, min_size=rows, max_size=rows)) for cell in cells]
    arrays = [pa.array(c, field.type) for c, field in zip(columns, arrow, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=arrow)
    return schema, batch.slice(draw(st.integers(0, rows)))


@pytest.mark.slow
@examples(300)
@given(tables())
def test_what_is_written_is_read_back(table: tuple[Schema, pa.RecordBatch]) -> None:
    schema, batch = table
    datums = write(batch.columns, "us")
    datums.validate(full=True)
    writer = json.loads(derived(schema, "us"))
    found = decode_all(datums.to_pylist(), writer, schema)
    columns = [values_of(pa.concat_arrays([column])) for column in batch.columns]
    names = [column.name for column in schema]
    assert same(found, [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)])


@pytest.mark.slow
@examples(150)
@given(tables(), st.sampled_from(["ms", "us"]))
def test_fastavro_reads_what_is_written(table: tuple[Schema, pa.RecordBatch], unit: Unit) -> None:
    schema, batch = table
    datums = write(batch.columns, unit)
    writer = fastavro.parse_schema(bare(json.loads(derived(schema, unit))))
    for datum in datums.to_pylist():
        stream = io.BytesIO(datum)
        value = fastavro.schemaless_reader(stream, writer, None)
        assert stream.read() == b""
        again = io.BytesIO()
        fastavro.schemaless_writer(again, writer, value)
        assert again.getvalue() == datum


def test_milliseconds_cut_off_what_is_finer() -> None:
    values = pa.array([1_999, -1, 0], pa.int64()).view(pa.timestamp("us"))
    assert write([values], "ms").to_pylist() == [b"\x02\x02", b"\x02\x01", b"\x02\x00"]


@pytest.mark.parametrize(
    ("value", "type_", "datum"),
    [
        (None, pa.int64(), b"\x00"),
        (1, pa.int64(), b"\x02\x02"),
        ("ab", pa.string(), b"\x02\x04ab"),
        ([], pa.list_(pa.int64()), b"\x02\x00"),
        ([1, None], pa.list_(pa.int64()), b"\x02\x04\x02\x02\x00\x00"),
        ([("k", True)], pa.map_(pa.string(), pa.bool_()), b"\x02\x02\x02k\x02\x01\x00"),
        (True, pa.bool_(), b"\x02\x01"),
        (-1, pa.decimal128(10, 0), b"\x02\x02\xff"),
        (128, pa.decimal128(10, 0), b"\x02\x04\x00\x80"),
    ],
)
def test_bytes_by_the_book(value: Any, type_: pa.DataType, datum: bytes) -> None:
    assert write([pa.array([value], type_)], "us").to_pylist() == [datum]
