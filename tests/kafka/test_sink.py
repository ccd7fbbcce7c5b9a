"""What the sink writes: values, keys, metadata, partitions; and what it says when it can't."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, Message

from kafka.kit import Kit, Put
from tidegate.connectors.kafka.sink import KafkaCommitter, KafkaWriter
from tidegate.errors import OptionsError, RunError, SinkError
from tidegate.plan.tables import Table
from tidegate.ports import Progress, Stage, StagedFile

ID = ("id", "BIGINT")
JAVA: Mapping[str, int] = {
    "21": 3,
    "foobar": 0,
    "a-little-bit-long-string": 1,
    "a-little-bit-longer-string": 0,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": 3,
    "abc": 4,
    "": 2,
    "grün": 2,
    '{"id":1}': 3,
}
"""Utils.toPositive(Utils.murmur2(key)) % 7, of kafka-clients 4.3.0."""


pytestmark = pytest.mark.usefixtures("fresh_worker")


def started(table: Table) -> dict[str, str]:
    """What a driver gives to the writers of ``table``."""
    committer = KafkaCommitter(table, "")
    committer.bind(committer.prepare(True))
    return committer.fence(1, lambda: Progress(0, 0))


def at(epoch: int, remembered: Mapping[str, str]) -> Stage:
    return Stage("", epoch, "0", tuple(remembered.items()))


def write(
    table: Table, *epochs: Iterable[Mapping[str, Any]], types: Mapping[str, pa.DataType]
) -> list[StagedFile]:
    """Writes epochs; gives what the last one reports."""
    remembered = started(table)
    schema = pa.schema(list(types.items()))
    staged: list[StagedFile] = []
    for number, rows in enumerate(epochs, 1):
        writer = KafkaWriter(table, at(number, remembered))
        writer.write(pa.Table.from_pylist(list(rows), schema))
        staged = writer.close()
    return staged


def messages(kafka: Kit, topic: str) -> list[Message]:
    return [message for part in kafka.read(topic).values() for message in part]


def test_values_are_json(kafka: Kit) -> None:
    topic = kafka.topic("values")
    table = kafka.sink(topic, ID, ("name", "VARCHAR"))
    rows: list[dict[str, Any]] = [{"id": 1, "name": 'grün "x"'}, {"id": None, "name": None}]
    (staged,) = write(table, rows, types={"id": pa.int64(), "name": pa.string()})
    values = kafka.values(topic)
    assert [json.loads(value) for value in values] == rows
    assert (staged.rows, staged.bytes) == (2, sum(map(len, values)))
    assert staged.path.endswith(f"/{topic}")
    assert all(message.key() is None for message in messages(kafka, topic))


def test_no_rows_are_no_transaction(kafka: Kit) -> None:
    topic = kafka.topic("nothing")
    assert write(kafka.sink(topic, ID), [], types={"id": pa.int64()}) == []
    assert kafka.read(topic) == {0: []}


def test_a_key_beside_the_whole_value(kafka: Kit) -> None:
    topic = kafka.topic("key")
    table = kafka.sink(topic, ID, ("name", "VARCHAR"), key_fields="id;name", key_format="json")
    write(table, [{"id": 1, "name": "a"}], types={"id": pa.int64(), "name": pa.string()})
    (message,) = messages(kafka, topic)
    assert json.loads(message.key() or b"") == {"id": 1, "name": "a"}
    assert json.loads(message.value() or b"") == {"id": 1, "name": "a"}


@pytest.mark.parametrize(
    ("form", "key"), [("json", b'{"id":7}'), ("csv", b"7"), ("raw", (7).to_bytes(8, "big"))]
)
def test_a_key_with_a_prefix_that_is_not_in_the_value(kafka: Kit, form: str, key: bytes) -> None:
    topic = kafka.topic(f"prefix-{form}")
    table = kafka.sink(
        topic,
        ("k_id", "BIGINT"),
        ("v", "BIGINT"),
        value_fields__include="EXCEPT_KEY",
        key_fields="k_id",
        key_fields__prefix="k_",
        key_format=form,
    )
    write(table, [{"k_id": 7, "v": 8}], types={"k_id": pa.int64(), "v": pa.int64()})
    (message,) = messages(kafka, topic)
    assert (message.key(), message.value()) == (key, b'{"v":8}')


def test_csv_and_raw_values(kafka: Kit) -> None:
    topic = kafka.topic("csv")
    table = kafka.sink(topic, ID, ("name", "VARCHAR"), format="csv")
    write(table, [{"id": 1, "name": 'a,"b'}], types={"id": pa.int64(), "name": pa.string()})
    assert kafka.values(topic) == [b'1,"a,""b"']
    topic = kafka.topic("raw")
    table = kafka.sink(topic, ("body", "BLOB"), format="raw")
    write(table, [{"body": b"\xff\x00"}, {"body": b""}], types={"body": pa.binary()})
    assert kafka.values(topic) == [b"\xff\x00", b""]


def test_null_of_raw_is_a_tombstone(kafka: Kit) -> None:
    topic = kafka.topic("tombstone")
    table = kafka.sink(
        topic,
        ("k", "VARCHAR"),
        ("body", "VARCHAR"),
        format="raw",
        key_fields="k",
        key_format="raw",
        value_fields__include="EXCEPT_KEY",
    )
    rows = [{"k": "a", "body": None}, {"k": None, "body": "b"}]
    write(table, rows, types={"k": pa.string(), "body": pa.string()})
    found = [(message.key(), message.value()) for message in messages(kafka, topic)]
    assert found == [(b"a", None), (None, b"b")]


def test_metadata(kafka: Kit) -> None:
    far = str(10_000 * 366 * 86_400_000)
    topic = kafka.topic("metadata", settings={"message.timestamp.after.max.ms": far})
    table = kafka.sink(
        topic,
        ID,
        ("at", "TIMESTAMP WITH TIME ZONE"),
        ("tags", "MAP(VARCHAR, BLOB)"),
        ("k", "BLOB"),
        metadata=(("at", "timestamp"), ("tags", "headers"), ("k", "key")),
    )
    types = {
        "id": pa.int64(),
        "at": pa.timestamp("us", tz="UTC"),
        "tags": pa.map_(pa.string(), pa.binary()),
        "k": pa.binary(),
    }
    moment = datetime(2024, 5, 1, 12, 0, 0, 123_999, UTC)
    first = datetime(1970, 1, 1, tzinfo=UTC)
    tags = [("a", b"1"), ("b", None)]
    rows: list[dict[str, Any]] = [
        {"id": 1, "at": moment, "tags": tags, "k": b"x"},
        {"id": 2, "at": None, "tags": None, "k": None},
        {"id": 3, "at": first, "tags": [], "k": b""},
        {"id": 4, "at": first - timedelta(days=1), "tags": [], "k": b""},
        {"id": 5, "at": datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC), "tags": [], "k": b""},
    ]
    write(table, rows, types=types)
    found = messages(kafka, topic)
    assert [json.loads(message.value() or b"") for message in found] == [
        {"id": n} for n in range(1, 6)
    ]
    assert [message.headers() for message in found] == [tags, None, None, None, None]
    assert [message.key() for message in found] == [b"x", None, b"", b"", b""]
    kinds, times = zip(*(message.timestamp() for message in found), strict=True)
    assert set(kinds) == {TIMESTAMP_CREATE_TIME}
    assert times[0] == int(moment.timestamp() * 1000)
    assert abs(times[1] / 1000 - datetime.now(UTC).timestamp()) < 60
    assert times[2:] == (1, 1, 253_402_300_799_999)


def test_a_key_is_where_javas_clients_put_it(kafka: Kit) -> None:
    topic = kafka.topic("java", partitions=7)
    table = kafka.sink(topic, ("k", "VARCHAR"), format="raw", key_fields="k", key_format="raw")
    write(table, [{"k": key} for key in JAVA], types={"k": pa.string()})
    found = {
        (message.key() or b"").decode(): partition
        for partition, part in kafka.read(topic).items()
        for message in part
    }
    assert found == JAVA


def test_partitioners(kafka: Kit) -> None:
    ones = [[{"id": n}] for n in range(40)]
    types = {"id": pa.int64()}
    topic = kafka.topic("round-robin", partitions=4)
    write(kafka.sink(topic, ID, sink_partitioner="round-robin"), *ones, types=types)
    assert [len(part) for part in kafka.read(topic).values()] == [10] * 4
    write(
        kafka.sink(topic, ID, sink_partitioner="round-robin", sink_transactional__id__prefix="x"),
        [{"id": n} for n in range(40)],
        types=types,
    )
    assert [len(part) for part in kafka.read(topic).values()] == [20] * 4

    topic = kafka.topic("fixed", partitions=4)
    write(kafka.sink(topic, ID, sink_partitioner="fixed"), *ones[:3], types=types)
    assert [len(part) for part in kafka.read(topic).values()] == [3, 0, 0, 0]

    topic = kafka.topic("by-key", partitions=4)
    write(
        kafka.sink(topic, ID, key_fields="id", key_format="raw"),
        [{"id": n % 5} for n in range(100)],
        types=types,
    )
    places = {
        (message.key(), partition)
        for partition, part in kafka.read(topic).items()
        for message in part
    }
    assert len(places) == 5


def test_properties_reach_the_client(kafka: Kit) -> None:
    """A property that it does not know is refused; one that it knows has its effect."""
    topic = kafka.topic("compressed", settings={"compression.type": "producer"})
    rows = [{"id": n} for n in range(20_000)]
    table = kafka.sink(topic, ID, properties_compression_type="zstd")
    write(table, rows, types={"id": pa.int64()})
    assert Counter(kafka.values(topic)) == Counter(b'{"id":%d}' % n for n in range(20_000))
    with pytest.raises(OptionsError, match=r"refuses the table's properties: .*compression\.typ"):
        started(kafka.sink(topic, ID, properties_compression_typ="zstd"))
    with pytest.raises(OptionsError, match=r'Invalid value "zip"'):
        started(kafka.sink(topic, ID, properties_compression_type="zip"))


@pytest.mark.parametrize(
    ("option", "value", "guarantee", "words"),
    [
        ("acks", "1", "exactly-once", "'properties.acks' = '1' does not go with"),
        ("acks", "1", "at-least-once", "'sink.delivery-guarantee' = 'at-least-once'"),
        ("request_required_acks", "0", "exactly-once", "'properties.request.required.acks' = '0'"),
        ("transaction_timeout_ms", "5", "exactly-once", "write 'sink.transaction-timeout' instead"),
        ("enable_idempotence", "false", "exactly-once", "idempotence"),
        ("message_timeout_ms", "120000", "exactly-once", "transaction.timeout.ms"),
    ],
)
def test_properties_that_break_the_promise(
    kafka: Kit, option: str, value: str, guarantee: str, words: str
) -> None:
    options: dict[str, Any] = {f"properties_{option}": value}
    table = kafka.sink(kafka.topic("acks"), ID, sink_delivery__guarantee=guarantee, **options)
    with pytest.raises(OptionsError) as told:
        started(table)
    assert words in str(told.value)


def test_acks_of_one_where_rows_may_be_lost(kafka: Kit) -> None:
    topic = kafka.topic("acks")
    table = kafka.sink(topic, ID, properties_acks="1", sink_delivery__guarantee="none")
    write(table, [{"id": 1}], types={"id": pa.int64()})
    assert kafka.values(topic) == [b'{"id":1}']


@pytest.mark.parametrize("guarantee", ["at-least-once", "none"])
def test_without_transactions(kafka: Kit, guarantee: str) -> None:
    """An epoch that is run again is written again."""
    topic = kafka.topic(guarantee)
    table = kafka.sink(topic, ID, sink_delivery__guarantee=guarantee)
    remembered = started(table)
    assert "run" not in remembered
    for epoch in (1, 1, 2):
        writer = KafkaWriter(table, at(epoch, remembered))
        writer.write(pa.table({"id": [epoch, 10]}))
        assert [file.rows for file in writer.close()] == [2]
    assert Counter(kafka.values(topic)) == {b'{"id":1}': 2, b'{"id":2}': 1, b'{"id":10}': 3}


def test_a_topic_that_is_not_there(kafka: Kit) -> None:
    topic = kafka.topic("orders")
    with pytest.raises(OptionsError, match="there is no topic") as told:
        started(kafka.sink(topic.replace("orders", "oders"), ID))
    assert told.value.hint == f"did you mean '{topic}'?"


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_a_topic_that_is_deleted_meanwhile(kafka: Kit, guarantee: str) -> None:
    topic = kafka.topic("deleted")
    table = kafka.sink(
        topic,
        ID,
        sink_delivery__guarantee=guarantee,
        properties_topic_metadata_propagation_max_ms="1000",
        properties_topic_metadata_refresh_interval_ms="500",
    )
    remembered = started(table)
    writer = KafkaWriter(table, at(1, remembered))
    writer.write(pa.table({"id": [1]}))
    writer.close()
    kafka.delete(topic)
    writer = KafkaWriter(table, at(2, remembered))
    writer.write(pa.table({"id": [2]}))
    with pytest.raises(SinkError) as told:
        writer.close()
    assert told.value.message == f"table 't': rows cannot be written into topic '{topic}'"
    assert "make it again" in told.value.hint, told.value.detail


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_a_row_that_is_too_large(kafka: Kit, guarantee: str) -> None:
    """Nothing of its epoch is seen; the next reader is not held up by an open transaction."""
    topic = kafka.topic("large", settings={"max.message.bytes": "10000"})
    table = kafka.sink(topic, ("s", "VARCHAR"), sink_delivery__guarantee=guarantee)
    with pytest.raises(SinkError) as told:
        write(table, [{"s": "x" * 20_000}], types={"s": pa.string()})
    assert "max.message.bytes" in told.value.hint
    kafka.put(topic, 0, [Put(b"after")])
    assert kafka.values(topic) == [b"after"]


def test_many_small_rows_for_a_topic_of_small_batches(kafka: Kit) -> None:
    topic = kafka.topic("small", settings={"max.message.bytes": "10000"})
    rows = [{"id": n} for n in range(20_000)]
    write(kafka.sink(topic, ID), rows, types={"id": pa.int64()})
    assert len(kafka.values(topic)) == 20_000


def test_large_rows(kafka: Kit) -> None:
    topic = kafka.topic("20-mb", settings={"max.message.bytes": str(30 << 20)})
    rows = [{"s": letter * (10 << 20)} for letter in "abcdef"]
    write(kafka.sink(topic, ("s", "VARCHAR")), rows, types={"s": pa.string()})
    assert [len(value) for value in kafka.values(topic)] == [(10 << 20) + 8] * 6


def test_more_rows_than_the_client_holds(kafka: Kit) -> None:
    topic = kafka.topic("queue", partitions=2)
    table = kafka.sink(topic, ID, properties_queue_buffering_max_messages="1000")
    write(table, [{"id": n} for n in range(50_000)], types={"id": pa.int64()})
    assert len(set(kafka.values(topic))) == 50_000


def test_a_time_that_the_topic_refuses(kafka: Kit) -> None:
    topic = kafka.topic("times")
    table = kafka.sink(
        topic, ID, ("at", "TIMESTAMP WITH TIME ZONE"), metadata=(("at", "timestamp"),)
    )
    types = {"id": pa.int64(), "at": pa.timestamp("us", tz="UTC")}
    with pytest.raises(SinkError) as told:
        write(table, [{"id": 1, "at": datetime(2999, 1, 1, tzinfo=UTC)}], types=types)
    assert "message.timestamp.after.max.ms" in told.value.hint


def test_a_transaction_timeout_beyond_the_brokers(kafka: Kit) -> None:
    table = kafka.sink(kafka.topic("timeout"), ID, sink_transaction__timeout="20 min")
    with pytest.raises(RunError) as told:
        started(table)
    assert "'sink.transaction-timeout' is more than the brokers'" in told.value.hint
