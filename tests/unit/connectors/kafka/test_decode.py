"""Messages to columns, from batches made by hand."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME

from tidegate.connectors.formats import schema_registry
from tidegate.connectors.kafka.batch import UNREADABLE, Batch, Wanted
from tidegate.connectors.kafka.decode import Decoder, Part
from tidegate.connectors.kafka.options import KafkaSourceOptions
from tidegate.connectors.option_types import parsed
from tidegate.engine.engine import Engine
from tidegate.errors import RunError
from tidegate.plan.tables import Table
from tidegate.types import BROKER_TIME, OFFSET, RECORD
from unit.connectors.kafka.kafka_kit import NOWHERE, table

ENGINE = Engine()
CREATED, STAMPED = TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME
A = ("a", "BIGINT")
BOM = b"\xef\xbb\xbf"
Value = bytes | None


def options_of(source: Table) -> KafkaSourceOptions:
    return parsed(KafkaSourceOptions, source.options)


def decoder(source: Table) -> Decoder:
    return Decoder(source, options_of(source), ENGINE)


def batch(
    values: list[Value],
    keys: list[Value] | None = None,
    times: list[tuple[int, int]] | None = None,
    headers: list[Any] | None = None,
    epochs: list[int | None] | None = None,
) -> Batch:
    return Batch(
        np.arange(5, 5 + len(values)),
        pa.array(values, pa.binary()),
        sum(len(value or b"") for value in values),
        None if keys is None else pa.array(keys, pa.binary()),
        None if times is None else np.array(times, np.int64),
        headers,
        epochs,
    )


def decoded(source: Table, messages: Batch) -> tuple[list[tuple[Any, ...]], list[int]]:
    """Rows (the table's columns) and the offsets of malformed messages; nothing is in between."""
    (chunk,) = decoder(source).chunks([Part("t", 3, messages)])
    assert chunk.next_offset == messages.offsets[-1] + 1
    assert chunk.data.column_names[: len(source.columns)] == [c.name for c in source.columns]
    good = chunk.data[OFFSET].to_pylist()
    bad = chunk.malformed["offset"].to_pylist()
    assert sorted(good + bad) == messages.offsets.tolist()
    records = dict(zip(messages.offsets.tolist(), messages.values.to_pylist(), strict=True))
    assert chunk.data[RECORD].to_pylist() == [records[offset] for offset in good]
    assert chunk.malformed["record"].to_pylist() == [records[offset] for offset in bad]
    data = chunk.data.select([column.name for column in source.columns])
    return [tuple(row.values()) for row in data.to_pylist()], bad


def test_json() -> None:
    values = [b'{"a": 1}', None, b"", BOM + b'{"a": 2}', BOM, b"\xff", b"[]", b'{"b": 1}']
    assert decoded(table(A), batch(values)) == ([(1,), (2,), (None,)], [6, 7, 9, 10, 11])


@pytest.mark.parametrize("value", [None, b"", b" ", b"x", b"\xff", BOM])
@pytest.mark.parametrize("count", [1, 3])
def test_nothing_but_bad_ones(value: Value, count: int) -> None:
    for form in ("json", "csv", "avro"):
        rows, bad = decoded(table(A, format=form), batch([value] * count))
        assert (rows, len(bad)) == ([], count)


def test_csv_lines_may_have_their_ends() -> None:
    source = table(A, ("b", "VARCHAR"), format="csv")
    values: list[Value] = [b"1,x", b"2,x\n", b"3,x\r\n", b"4,x\r", b'5,"x\r\n"\n', b"\r\n", b"6,x,"]
    rows = [(1, "x"), (2, "x"), (3, "x"), (4, "x"), (5, "x\r\n")]
    assert decoded(source, batch(values)) == (rows, [10, 11])


def test_raw_reads_null_and_nothing_as_they_were_written() -> None:
    values = [b"x", None, b"", b"\xff", None, b"y"]
    assert decoded(table(("v", "VARCHAR"), format="raw"), batch(values)) == (
        [("x",), (None,), ("",), (None,), ("y",)],
        [8],
    )
    numbers = [None, struct.pack(">i", 5), b"1", None]
    assert decoded(table(("v", "INTEGER"), format="raw"), batch(numbers)) == (
        [(None,), (5,), (None,)],
        [7],
    )
    assert decoded(table(("v", "INTEGER"), format="raw"), batch([None])) == ([(None,)], [])


def test_a_raw_key_may_be_null() -> None:
    source = table(
        A,
        ("k", "VARCHAR"),
        key_format="raw",
        key_fields="k",
        value_fields__include="EXCEPT_KEY",
    )
    keys = [None, b"k", b"\xff", b"", None]
    values: list[Value] = [b'{"a": 0}', b'{"a": 1}', b'{"a": 2}', b'{"a": 3}', b"bad"]
    assert decoded(source, batch(values, keys)) == ([(0, None), (1, "k"), (3, "")], [7, 9])


def test_a_key_and_a_value_must_both_be_good() -> None:
    source = table(
        ("k_x", "BIGINT"),
        A,
        key_format="json",
        key_fields="k_x",
        key_fields__prefix="k_",
        value_fields__include="EXCEPT_KEY",
    )
    keys = [b'{"x": 1}', b'{"x": 2}', b"", b'{"x": null}', b'{"x": "?"}', None]
    values: list[Value] = [b'{"a": 1}', b"", b'{"a": 3}', b'{"a": 4}', b'{"a": 5}', None]
    assert decoded(source, batch(values, keys)) == ([(1, 1), (None, 4)], [6, 7, 9, 10])


def test_a_column_of_both_is_the_values() -> None:
    source = table(A, key_format="json", key_fields="a")
    assert decoder(source).wanted == Wanted()
    assert decoded(source, batch([b'{"a": 7}'])) == ([(7,)], [])


def test_metadata() -> None:
    names = ("topic", "partition", "offset", "timestamp-type", "headers", "key", "leader-epoch")
    types = ("VARCHAR", "INTEGER", "BIGINT", "VARCHAR", "MAP(VARCHAR, BLOB)", "BLOB", "INTEGER")
    columns = [(f"c{number}", type_) for number, type_ in enumerate(types)]
    metadata = tuple((name, key) for (name, _), key in zip(columns, names, strict=True))
    source = table(*columns, metadata=metadata)
    assert decoder(source).wanted == Wanted(keys=True, times=True, headers=True, epochs=True)
    messages = batch(
        [b"{}", b"bad", b"{}", b"{}"],
        [b"k", None, None, b""],
        [(0, -1), (CREATED, 5), (CREATED, 5), (STAMPED, 6)],
        [[("a", b"1"), ("b", None), ("a", b"2")], None, None, []],
        [None, 1, 2, 3],
    )
    assert decoded(source, messages) == (
        [
            ("t", 3, 5, "NoTimestampType", [("a", b"2"), ("b", None)], b"k", None),
            ("t", 3, 7, "CreateTime", [], None, 2),
            ("t", 3, 8, "LogAppendTime", [], b"", 3),
        ],
        [6],
    )


def test_headers_that_cannot_be_read() -> None:
    source = table(A, ("h", "MAP(VARCHAR, BLOB)"), metadata=(("h", "headers"),))
    headers = [None, UNREADABLE, [("a", b"1")], UNREADABLE]
    values: list[Value] = [b'{"a": 1}', b'{"a": 2}', b'{"a": 3}', b"bad"]
    assert decoded(source, batch(values, headers=headers)) == (
        [(1, []), (3, [("a", b"1")])],
        [6, 8],
    )


def test_timestamps() -> None:
    source = table(("ts", "TIMESTAMP WITH TIME ZONE"), metadata=(("ts", "timestamp"),))
    most, least = 9_223_372_036_854_775, -9_223_372_022_400_000
    moments = [5, most, most + 1, least, least - 1, 2**63 - 1, -(2**63)]
    messages = batch([b"{}"] * 8, times=[(0, -1), *((CREATED, moment) for moment in moments)])
    (chunk,) = decoder(source).chunks([Part("t", 0, messages)])
    micros = chunk.data["ts"].cast("int64").to_pylist()
    assert micros == [None, 5_000, most * 1000, least * 1000]
    assert chunk.malformed["offset"].to_pylist() == [8, 10, 11, 12]


def test_the_brokers_time_is_there_where_the_broker_stamps() -> None:
    source = table(A)
    values: list[Value] = [b"{}", b"bad", b"{}"]
    times = [(CREATED, 5), (STAMPED, 6), (STAMPED, 7)]
    (chunk,) = decoder(source).chunks([Part("t", 0, batch(values, times=times))])
    assert chunk.data[BROKER_TIME].to_pylist() == [None, 7_000]
    for none in (None, [(CREATED, 5)] * 3):
        (chunk,) = decoder(source).chunks([Part("t", 0, batch(values, times=none))])
        assert BROKER_TIME not in chunk.data.column_names


def test_a_batch_of_good_messages_is_not_copied() -> None:
    messages = batch([b'{"a": 1}', b'{"a": 2}'])
    (chunk,) = decoder(table(A)).chunks([Part("t", 0, messages)])
    found = chunk.data[RECORD].chunk(0).buffers()[2]
    assert found.address == messages.values.buffers()[2].address


@pytest.mark.slow
def test_a_registry_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_registry, "_RETRIES", 0)
    source = table(A, format="avro-confluent", avro__confluent_url=f"http://{NOWHERE}")
    with pytest.raises(RunError, match="schema 7 cannot be fetched"):
        decoded(source, batch([b"\0\0\0\0\x07\x02"]))


def test_parts_are_decoded_together_and_told_apart() -> None:
    source = table(
        A, ("topic", "VARCHAR"), ("p", "INTEGER"), metadata=(("topic", "topic"), ("p", "partition"))
    )
    good, bad = b'{"a": 1}', b"bad"
    parts = [
        Part("t", 0, batch([good, bad, good])),
        Part("u", 3, batch([bad])),
        Part("t", 1, batch([good], times=[(STAMPED, 9)])),
        Part("t", 2, batch([bad, bad, good])),
    ]
    chunks = decoder(source).chunks(parts)
    assert [
        (chunk.data[OFFSET].to_pylist(), chunk.malformed["offset"].to_pylist(), chunk.next_offset)
        for chunk in chunks
    ] == [([5, 7], [6], 8), ([], [5], 6), ([5], [], 6), ([7], [5, 6], 8)]
    found = [(row["topic"], row["p"]) for chunk in chunks for row in chunk.data.to_pylist()]
    assert found == [("t", 0), ("t", 0), ("t", 1), ("t", 2)]
    assert [chunk.malformed["record"].to_pylist() for chunk in chunks][1] == [b"bad"]
    assert chunks[2].data[BROKER_TIME].cast("int64").to_pylist() == [9_000]
    assert chunks[0].data[BROKER_TIME].to_pylist() == [None, None]
