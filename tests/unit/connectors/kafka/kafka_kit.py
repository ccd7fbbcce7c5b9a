"""Tables and messages without a broker."""

from __future__ import annotations

from typing import Any, Literal

from confluent_kafka import KafkaError, Message

from tidegate.connectors.kafka.options import KafkaSourceOptions
from tidegate.connectors.option_types import parsed
from tidegate.connectors.options import validate_options
from tidegate.plan.tables import Table
from tidegate.types import Column

NOWHERE = "127.0.0.1:1"
EOF = KafkaError._PARTITION_EOF


def table(
    *columns: tuple[str, str],
    role: Literal["source", "sink"] = "source",
    metadata: tuple[tuple[str, str], ...] = (),
    **options: Any,
) -> Table:
    """A table; options' names with ``_`` for ``.`` and ``__`` for ``-``."""
    given = {"topic": "t", "format": "json", "properties.bootstrap.servers": NOWHERE}
    given |= {name.replace("__", "-").replace("_", "."): v for name, v in options.items()}
    given = {name: value for name, value in given.items() if value is not None}
    pairs = validate_options("kafka", role, given)
    schema = tuple(Column(name, type_) for name, type_ in columns)
    return Table("t", schema, "kafka", dict(pairs)["format"], pairs, metadata)


def source_options(**options: Any) -> KafkaSourceOptions:
    return parsed(KafkaSourceOptions, table(**options).options)


def message(offset: int, value: bytes | None = b"{}", **parts: Any) -> Message:
    return Message(topic="t", partition=0, offset=offset, value=value, **parts)


def event(offset: int, code: int = EOF) -> Message:
    """What the client says in the place of a message."""
    return Message(topic="t", partition=0, offset=offset, error=KafkaError(code))
