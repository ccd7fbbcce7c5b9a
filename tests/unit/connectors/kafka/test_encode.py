from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from kits.executor import ENGINE
from tidegate.connectors.kafka.encode import Encoder, Messages
from tidegate.connectors.kafka.options import KafkaSinkOptions
from tidegate.connectors.option_types import parsed
from tidegate.types import OP, Op
from unit.connectors.kafka.kafka_kit import table

COLUMNS = (("id", "BIGINT"), ("k_name", "VARCHAR"))
ROWS = pa.table({"id": [1, 2], "k_name": ["a", None]})


def encode(data: pa.Table, *columns: tuple[str, str], **options: Any) -> Messages:
    sink = table(*columns, role="sink", **options)
    found = parsed(KafkaSinkOptions, sink.options)
    return Encoder(sink, found, ENGINE).encode(data)


def test_values_and_keys() -> None:
    plain = encode(ROWS, *COLUMNS)
    assert [json.loads(value or b"") for value in plain.values] == ROWS.to_pylist()
    assert (plain.keys, plain.times_ms, plain.headers) == (None, None, None)
    assert plain.size == sum(len(value or b"") for value in plain.values)
    keyed = encode(ROWS, *COLUMNS, key_fields="id")
    assert keyed.keys == [b'{"id":1}', b'{"id":2}']
    assert keyed.values == plain.values


def test_a_key_of_its_own_format_without_its_prefix_and_not_in_the_value() -> None:
    found = encode(
        *(ROWS, *COLUMNS),
        key_fields="k_name",
        key_fields__prefix="k_",
        key_format="json",
        value_fields__include="EXCEPT_KEY",
    )
    assert found.keys == [b'{"name":"a"}', b'{"name":null}']
    assert found.values == [b'{"id":1}', b'{"id":2}']


def test_metadata_is_written_as_it_is() -> None:
    data = pa.table(
        {
            "id": [1],
            "at": pa.array([1_500_000], pa.timestamp("us", tz="UTC")),
            "h": pa.array([[("a", b"b")]], pa.map_(pa.string(), pa.binary())),
        }
    )
    metadata = (("at", "timestamp"), ("h", "headers"))
    columns = (("id", "BIGINT"), ("at", "TIMESTAMP WITH TIME ZONE"), ("h", "MAP(VARCHAR, BLOB)"))
    found = encode(data, *columns, metadata=metadata)
    assert found.values == [b'{"id":1}']
    assert found.times_ms == [1_500]
    assert found.headers == [[("a", b"b")]]


def test_an_upsert_topic_gets_what_a_key_has_now() -> None:
    data = pa.table(
        {
            "id": [1, 2, 2, 3],
            "k_name": ["a", "b", "c", "d"],
            OP: pa.array([Op.INSERT, Op.UPDATE_BEFORE, Op.UPDATE_AFTER, Op.DELETE], pa.int8()),
        }
    )
    found = encode(data, *COLUMNS, key_fields="id", type="upsert")
    assert found.keys == [b'{"id":1}', b'{"id":2}', b'{"id":3}']
    assert found.values == [b'{"id":1,"k_name":"a"}', b'{"id":2,"k_name":"c"}', None]
    assert found.size == 2 * len(b'{"id":1,"k_name":"a"}')
