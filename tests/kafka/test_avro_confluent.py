"""Format `avro-confluent` with a real schema registry, and with Confluent's own serializers."""

from __future__ import annotations

import datetime
import json
import logging
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import Schema as RegistrySchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kafka import registry as real
from kafka.kit import Kit, Put
from kafka.registry_door import certificate, proxy
from tidegate.connectors.formats.avro_format import decode, encode
from tidegate.connectors.formats.schema_registry import Registry
from tidegate.connectors.kafka.planner import KafkaPlanner
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.engine.engine import Engine
from tidegate.errors import OptionsError, RunError, SinkError
from tidegate.ports import SplitRange
from tidegate.types import Column, Schema

ENGINE = Engine()
UTC = datetime.UTC
ORDERS: Schema = (
    Column("id", "BIGINT"),
    Column("customer", "VARCHAR"),
    Column("amount", "DECIMAL(10,2)"),
    Column("t", "TIMESTAMP WITH TIME ZONE"),
    Column("tags", "VARCHAR[]"),
    Column("place", "STRUCT(city VARCHAR, zip INTEGER)"),
    Column("counts", "MAP(VARCHAR, BIGINT)"),
)
JSON_SCHEMA = '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}'
ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "customer": "Ann",
        "amount": Decimal("12.50"),
        "t": datetime.datetime(2026, 1, 1, 10, 0, 0, 123_456, UTC),
        "tags": ["a", None, "b"],
        "place": {"city": "Köln", "zip": 50667},
        "counts": [("x", 1), ("y", None)],
    },
    dict.fromkeys(column.name for column in ORDERS),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[real.Registry]:
    with real.Registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


Connect = Callable[..., Registry]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Makes clients that are closed after the test."""
    with ExitStack() as opened:
        yield lambda *args, **kwargs: opened.enter_context(closing(Registry(*args, **kwargs)))


@pytest.fixture
def registry(server: real.Registry, connect: Connect) -> Registry:
    return connect(server.url)


@pytest.fixture
def client(server: real.Registry) -> Iterator[SchemaRegistryClient]:
    """Confluent's own."""
    with SchemaRegistryClient({"url": server.url}) as opened:
        yield opened


def record(record_name: str, **fields: Any) -> str:
    listed = [{"name": name, "type": type_} for name, type_ in fields.items()]
    return json.dumps({"type": "record", "name": record_name, "fields": listed})


def serialized(
    client: SchemaRegistryClient, schema: str, rows: list[dict[str, Any]], topic: str
) -> list[bytes]:
    """Messages as Confluent's serializer writes them."""
    serializer = AvroSerializer(client, schema)
    context = SerializationContext(topic, MessageField.VALUE)
    return [bytes(serializer(row, context) or b"") for row in rows]


def rows_of(
    messages: list[bytes], registry: Registry, *columns: tuple[str, str]
) -> list[dict[str, Any] | None]:
    """The row of each message; None where it is malformed."""
    schema = tuple(Column(*column) for column in columns)
    decoded = decode(pa.array(messages, pa.binary()), schema, ENGINE, registry)
    assert decoded.data.schema == ENGINE.arrow_schema(schema)
    rows = iter(decoded.data.to_pylist())
    return [next(rows) if good else None for good in decoded.good.tolist()]


def table(rows: list[dict[str, Any]], schema: Schema = ORDERS) -> pa.Table:
    return pa.Table.from_pylist(rows, ENGINE.arrow_schema(schema))


def test_there_and_back(registry: Registry, server: real.Registry, connect: Connect) -> None:
    data = table(ROWS * 100)
    messages = encode(data, ORDERS, ENGINE, registry, "back-value")
    other = connect(server.url)
    decoded = decode(messages, ORDERS, ENGINE, other)
    assert decoded.good.all()
    assert decoded.data.combine_chunks().equals(data.combine_chunks())


def test_confluents_deserializer_reads_what_is_written(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    messages = encode(table(ROWS), ORDERS, ENGINE, registry, "theirs-value").to_pylist()
    assert client.get_latest_version("theirs-value").schema_id == int.from_bytes(messages[0][1:5])
    deserializer = AvroDeserializer(client)
    context = SerializationContext("theirs", MessageField.VALUE)
    expected = [{**ROWS[0], "counts": {"x": 1, "y": None}}, ROWS[1]]
    assert [deserializer(message, context) for message in messages] == expected


def test_confluents_serializer_is_read(registry: Registry, client: SchemaRegistryClient) -> None:
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    schema = record("o", id="long", name=["null", "string"], t=millis, more="double")
    moment = datetime.datetime(2026, 1, 1, 10, 0, 0, 123_000, UTC)
    rows = [
        {"id": n, "name": f"n{n}" if n % 2 else None, "t": moment, "more": 1.5} for n in range(9)
    ]
    messages = serialized(client, schema, rows, "ours")
    columns = (("t", "TIMESTAMP"), ("name", "VARCHAR"), ("id", "BIGINT"))
    assert rows_of(messages, registry, *columns) == [
        {"t": moment.replace(tzinfo=None), "name": row["name"], "id": row["id"]} for row in rows
    ]


def test_keys_and_values_through_a_broker(
    kafka: Kit, server: real.Registry, client: SchemaRegistryClient
) -> None:
    topic = kafka.topic("confluent")
    key = AvroSerializer(client, record("k", id="long"))
    value = AvroSerializer(client, record("v", name="string"))
    of_key = SerializationContext(topic, MessageField.KEY)
    of_value = SerializationContext(topic, MessageField.VALUE)
    messages = [Put(value({"name": f"n{n}"}, of_value), key({"id": n}, of_key)) for n in range(5)]
    messages[2] = Put(messages[2].value, b"\x00poison")
    messages[3] = Put(b"poison", messages[3].key)
    kafka.put(topic, 0, messages)
    table_ = kafka.source(
        topic,
        ("id", "BIGINT"),
        ("name", "VARCHAR"),
        format="avro-confluent",
        avro__confluent_url=server.url,
        key_format="avro-confluent",
        key_fields="id",
        value_fields__include="EXCEPT_KEY",
    )
    planner = KafkaPlanner(table_, False)
    (split,) = planner.splits()
    end = planner.plan({split: None}, None)[split].end
    ((_, chunk),) = KafkaReader(table_, ENGINE).read([SplitRange(split, None, end)])
    rows = chunk.data.select(["id", "name"]).to_pylist()
    assert rows == [{"id": n, "name": f"n{n}"} for n in (0, 1, 4)]
    assert chunk.malformed.column("offset").to_pylist() == [2, 3]
    assert chunk.malformed.column("record")[1].as_py() == b"poison"


def test_schemas_evolve_within_a_chunk(registry: Registry, client: SchemaRegistryClient) -> None:
    first = record("e", id="int", name="string")
    added = ["null", {"type": "array", "items": "string"}]
    second = json.dumps(
        {
            "type": "record",
            "name": "e",
            "fields": [
                {"name": "tags", "type": added, "default": None},
                {"name": "name", "type": "string"},
                {"name": "id", "type": "long"},
                {"name": "level", "type": "int", "default": 7},
            ],
        }
    )
    old = serialized(client, first, [{"id": n, "name": f"old{n}"} for n in range(3)], "evolve")
    rows = [{"id": 2**40 + n, "name": f"new{n}", "tags": ["x"], "level": n} for n in range(3)]
    new = serialized(client, second, rows, "evolve")
    assert old[0][1:5] != new[0][1:5]
    mixed = [new[0], old[0], old[1], new[1], old[2], new[2]]
    columns = (("id", "BIGINT"), ("tags", "VARCHAR[]"), ("level", "INTEGER"), ("name", "VARCHAR"))
    assert rows_of(mixed, registry, *columns) == [
        {"id": 2**40, "tags": ["x"], "level": 0, "name": "new0"},
        {"id": 0, "tags": None, "level": None, "name": "old0"},
        {"id": 1, "tags": None, "level": None, "name": "old1"},
        {"id": 2**40 + 1, "tags": ["x"], "level": 1, "name": "new1"},
        {"id": 2, "tags": None, "level": None, "name": "old2"},
        {"id": 2**40 + 2, "tags": ["x"], "level": 2, "name": "new2"},
    ]


def test_poison_among_schemas(registry: Registry, client: SchemaRegistryClient) -> None:
    one = serialized(client, record("p", id="long"), [{"id": 1}], "poison")[0]
    two = serialized(client, record("q", id="string"), [{"id": "2"}], "poison2")[0]
    word = serialized(client, record("q", id="string"), [{"id": "x"}], "poison2")[0]
    unknown = b"\x00" + (987_654).to_bytes(4) + b"\x02"
    negative = b"\x00\xff\xff\xff\xff\x02"
    cases: list[tuple[bytes, int | None]] = [
        (one, 1),
        (b"", None),
        (b"\x00", None),
        (one[:4], None),
        (one[:5], None),
        (two, 2),
        (b"\x01" + one[1:], None),
        (unknown, None),
        (negative, None),
        (one + b"\x00", None),
        (word, None),
        (one, 1),
        (b'{"id": 1}', None),
    ]
    found = rows_of([message for message, _ in cases], registry, ("id", "BIGINT"))
    assert found == [None if value is None else {"id": value} for _, value in cases]
    bad = [message for message, value in cases if value is None]
    assert rows_of(bad, registry, ("id", "BIGINT")) == [None] * len(bad)


def test_an_unknown_schema_is_asked_for_once(server: real.Registry, connect: Connect) -> None:
    with proxy(server) as (url, seen):
        registry = connect(url)
        unknown = b"\x00" + (424_242).to_bytes(4) + b"\x02"
        assert rows_of([unknown] * 5, registry, ("id", "BIGINT")) == [None] * 5
        assert rows_of([unknown] * 5, registry, ("id", "BIGINT")) == [None] * 5
        assert len(seen) == 1


def test_a_schema_that_cannot_fit_says_why_once(
    registry: Registry, client: SchemaRegistryClient, caplog: pytest.LogCaptureFixture
) -> None:
    inner = {"type": "record", "name": "inner", "fields": [{"name": "x", "type": "long"}]}
    schema = record("m", a=["null", inner], b="long")
    rows: list[dict[str, Any]] = [{"a": {"x": 1}, "b": 2}, {"a": None, "b": 3}]
    messages = serialized(client, schema, rows, "misfit")
    with caplog.at_level(logging.WARNING, "tidegate.avro"):
        for _ in range(2):
            found = rows_of(messages, registry, ("a", "BIGINT"), ("b", "BIGINT"))
            assert found == [None, {"a": None, "b": 3}]
    number = int.from_bytes(messages[0][1:5])
    assert [entry.getMessage() for entry in caplog.records] == [
        f"Avro schema {number}: messages with a value are malformed: a is record, declared BIGINT"
    ]


def test_a_schema_of_another_kind_is_no_avro(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    number = client.register_schema("json-value", RegistrySchema(JSON_SCHEMA, "JSON"))
    message = b"\x00" + number.to_bytes(4) + b"\x02"
    assert rows_of([message], registry, ("id", "BIGINT")) == [None]


def test_a_schema_that_refers_to_others(registry: Registry, client: SchemaRegistryClient) -> None:
    kind = '{"type":"enum","name":"shop.kind","symbols":["A","B"]}'
    line = '{"type":"record","name":"shop.line","fields":[{"name":"k","type":"shop.kind"}]}'
    order = (
        '{"type":"record","name":"shop.order","fields":[{"name":"l","type":"shop.line"},'
        '{"name":"k","type":"shop.kind"}]}'
    )
    client.register_schema("kind", RegistrySchema(kind, "AVRO"))
    of_kind = SchemaReference("shop.kind", "kind", 1)
    client.register_schema("line", RegistrySchema(line, "AVRO", [of_kind]))
    of_line = SchemaReference("shop.line", "line", 1)
    number = client.register_schema("order", RegistrySchema(order, "AVRO", [of_line, of_kind]))
    message = b"\x00" + number.to_bytes(4) + b"\x02\x00"
    columns = (("l", "STRUCT(k VARCHAR)"), ("k", "VARCHAR"))
    assert rows_of([message], registry, *columns) == [{"l": {"k": "B"}, "k": "A"}]


def test_the_same_schema_has_one_number(
    registry: Registry, server: real.Registry, connect: Connect
) -> None:
    first = encode(table(ROWS), ORDERS, ENGINE, registry, "once-value")
    again = encode(table(ROWS), ORDERS, ENGINE, registry, "once-value")
    restarted = encode(table(ROWS), ORDERS, ENGINE, connect(server.url), "once-value")
    assert first.equals(again)
    assert first.equals(restarted)


def test_a_schema_that_the_subject_refuses(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    client.register_schema("strict-value", RegistrySchema(record("s", id="string"), "AVRO"))
    client.set_compatibility("strict-value", "FULL")
    schema = (Column("id", "BIGINT"),)
    with pytest.raises(SinkError, match="subject 'strict-value' cannot be registered") as caught:
        encode(table([{"id": 1}], schema), schema, ENGINE, registry, "strict-value")
    assert registry.url in caught.value.message
    assert "ncompatible" in caught.value.detail
    assert "avro-confluent.subject" in caught.value.hint


def test_a_path_where_no_registry_is(server: real.Registry, connect: Connect) -> None:
    message = b"\x00" + (1).to_bytes(4) + b"\x02"
    wrong = connect(server.url.replace("ccompat", "compat"))
    with pytest.raises(OptionsError, match="there is no schema registry at http") as caught:
        rows_of([message], wrong, ("id", "BIGINT"))
    assert "path" in caught.value.hint


def test_a_registry_that_goes_and_comes_back(tmp_path: Path, connect: Connect) -> None:
    with real.Registry(tmp_path) as server:
        registry = connect(server.url)
        messages = encode(table(ROWS), ORDERS, ENGINE, registry, "gone-value")
        server.stop()
        fresh = connect(server.url)
        with pytest.raises(RunError, match=f"no answer from the schema registry {server.url}"):
            decode(messages, ORDERS, ENGINE, fresh)
        known = connect(server.url)
        server.start()
        encode(table(ROWS), ORDERS, ENGINE, known, "gone-value")
        assert decode(messages, ORDERS, ENGINE, fresh).good.all()
        server.stop()
        assert decode(messages, ORDERS, ENGINE, fresh).good.all()  # what is known stays known


def test_a_user_by_reference(
    server: real.Registry, monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    monkeypatch.setenv("REGISTRY_PASSWORD", "hunter2:x")
    with proxy(server, "alice:hunter2:x") as (url, seen):
        registry = connect(url, "alice:${env:REGISTRY_PASSWORD}")
        messages = encode(table(ROWS), ORDERS, ENGINE, registry, "auth-value")
        assert decode(messages, ORDERS, ENGINE, registry).good.all()
        assert seen
        for user in ("", "alice:wrong"):
            with pytest.raises(OptionsError, match="refuses the user") as caught:
                decode(messages, ORDERS, ENGINE, connect(url, user))
            assert "wrong" not in caught.value.render()
            assert "who are you?" in caught.value.detail


def test_tls_with_a_certificate_of_ones_own(
    server: real.Registry, tmp_path: Path, connect: Connect
) -> None:
    certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "ca.pem", tmp_path / "key.pem")
    with proxy(server, context=context) as (url, _):
        registry = connect(url, ca_location=str(tmp_path / "ca.pem"))
        messages = encode(table(ROWS), ORDERS, ENGINE, registry, "tls-value")
        assert decode(messages, ORDERS, ENGINE, registry).good.all()
        with pytest.raises(RunError, match="no answer") as caught:
            decode(messages, ORDERS, ENGINE, connect(url))
        assert "certificate" in caught.value.detail.lower()
