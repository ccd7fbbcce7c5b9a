"""The `kafka` connector: what is read and written are messages of topics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tidegate.connectors.connector import Connector, Role, says_changes, with_option
from tidegate.connectors.formats import debezium
from tidegate.connectors.kafka import options
from tidegate.connectors.kafka.exposed import exposed
from tidegate.connectors.kafka.fits import check_sink, check_source, columns_of_key_alone
from tidegate.connectors.kafka.options import KafkaOptions, KafkaSinkOptions, KafkaSourceOptions
from tidegate.connectors.kafka.planner import KafkaPlanner
from tidegate.connectors.kafka.position import kafka_position, topic_partition
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.connectors.kafka.sink import KafkaCommitter, KafkaWriter
from tidegate.connectors.kafka.topics import Topics
from tidegate.connectors.option_types import parsed
from tidegate.connectors.secrets import has_reference
from tidegate.plan.tables import Table
from tidegate.ports import Position
from tidegate.types import Column


def _check(table: Table, role: Role) -> None:
    if role == "source":
        check_source(table, parsed(KafkaSourceOptions, table.options))
    else:
        check_sink(table, parsed(KafkaSinkOptions, table.options))


def _ends_now(table: Table, splits: Sequence[str]) -> dict[str, int]:
    if not splits:
        return {}
    partitions = {topic_partition(split): split for split in splits}
    topics = Topics(table.name, parsed(KafkaSourceOptions, table.options))
    return {partitions[at]: end for at, end in topics.latest(partitions).items()}


def _offset_at(position: Position) -> int | None:
    at = kafka_position(position)
    return None if at is None else at.offset


def _feeds(sink: Table, source: Table) -> bool:
    """By the names of topics, where any of the brokers that are named is the same."""
    reads = parsed(KafkaSourceOptions, source.options)
    writes = parsed(KafkaSinkOptions, sink.options)
    if not _servers(reads.servers) & _servers(writes.servers):
        return False
    if reads.topics:
        return writes.topic in reads.topics
    return re.fullmatch(reads.pattern, writes.topic) is not None


def _servers(text: str) -> set[str]:
    return {server.strip().lower() for server in text.split(",")}


def _keeps_changes(table: Table) -> bool:
    return table.format == debezium.JSON


def _as_bytes(table: Table) -> Table:
    """What the ``raw`` format is for."""
    others = ("key.", "value.", "csv.", "json.", "avro")
    plain = tuple(pair for pair in table.options if not pair[0].startswith(others))
    columns = (Column("record", "BLOB"),)
    table = replace(table, columns=columns, metadata=(), format="raw", options=plain)
    return with_option(table, "format", "raw")


CONNECTOR = Connector(
    name="kafka",
    variants={"upsert-kafka": "upsert"},  # Flink's, of what RisingWave calls type = 'upsert'
    modes=("append", "upsert"),
    aliases=options.ALIASES,
    source=KafkaSourceOptions,
    planner=KafkaPlanner,
    reader=KafkaReader,
    is_bounded=lambda table: table.option("scan.bounded.mode", "unbounded") != "unbounded",
    may_be_idle=lambda _: True,
    ends_now=_ends_now,
    gives_changes=lambda table: table.option("type") == "upsert" or says_changes(table),
    offset_at=_offset_at,
    columns_of_key_alone=lambda table: columns_of_key_alone(
        table, parsed(KafkaSourceOptions, table.options)
    ),
    sink=KafkaSinkOptions,
    writer=KafkaWriter,
    committer=KafkaCommitter,
    takes_changes=lambda table: table.option("type") == "upsert" or _keeps_changes(table),
    keeps_changes=_keeps_changes,
    buckets="sink.buckets",
    as_bytes=_as_bytes,
    formats=options.SOURCE_FORMATS,
    metadata=options.METADATA,
    read_only=options.READ_ONLY,
    check=_check,
    passes_on=options.PREFIX,
    check_passed_on=options.check_property,
    is_secret=lambda name, value: options.is_secret(name) and not has_reference(value),
    is_path=options.is_path,
    runs_code=options.RUNS_CODE.__contains__,
    exposes=lambda table: exposed(parsed(KafkaOptions, table.options)),
    places=("topic", "topic-pattern"),
    feeds=_feeds,
    elsewhere="give it a topic that the table does not read",
    may_change=options.MAY_CHANGE,
    as_whom=options.AS_WHOM,
    at=(options.SERVERS,),
)
