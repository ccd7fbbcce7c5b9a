"""What stands in a message, and which columns come of it, from a real topic."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import fastavro
import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from kafka.epochs import ENGINE, Epoch, Run, values
from kafka.headers import put_header
from kafka.kit import Kit, Put
from tidegate.clock import SystemClock
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.errors import OptionsError
from tidegate.ports import SplitRange
from tidegate.types import BROKER_TIME, OFFSET, RECORD

COLUMN = ("a", "BIGINT")
HIDDEN = (OFFSET, RECORD, BROKER_TIME)
BOM = b"\xef\xbb\xbf"


def shown(epoch: Epoch) -> list[dict[str, Any]]:
    """The rows of the only split, without what is not the table's."""
    (rows,) = epoch.rows.values() or ([],)
    return [{name: row[name] for name in row if name not in HIDDEN} for row in rows]


def read(
    kafka: Kit, messages: Sequence[Put | bytes], *columns: tuple[str, str], **options: Any
) -> Epoch:
    """What a table over a new topic with ``messages`` reads."""
    topic = kafka.topic("messages")
    kafka.put(topic, 0, messages)
    return Run(kafka.source(topic, *columns, **options)).epoch()


def test_tombstones_and_empty_values_are_malformed(kafka: Kit) -> None:
    messages: list[Put | bytes] = [*values(0), Put(None, b"k"), b"", b" ", *values(4), Put(None)]
    epoch = read(kafka, messages, COLUMN)
    assert epoch.column("a") == [0, 4]
    assert [*epoch.malformed.values()] == [[(1, None), (2, b""), (3, b" "), (5, None)]]


def test_a_topic_of_nothing_but_tombstones(kafka: Kit) -> None:
    epoch = read(kafka, [Put(None, b"k")] * 3, COLUMN)
    assert (epoch.offsets, epoch.bad) == ([], [0, 1, 2])


def test_a_byte_order_mark_is_skipped_and_kept_in_the_record(kafka: Kit) -> None:
    messages = [BOM + b'{"a": 0}', b'{"a": 1}', BOM, BOM + BOM + b'{"a": 3}']
    epoch = read(kafka, messages, COLUMN)
    assert (epoch.column("a"), epoch.bad) == ([0, 1], [2, 3])
    assert epoch.column(RECORD) == messages[:2]


def test_json_over_lines(kafka: Kit) -> None:
    epoch = read(kafka, [b'{\n  "a": 0\n}\n', b' {"a": 1} ', b'{"a": 2}\n{"a": 3}'], COLUMN)
    assert (epoch.column("a"), epoch.bad) == ([0, 1], [2])


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compressed_messages(kafka: Kit, codec: str) -> None:
    topic = kafka.topic("compressed")
    kafka.put(topic, 0, values(*range(2_000)), **{"compression.type": codec})
    epoch = Run(kafka.source(topic, COLUMN)).epoch()
    assert epoch.column("a") == list(range(2_000))


KEY = ("k", "BIGINT")


@pytest.mark.parametrize(
    ("columns", "options", "rows"),
    [
        # In the key and in the value: the value's counts, and the key is not looked at.
        ((KEY, COLUMN), {"key_fields": "k"}, [(7, 0), (8, 1), (9, 2), (10, 3)]),
        (
            (KEY, COLUMN),
            {"key_fields": "k", "value_fields__include": "EXCEPT_KEY"},
            [(1, 0), (None, 1)],
        ),
        (
            (("key_k", "BIGINT"), COLUMN, KEY),
            {"key_fields": "key_k", "key_fields__prefix": "key_"}
            | {"value_fields__include": "EXCEPT_KEY"},
            [(1, 0, 7), (None, 1, 8)],
        ),
        ((KEY,), {"key_fields": "k", "value_fields__include": "EXCEPT_KEY"}, [(1,), (None,)]),
    ],
)
def test_columns_of_the_key(
    kafka: Kit, columns: Any, options: dict[str, Any], rows: list[tuple[Any, ...]]
) -> None:
    messages = [
        Put(b'{"a": 0, "k": 7}', b'{"k": 1}'),
        Put(b'{"a": 1, "k": 8}', b'{"k": null}'),
        Put(b'{"a": 2, "k": 9}', None),
        Put(b'{"a": 3, "k": 10}', b"not json"),
        Put(b"not json", b'{"k": 3}'),
    ]
    epoch = read(kafka, messages, *columns, key_format="json", **options)
    assert [tuple(row.values()) for row in shown(epoch)] == rows
    assert epoch.bad == list(range(len(rows), 5))
    assert [record for _, record in next(iter(epoch.malformed.values()))] == [
        put.value for put in messages[len(rows) :]
    ]


def test_a_csv_key_and_a_raw_key(kafka: Kit) -> None:
    messages = [Put(b'{"a": 0}', b"1"), Put(b'{"a": 1}', b"x"), Put(b'{"a": 2}', None)]
    options: dict[str, Any] = {"key_fields": "k", "value_fields__include": "EXCEPT_KEY"}
    csv = read(kafka, messages, KEY, COLUMN, key_format="csv", **options)
    assert (csv.column("k"), csv.bad) == ([1], [1, 2])
    raw = read(kafka, messages, ("k", "VARCHAR"), COLUMN, key_format="raw", **options)
    assert (raw.column("k"), raw.column("a"), raw.bad) == (["1", "x", None], [0, 1, 2], [])


def test_key_fields_that_are_no_columns_are_told_before_anything_is_read(kafka: Kit) -> None:
    topic = kafka.topic("key fields")
    table = kafka.source(topic, COLUMN, key_format="json", key_fields="a;nokey")
    with pytest.raises(OptionsError, match="names 'nokey', which is not a column of table 't'"):
        Run(table)


def test_all_metadata(kafka: Kit) -> None:
    metadata = {
        "t": "topic",
        "p": "partition",
        "o": "offset",
        "ts": "timestamp",
        "tt": "timestamp-type",
        "h": "headers",
        "k": "key",
        "e": "leader-epoch",
    }
    types = ["VARCHAR", "INTEGER", "BIGINT", "TIMESTAMP WITH TIME ZONE", "VARCHAR"]
    types += ["MAP(VARCHAR, BLOB)", "BLOB", "INTEGER"]
    topic = kafka.topic("metadata", partitions=2)
    headers = (("one", b"1"), ("two", None), ("one", b"last"), ("", b""), ("ü", b"\xff"))
    kafka.put(
        topic,
        1,
        [Put(b'{"a": 0}', b"\xff\x00", 1_700_000_000_123, headers), b"bad", b'{"a": 2}'],
    )
    columns = [COLUMN, *zip(metadata, types, strict=True)]
    table = kafka.source(topic, *columns, metadata=tuple(metadata.items()))
    before_us = SystemClock().now_us() - 60_000_000
    epoch = Run(table).epoch()
    first, second = epoch.rows[f"{topic}-1"]
    assert epoch.bad == [1]
    assert {name: first[name] for name in metadata} == {
        "t": topic,
        "p": 1,
        "o": 0,
        "ts": datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC),
        "tt": "CreateTime",
        "h": [("one", b"last"), ("two", None), ("", b""), ("ü", b"\xff")],
        "k": b"\xff\x00",
        "e": 0,
    }
    assert (second["o"], second["h"], second["k"], second["e"]) == (2, [], None, 0)
    assert second["ts"].timestamp() * 1e6 > before_us
    assert BROKER_TIME not in first


def test_nothing_but_metadata(kafka: Kit) -> None:
    columns = (("o", "BIGINT"), ("p", "INTEGER"))
    metadata = (("o", "offset"), ("p", "partition"))
    epoch = read(kafka, [*values(0, 1), b"bad"], *columns, metadata=metadata)
    assert shown(epoch) == [{"o": 0, "p": 0}, {"o": 1, "p": 0}]
    assert epoch.bad == [2]


def test_a_header_whose_name_is_no_text(kafka: Kit) -> None:
    """Python's client fails on it, and crashes when it is asked a second time."""
    topic = kafka.topic("odd headers")
    for name in (b"good", b"\xff", b"a\xc3", b"good"):
        put_header(kafka.bootstrap, topic, b'{"a": 1}', name, b"content")
    columns = (COLUMN, ("h", "MAP(VARCHAR, BLOB)"))
    epoch = Run(kafka.source(topic, *columns, metadata=(("h", "headers"),))).epoch()
    assert epoch.column("h") == [[("good", b"content")]] * 2
    assert (epoch.offsets, epoch.bad) == ([0, 3], [1, 2])
    assert Run(kafka.source(topic, COLUMN)).epoch().offsets == [0, 1, 2, 3]


@pytest.mark.parametrize("seen", [False, True], ids=["not shown", "as a column"])
def test_log_append_time_is_the_brokers(kafka: Kit, seen: bool) -> None:
    topic = kafka.topic("stamped", settings={"message.timestamp.type": "LogAppendTime"})
    kafka.put(topic, 0, [Put(b'{"a": 0}', time_ms=1000), b"bad", b'{"a": 2}'])
    columns = [COLUMN, ("ts", "TIMESTAMP WITH TIME ZONE"), ("tt", "VARCHAR")]
    metadata = (("ts", "timestamp"), ("tt", "timestamp-type"))
    table = kafka.source(topic, *(columns if seen else columns[:1]))
    if seen:
        table = kafka.source(topic, *columns, metadata=metadata)
    now_us = SystemClock().now_us()
    epoch = Run(table).epoch()
    for row in epoch.rows[f"{topic}-0"]:
        assert abs(row[BROKER_TIME] - now_us) < 300_000_000
        if seen:
            assert row["tt"] == "LogAppendTime"
            assert row["ts"].timestamp() * 1e6 == row[BROKER_TIME]
    assert epoch.column("a") == [0, 2]


def test_a_topic_that_begins_to_stamp(kafka: Kit) -> None:
    """BROKER_TIME is NULL where the producer's clock counts."""
    topic = kafka.topic("begins to stamp")
    kafka.put(topic, 0, values(0, 1))
    entry = ConfigEntry(
        "message.timestamp.type", "LogAppendTime", incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for future in kafka.admin.incremental_alter_configs([resource]).values():
        future.result(30)
    stamped: list[bool] = []
    run = Run(kafka.source(topic, COLUMN))
    while not any(stamped):  # until the broker has heard of it
        kafka.put(topic, 0, values(2))
        fresh = Run(run.table).epoch()
        stamped = [row.get(BROKER_TIME) is not None for row in fresh.rows[f"{topic}-0"]]
    assert stamped == sorted(stamped)
    assert stamped[:2] == [False, False]


def test_a_timestamp_that_no_column_can_hold(kafka: Kit) -> None:
    settings = {"message.timestamp.after.max.ms": str(2**63 - 1)}
    topic = kafka.topic("far future", settings=settings)
    far = [9_223_372_036_854_775, 9_223_372_036_854_776, 2**62]
    kafka.put(topic, 0, [Put(b'{"a": 0}', time_ms=moment) for moment in (1, *far)])
    assert Run(kafka.source(topic, COLUMN)).epoch().column("a") == [0, 0, 0, 0]
    columns = (COLUMN, ("ts", "TIMESTAMP WITH TIME ZONE"))
    table = kafka.source(topic, *columns, metadata=(("ts", "timestamp"),))
    run = Run(table)
    (split,) = plans = run.plan()
    ((_, chunk),) = KafkaReader(table, ENGINE).read([SplitRange(split, None, plans[split].end)])
    assert chunk.data["ts"].cast("int64").to_pylist() == [1_000, 9_223_372_036_854_775_000]
    assert chunk.malformed["offset"].to_pylist() == [2, 3]


def test_csv(kafka: Kit) -> None:
    messages = [
        b"1,one",
        b'2,"two, and ""more""\nlines"',
        b"3,three\r\n",
        b"4,",
        b"five,5",
        b"6",
        b"7,a,b",
        BOM + b"8,eight\n",
        b"\n",
        b"9,\xff",
    ]
    epoch = read(kafka, messages, COLUMN, ("b", "VARCHAR"), format="csv")
    assert [tuple(row.values()) for row in shown(epoch)] == [
        (1, "one"),
        (2, 'two, and "more"\nlines'),
        (3, "three"),
        (4, None),
        (8, "eight"),
    ]
    assert epoch.bad == [4, 5, 6, 8, 9]


def test_csv_with_signs_of_its_own(kafka: Kit) -> None:
    options: dict[str, Any] = {
        "csv_field__delimiter": ";",
        "csv_quote__character": "'",
        "csv_null__literal": "-",
    }
    messages: list[Put | bytes] = [b"1;'a;b'", b"-;-"]
    epoch = read(kafka, messages, COLUMN, ("b", "VARCHAR"), format="csv", **options)
    assert [tuple(row.values()) for row in shown(epoch)] == [(1, "a;b"), (None, None)]


def test_raw(kafka: Kit) -> None:
    messages: list[Put | bytes] = [b"text", b"", Put(None), b"\xff", "ü".encode()]
    text = read(kafka, messages, ("v", "VARCHAR"), format="raw")
    assert (text.column("v"), text.bad) == (["text", "", None, "ü"], [3])
    blob = read(kafka, messages, ("v", "BLOB"), format="raw")
    assert blob.column("v") == [b"text", b"", None, b"\xff", "ü".encode()]
    numbers: list[Put | bytes] = [struct.pack(">i", 7), b"", Put(None), b"123"]
    number = read(kafka, numbers, ("v", "INTEGER"), format="raw")
    assert (number.column("v"), number.bad) == ([7, None], [1, 3])
    nothing = read(kafka, [Put(None), Put(None)], ("v", "VARCHAR"), format="raw")
    assert nothing.column("v") == [None, None]


def test_avro(kafka: Kit) -> None:
    schema = {
        "type": "record",
        "name": "record",
        "fields": [{"name": "a", "type": ["null", "long"], "default": None}],
    }

    def datum(a: int | None) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, {"a": a})
        return out.getvalue()

    messages: list[Put | bytes] = [datum(5), b"", Put(None), datum(None), datum(6) + b"!", datum(7)]
    epoch = read(kafka, messages, COLUMN, format="avro")
    assert (epoch.column("a"), epoch.bad) == ([5, None, 7], [1, 2, 4])
