"""One value a message: bytes there and back, and what is refused."""

from __future__ import annotations

import math
import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from tidegate.connectors.formats.raw_format import check, decode, encode
from tidegate.engine.engine import Engine
from tidegate.errors import OptionsError
from tidegate.types import Column

ENGINE = Engine()
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "VARCHAR": st.text(st.characters(codec="utf-8")),
    "BLOB": st.binary(),
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-(2**7), 2**7 - 1),
    "SMALLINT": st.integers(-(2**15), 2**15 - 1),
    "INTEGER": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "FLOAT": st.floats(width=32, allow_nan=False),
    "DOUBLE": st.floats(allow_nan=False),
}


def decoded(values: list[bytes], type_: str) -> list[Any]:
    """The value of each message; Ellipsis where it is malformed."""
    schema = (Column("c", type_),)
    found = decode(pa.array(values, pa.binary()), schema, ENGINE)
    assert found.data.schema == ENGINE.arrow_schema(schema)
    found.data.validate(full=True)
    rows = iter(found.data.column(0).to_pylist())
    result = [next(rows) if good else ... for good in found.good.tolist()]
    assert next(rows, "end") == "end"
    return result


def encoded(values: list[Any], type_: str) -> list[bytes | None]:
    schema = (Column("c", type_),)
    table = pa.table({"c": pa.array(values, ENGINE.arrow_schema(schema).field(0).type)})
    messages = encode(table, schema, ENGINE)
    assert messages.type == pa.binary()
    messages.validate(full=True)
    return list(messages.to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("type_", VALUES)
@examples(60)
@given(data=st.data())
def test_there_and_back(type_: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | VALUES[type_], max_size=8))
    messages = encoded(values, type_)
    assert [message is None for message in messages] == [value is None for value in values]
    there = [message for message in messages if message is not None]
    assert decoded(there, type_) == [value for value in values if value is not None]


@pytest.mark.parametrize(
    ("type_", "value", "message"),
    [
        ("VARCHAR", "aé", b"a\xc3\xa9"),
        ("VARCHAR", "", b""),
        ("BLOB", b"\xff\x00", b"\xff\x00"),
        ("BOOLEAN", True, b"\x01"),
        ("BOOLEAN", False, b"\x00"),
        ("TINYINT", -1, b"\xff"),
        ("SMALLINT", 258, b"\x01\x02"),
        ("INTEGER", -2, b"\xff\xff\xff\xfe"),
        ("BIGINT", 1, bytes(7) + b"\x01"),
        ("FLOAT", 1.5, struct.pack(">f", 1.5)),
        ("DOUBLE", -2.5, struct.pack(">d", -2.5)),
    ],
)
def test_bytes_as_flink_has_them(type_: str, value: Any, message: bytes) -> None:
    assert encoded([value], type_) == [message]
    assert decoded([message], type_) == [value]


def test_any_byte_but_zero_is_true() -> None:
    assert decoded([b"\x02", b"\xff", b"\x00"], "BOOLEAN") == [True, True, False]


def test_nan_stays_nan() -> None:
    assert math.isnan(decoded([struct.pack(">d", math.nan)], "DOUBLE")[0])


def test_other_lengths_are_malformed() -> None:
    messages = [b"", b"\x01", b"\x01" * 4, b"\x01" * 5, b"\x01" * 8]
    assert decoded(messages, "INTEGER") == [..., ..., 0x01010101, ..., ...]
    assert decoded(messages, "BOOLEAN") == [..., True, ..., ..., ...]
    assert decoded([b"x"], "DOUBLE") == [...]


def test_text_that_is_no_utf8_is_malformed() -> None:
    assert decoded([b"a", b"\xff", b"\xc3", b"\xc3\xa9"], "VARCHAR") == ["a", ..., ..., "é"]


@pytest.mark.parametrize("type_", VALUES)
def test_no_messages(type_: str) -> None:
    assert decoded([], type_) == []
    assert encoded([], type_) == []


def test_a_part_of_an_array() -> None:
    values = pa.array([b"\x01", b"\x02", b"\x03"], pa.binary()).slice(1)
    schema = (Column("c", "TINYINT"),)
    assert decode(values, schema, ENGINE).data.column(0).to_pylist() == [2, 3]
    table = pa.table({"c": pa.array([1, 2, 3], pa.int8())}).slice(1)
    assert encode(table, schema, ENGINE).to_pylist() == [b"\x02", b"\x03"]


def test_more_columns_than_one_are_refused() -> None:
    with pytest.raises(OptionsError, match=r"one column, not for 2 \(a, b\)"):
        check((Column("a", "VARCHAR"), Column("b", "BIGINT")))
    with pytest.raises(OptionsError, match=r"one column, not for 0\n"):
        check(())


@pytest.mark.parametrize("type_", ["DECIMAL(10,2)", "TIMESTAMP", "BIGINT[]", "STRUCT(a BIGINT)"])
def test_a_type_without_a_form_is_refused(type_: str) -> None:
    with pytest.raises(OptionsError, match="which format 'raw' does not support"):
        check((Column("a", type_),))
