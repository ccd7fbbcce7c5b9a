"""Format `avro`: messages there and back, in pieces, with poison among them."""

from __future__ import annotations

import datetime
import tracemalloc
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from tidegate.connectors.formats import avro_format
from tidegate.connectors.formats.avro_format import PIECE_ROWS, check, decode, encode
from tidegate.engine.engine import Engine
from tidegate.errors import OptionsError
from tidegate.types import Column, Schema

ENGINE = Engine()
ORDERS: Schema = (
    Column("id", "BIGINT"),
    Column("customer", "VARCHAR"),
    Column("amount", "DECIMAL(10,2)"),
    Column("price", "DOUBLE"),
    Column("ok", "BOOLEAN"),
    Column("t", "TIMESTAMP"),
    Column("tags", "VARCHAR[]"),
    Column("more", "STRUCT(a INTEGER, m MAP(VARCHAR, DATE))"),
)
MILLIS = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 1, 1)).map(
    lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)
)
ROWS = st.fixed_dictionaries(
    {
        "id": st.none() | st.integers(-(2**63), 2**63 - 1),
        "customer": st.none() | st.text(st.characters(codec="utf-8"), max_size=30),
        "amount": st.none() | st.decimals(-(10**7), 10**7, places=2),
        "price": st.none() | st.floats(allow_nan=False),
        "ok": st.none() | st.booleans(),
        "t": st.none() | MILLIS,
        "tags": st.none() | st.lists(st.none() | st.text("ab", max_size=3), max_size=3),
        "more": st.none()
        | st.fixed_dictionaries(
            {
                "a": st.none() | st.integers(-9, 9),
                "m": st.none()
                | st.dictionaries(st.text("ab"), st.dates()).map(lambda d: [*d.items()]),
            }
        ),
    }
)


def table(rows: list[dict[str, Any]], schema: Schema = ORDERS) -> pa.Table:
    return pa.Table.from_pylist(rows, ENGINE.arrow_schema(schema))


@pytest.mark.slow
@examples(200)
@given(st.lists(ROWS, max_size=8))
def test_there_and_back(rows: list[dict[str, Any]]) -> None:
    data = table(rows)
    messages = encode(data, ORDERS, ENGINE)
    messages.validate(full=True)
    decoded = decode(messages, ORDERS, ENGINE)
    assert decoded.good.tolist() == [True] * len(rows)
    assert decoded.data.combine_chunks().equals(data.combine_chunks())


@pytest.mark.slow
@examples(200)
@given(st.lists(ROWS, min_size=1, max_size=8), st.data())
def test_poison_is_found_among_good_ones(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    messages = encode(table(rows), ORDERS, ENGINE).to_pylist()
    poison = st.sampled_from(
        [
            b"",
            b"\xff" * 20,
            messages[0][:-1],
            messages[0] + b"\x00",
            b"\x02" + b"\xff" * 9 + b"\x01",
            b"\x00\x02" + b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x00" * 6 + b"\x02" + b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ]
    )
    good = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    mixed = [m if keep else data.draw(poison) for m, keep in zip(messages, good, strict=True)]
    decoded = decode(pa.array(mixed, pa.binary()), ORDERS, ENGINE)
    assert decoded.good.tolist() == good
    kept = [row for row, keep in zip(rows, good, strict=True) if keep]
    assert decoded.data.combine_chunks().equals(table(kept).combine_chunks())


@pytest.mark.slow
@given(st.lists(st.binary(max_size=40), max_size=30))
@examples(200)
def test_random_bytes_are_no_error(messages: list[bytes]) -> None:
    decoded = decode(pa.array(messages, pa.binary()), ORDERS, ENGINE)
    assert decoded.data.num_rows == decoded.good.sum()
    assert decoded.data.schema == ENGINE.arrow_schema(ORDERS)


def test_a_huge_length_costs_no_memory() -> None:
    schema = (Column("s", "VARCHAR"), Column("l", "BIGINT[]"))
    huge = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    messages = [b"\x02" + huge, b"\x00\x02" + huge, b"\x02\x00\x02" + huge + b"\x01"] * 1000
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    decoded = decode(pa.array(messages, pa.binary()), schema, ENGINE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not decoded.good.any()
    assert decoded.data.num_rows == 0
    assert peak < 50 << 20
    assert pa.total_allocated_bytes() - before < 10 << 20


def test_many_pieces_are_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = (Column("id", "BIGINT"), Column("s", "VARCHAR"))
    count = 2 * PIECE_ROWS + 7
    data = ENGINE.query(f"SELECT i AS id, 'text number ' || i AS s FROM range({count}) r(i)")
    messages = encode(data, schema, ENGINE)
    decoded = decode(messages, schema, ENGINE)
    assert decoded.data.combine_chunks().equals(data.combine_chunks())
    monkeypatch.setattr(avro_format, "PIECE_BYTES", 100)
    part = decode(messages.slice(3, 50), schema, ENGINE)
    assert part.good.tolist() == [True] * 50
    assert part.data.combine_chunks().equals(data.slice(3, 50).combine_chunks())


def test_a_message_larger_than_a_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_format, "PIECE_BYTES", 10)
    rows = [{"s": text} for text in ("x" * 100, "", "y" * 7, "z" * 50)]
    schema = (Column("s", "VARCHAR"),)
    decoded = decode(encode(table(rows, schema), schema, ENGINE), schema, ENGINE)
    assert decoded.data.to_pylist() == rows


def test_no_messages() -> None:
    decoded = decode(pa.array([], pa.binary()), ORDERS, ENGINE)
    assert decoded.data.equals(ENGINE.empty(ORDERS))
    assert decoded.good.dtype == np.bool_
    assert len(encode(ENGINE.empty(ORDERS), ORDERS, ENGINE)) == 0


def test_times_are_cut_to_milliseconds() -> None:
    schema = (Column("t", "TIMESTAMP WITH TIME ZONE"), Column("c", "TIME"))
    utc = datetime.UTC
    rows: list[dict[str, Any]] = [
        {"t": datetime.datetime(2026, 1, 1, 1, 2, 3, 4567, utc), "c": datetime.time(1, 2, 3, 4567)},
        {"t": datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, utc), "c": None},
    ]
    decoded = decode(encode(table(rows, schema), schema, ENGINE), schema, ENGINE)
    assert decoded.data.to_pylist() == [
        {"t": datetime.datetime(2026, 1, 1, 1, 2, 3, 4000, utc), "c": datetime.time(1, 2, 3, 4000)},
        {"t": datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000, utc), "c": None},
    ]


def test_a_zone_of_the_session_moves_nothing() -> None:
    engine = Engine("Asia/Tokyo")
    schema = (Column("t", "TIMESTAMP"), Column("z", "TIMESTAMP WITH TIME ZONE"))
    data = engine.query("SELECT make_timestamp(5000000) AS t, make_timestamptz(5000000) AS z")
    decoded = decode(encode(data, schema, engine), schema, engine)
    assert decoded.data.schema == engine.arrow_schema(schema)
    assert decoded.data.combine_chunks().equals(data.combine_chunks())


def test_columns_are_found_by_name() -> None:
    schema = (Column("a", "BIGINT"), Column("b", "DECIMAL(5,1)"))
    data = pa.table({"b": pa.array([Decimal("1.5")], pa.decimal128(5, 1)), "x": [1], "a": [7]})
    assert decode(encode(data, schema, ENGINE), schema, ENGINE).data.to_pylist() == [
        {"a": 7, "b": Decimal("1.5")}
    ]


def test_what_has_no_form_in_avro_is_refused_before_a_row_comes() -> None:
    check(ORDERS)
    with pytest.raises(OptionsError, match="type INTERVAL is not supported in Avro"):
        check((Column("i", "INTERVAL"),))
