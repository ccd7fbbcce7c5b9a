"""The WITH options of `kafka` tables: Flink's names; RisingWave's are aliases of them.

``properties.*`` go to the client (librdkafka) as they are. Those that hold a secret must be a
reference, ``${env:NAME}`` or ``${file:/path}``, since options are shown in plans and kept in
checkpoints; a reference is resolved where a client is made (`tidegate.connectors.secrets`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator

from tidegate.connectors.formats import debezium
from tidegate.connectors.option_types import (
    ChangesOptions,
    CsvOptions,
    Duration,
    Options,
    Quarantined,
    SourceOptions,
    listed,
    lowered,
    names_in,
)
from tidegate.connectors.secrets import AS_REFERENCE, SecretError, has_reference

PREFIX: Final = "properties."
SERVERS: Final = "properties.bootstrap.servers"

METADATA: Final[Mapping[str, str]] = {
    "topic": "VARCHAR",
    "partition": "INTEGER",
    "offset": "BIGINT",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp-type": "VARCHAR",
    "headers": "MAP(VARCHAR, BLOB)",
    "key": "BLOB",
    "leader-epoch": "INTEGER",
}
"""The metadata of a message that a table may have as columns, with DuckDB's types."""

READ_ONLY: Final = frozenset({"topic", "partition", "offset", "timestamp-type", "leader-epoch"})
"""What brokers say of it."""

_SECRET: Final = re.compile(r"passw|passphrase|secret|sasl\.jaas|\.pem$|oauthbearer\.config|token$")
_PATH: Final = re.compile(r".*(\.location|\.file|\.path|keytab)")
RUNS_CODE: Final = frozenset(
    f"{PREFIX}{name}"
    for name in ("plugin.library.paths", "ssl.engine.location", "sasl.kerberos.kinit.cmd")
)
"""Libraries that the client loads, and a command that it runs."""
_OURS: Final[Mapping[str, str]] = {
    "enable.auto.commit": "where a job stands is kept in its checkpoint",
    "enable.auto.offset.store": "where a job stands is kept in its checkpoint",
    "enable.partition.eof": "the reader needs it",
    "transactional.id": "write 'sink.transactional-id-prefix' instead",
    "key.deserializer": "write 'key.format' instead",
    "value.deserializer": "write 'format' instead",
    "key.serializer": "write 'key.format' instead",
    "value.serializer": "write 'format' instead",
    "sasl.jaas.config": "it is Java's: write properties.sasl.username and, as a reference,"
    " properties.sasl.password = '${env:…}'",
}

_FUNCTION: Final = re.compile(r".*_cb|logger|on_[a-z_]+")
"""What the Python client takes besides librdkafka's properties."""
_USER_IN_URL: Final = re.compile(r"://[^/]*@")

Topics = tuple[str, ...]


def _topics(value: object) -> object:
    if not isinstance(value, str):
        return value
    names = tuple(name.strip() for name in re.split("[;,]", value) if name.strip())
    if not names:
        raise ValueError("name a topic, or several with ';' between them")
    if len(set(names)) < len(names):
        raise ValueError("a topic is named twice")
    return names


def _upper(value: object) -> object:
    """Values are compared without case, as Flink's are."""
    return value.strip().upper() if isinstance(value, str) else value


def _mode(value: object) -> object:
    """RisingWave says ``earliest`` where Flink says ``earliest-offset``."""
    if not isinstance(value, str):
        return value
    name = value.strip().lower()
    return f"{name}-offset" if name in ("earliest", "latest") else name


def _specific(value: object) -> object:
    """``partition:0,offset:42;partition:1,offset:300``."""
    if not isinstance(value, str):
        return value
    found: dict[int, int] = {}
    for part in filter(None, (piece.strip() for piece in value.split(";"))):
        match = re.fullmatch(r"partition:\s*(\d+)\s*,\s*offset:\s*(\d+)", part)
        if match is None:
            raise ValueError(f"'{part}' is wrong; write 'partition:0,offset:42;partition:1,…'")
        if int(match[1]) in found:
            raise ValueError(f"partition {match[1]} is named twice")
        found[int(match[1])] = int(match[2])
    return tuple(sorted(found.items()))


def _lenient(value: object) -> object:
    if value not in (False, "false"):
        raise ValueError("a field that is missing is NULL: leave it out")
    return "false"


Lenient = Annotated[Literal["false"], BeforeValidator(_lenient)]
Startup = Literal[
    "earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets"
]
Bounded = Literal["unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets"]
Partitions = Annotated[tuple[tuple[int, int], ...], BeforeValidator(_specific)]


_Format = Literal["json", "csv", "raw", "avro", "avro-confluent"]
FORMATS: Final[tuple[str, ...]] = get_args(_Format)
Format = Annotated[_Format, BeforeValidator(lowered)]
_SourceFormat = Literal[_Format, "debezium-json", "debezium-avro-confluent"]
SOURCE_FORMATS: Final[tuple[str, ...]] = get_args(_SourceFormat)
SourceFormat = Annotated[_SourceFormat, BeforeValidator(lowered)]
Kind = Annotated[Literal["append-only", "upsert"], BeforeValidator(lowered)]
"""What messages are: rows, or what their keys have now."""


class KafkaOptions(Options, CsvOptions):
    """Of both sides. What begins with ``properties.`` is kept besides, see `properties`.

    ``type``: of an ``upsert`` topic a message is what its key has now, and one without a value says
    that there is nothing more.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    servers: str = Field(min_length=1, alias=SERVERS)
    format: SourceFormat
    type: Kind = "append-only"
    key_format: Format | None = Field(None, alias="key.format")
    key_fields: Annotated[Topics, BeforeValidator(listed)] = Field((), alias="key.fields")
    key_prefix: str = Field("", alias="key.fields-prefix")
    value_fields: Annotated[Literal["ALL", "EXCEPT_KEY"], BeforeValidator(_upper)] = Field(
        "ALL", alias="value.fields-include"
    )
    registry_url: str | None = Field(None, alias="avro-confluent.url")
    registry_user: str | None = Field(None, alias="avro-confluent.basic-auth.user-info")
    registry_subject: str | None = Field(None, alias="avro-confluent.subject")
    registry_ca: str | None = Field(None, alias="avro-confluent.ssl.ca.location")

    @field_validator("registry_user")
    @classmethod
    def _is_reference(cls, value: str | None) -> str | None:
        if value is not None and not has_reference(value):
            raise SecretError(AS_REFERENCE)
        return value

    @field_validator("registry_url")
    @classmethod
    def _tells_no_secret(cls, value: str | None) -> str | None:
        if value is not None and _USER_IN_URL.search(value) and not has_reference(value):
            raise SecretError(AS_REFERENCE)
        return value

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for form in (self.format, self.key_format or ""):
            if form.endswith("avro-confluent") and not self.registry_url:
                raise ValueError(f"format '{form}' needs the option 'avro-confluent.url'")
        if self.key_format and not self.key_fields:
            raise ValueError("'key.format' needs 'key.fields', the columns of the key")
        if self.value_fields == "EXCEPT_KEY" and not self.key_format:
            raise ValueError("'value.fields-include' = 'EXCEPT_KEY' needs 'key.format'")
        if self.key_prefix and not self.key_fields:
            raise ValueError("'key.fields-prefix' needs 'key.fields', the columns of the key")
        for name in self.key_fields:
            if not name.startswith(self.key_prefix) or name == self.key_prefix:
                raise ValueError(
                    f"'key.fields' names '{name}', which does not begin with"
                    f" 'key.fields-prefix' = '{self.key_prefix}'"
                )
        return self

    @property
    def properties(self) -> dict[str, str]:
        """What the client is made with; secrets are references still."""
        extra = self.model_extra or {}
        return {
            "bootstrap.servers": self.servers,
            **{name.removeprefix(PREFIX): str(value) for name, value in extra.items()},
        }


class KafkaSourceOptions(ChangesOptions, SourceOptions, KafkaOptions):
    """Where reading starts and ends, what is read, how watermarks are made."""

    topics: Annotated[Topics, BeforeValidator(_topics)] = Field((), alias="topic")
    pattern: str = Field("", alias="topic-pattern")
    startup: Annotated[Startup | None, BeforeValidator(_mode)] = Field(
        None, alias="scan.startup.mode"
    )
    startup_ms: Annotated[int, Field(ge=0)] | None = Field(
        None, alias="scan.startup.timestamp-millis"
    )
    startup_offsets: Partitions = Field((), alias="scan.startup.specific-offsets")
    bounded: Annotated[Bounded, BeforeValidator(_mode)] = Field(
        "unbounded", alias="scan.bounded.mode"
    )
    bounded_ms: Annotated[int, Field(ge=0)] | None = Field(
        None, alias="scan.bounded.timestamp-millis"
    )
    bounded_offsets: Partitions = Field((), alias="scan.bounded.specific-offsets")
    discovery_us: Duration = Field(300_000_000, alias="scan.topic-partition-discovery.interval")
    fail_on_data_loss: bool = Field(True, alias="scan.fail-on-data-loss")
    idle_timeout_us: Duration = Field(0, alias="scan.watermark.idle-timeout")
    watermark_default: Literal["source", "none"] = Field("source", alias="scan.watermark.default")
    ignore_parse_errors: Quarantined = Field("true", alias="json.ignore-parse-errors")
    fail_on_missing_field: Lenient = Field("false", alias="json.fail-on-missing-field")
    key_ignore_parse_errors: Quarantined = Field("true", alias="key.json.ignore-parse-errors")
    key_fail_on_missing_field: Lenient = Field("false", alias="key.json.fail-on-missing-field")
    csv_ignore_parse_errors: Quarantined = Field("true", alias="csv.ignore-parse-errors")
    timestamp_format: Annotated[Literal["SQL", "ISO-8601"], BeforeValidator(_upper)] = Field(
        "SQL", alias="json.timestamp-format.standard"
    )

    @field_validator("pattern")
    @classmethod
    def _is_pattern(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from None
        return pattern

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if bool(self.topics) == bool(self.pattern):
            raise ValueError("a 'kafka' source needs either 'topic' or 'topic-pattern'")
        if self.key_fields and not self.key_form:
            raise ValueError("'key.fields' needs 'key.format', in which a key is read")
        if self.type == "upsert" and (self.format.startswith("debezium") or self.op_column):
            raise ValueError(
                f"of an upsert topic a message puts or deletes its key, but"
                f" {'its column' if self.op_column else 'its format'} says what happens: write"
                " connector = 'kafka'"
            )
        several = len(self.topics) != 1
        for mode, name, moment, offsets in (
            (self.startup, "startup", self.startup_ms, self.startup_offsets),
            (self.bounded, "bounded", self.bounded_ms, self.bounded_offsets),
        ):
            # What belongs to another mode has no effect, as in Flink: a hint may change the mode.
            if mode == "timestamp" and moment is None:
                raise ValueError(
                    f"'scan.{name}.mode' = 'timestamp' needs 'scan.{name}.timestamp-millis'"
                )
            if mode == "specific-offsets" and not offsets:
                raise ValueError(
                    f"'scan.{name}.mode' = 'specific-offsets' needs 'scan.{name}.specific-offsets'"
                )
            if mode == "specific-offsets" and several:
                raise ValueError("specific offsets are for a table of one topic")
            if mode == "group-offsets" and "group.id" not in self.properties:
                raise ValueError(
                    f"'scan.{name}.mode' = 'group-offsets' needs 'properties.group.id'"
                )
        return self

    @property
    def key_form(self) -> str:
        """The format of keys; that of an upsert topic's is its values', if nothing is said."""
        return self.key_format or (self.format if self.type == "upsert" else "")

    @property
    def startup_mode(self) -> Startup:
        """Flink's default where there is a group to ask, else the beginning: nothing is missed."""
        if self.startup is not None:
            return self.startup
        if self.startup_ms is not None:
            return "timestamp"
        if self.startup_offsets:
            return "specific-offsets"
        return "group-offsets" if "group.id" in self.properties else "earliest-offset"


class KafkaSinkOptions(KafkaOptions):
    """Where rows go and what is promised about them.

    ``buckets``: how many partitions the topic has; where it is not
    there, it is made.
    """

    topic: str = Field(min_length=1)
    partitioner: Annotated[Literal["default", "fixed", "round-robin"], BeforeValidator(lowered)] = (
        Field("default", alias="sink.partitioner")
    )
    guarantee: Annotated[
        Literal["exactly-once", "at-least-once", "none"], BeforeValidator(lowered)
    ] = Field("exactly-once", alias="sink.delivery-guarantee")
    id_prefix: str = Field("", alias="sink.transactional-id-prefix", max_length=200)
    transaction_timeout_us: Annotated[Duration, Field(ge=1_000_000)] = Field(
        60_000_000, alias="sink.transaction-timeout"
    )
    force_append_only: bool = False
    buckets: Annotated[int, Field(ge=1, le=100_000)] | None = Field(None, alias="sink.buckets")
    timestamp_format: Annotated[Literal["SQL"], BeforeValidator(_upper)] = Field(
        "SQL", alias="json.timestamp-format.standard"
    )

    @field_validator("format")
    @classmethod
    def _is_written(cls, form: str) -> str:
        if form == debezium.AVRO:
            raise ValueError("it is read, not written; write 'debezium-json'")
        return form

    @field_validator("topic")
    @classmethod
    def _is_one(cls, topic: str) -> str:
        if len(names_in(topic)) != 1:
            raise ValueError("a sink writes into one topic")
        return topic


def is_secret(name: str) -> bool:
    """Whether the value of a ``properties.*`` option is one that nobody shall see."""
    return _SECRET.search(name.removeprefix(PREFIX)) is not None


def is_path(name: str, value: str) -> bool:
    """Whether an option names a file; ``probe``: the client looks where certificates mostly are."""
    return _PATH.fullmatch(name) is not None and value != "probe"


def check_property(name: str, value: str) -> None:
    """Checks one ``properties.*`` option. Raises ValueError with what is wrong."""
    plain = name.removeprefix(PREFIX)
    wrong = SecretError if is_secret(name) else ValueError
    if _FUNCTION.fullmatch(plain):
        raise wrong("librdkafka has no such property, see its CONFIGURATION.md")
    if plain in _OURS:
        raise wrong(f"it cannot be set: {_OURS[plain]}")
    if is_secret(name) and not has_reference(value):
        raise wrong(AS_REFERENCE)


ALIASES: Final[Mapping[str, str]] = {
    "properties.bootstrap.server": SERVERS,
    "kafka.brokers": SERVERS,
    "kafka.topic": "topic",
    "topics": "topic",
    "value.format": "format",
    "scan.startup.timestamp.millis": "scan.startup.timestamp-millis",
    "scan.startup.timestamp_millis": "scan.startup.timestamp-millis",
    "schema.registry": "avro-confluent.url",
    "value.avro-confluent.url": "avro-confluent.url",
    "value.avro-confluent.subject": "avro-confluent.subject",
    "value.avro-confluent.basic-auth.user-info": "avro-confluent.basic-auth.user-info",
    "value.csv.field-delimiter": "csv.field-delimiter",
    "value.csv.quote-character": "csv.quote-character",
    "value.csv.null-literal": "csv.null-literal",
    "value.csv.ignore-parse-errors": "csv.ignore-parse-errors",
    "value.json.ignore-parse-errors": "json.ignore-parse-errors",
    "value.json.fail-on-missing-field": "json.fail-on-missing-field",
    "value.json.timestamp-format.standard": "json.timestamp-format.standard",
    "group.id": "properties.group.id",
    "primary_key": "key.fields",
    "failondataloss": "scan.fail-on-data-loss",
}
MAY_CHANGE: Final = (
    *("properties.", "scan.startup.", "scan.topic-partition-discovery."),
    *("scan.fail-on-data-loss", "sink.transaction-timeout"),
)
"""What options begin with that may change from run to run: where brokers are, who we are to them,
what to do when rows are lost. Where a job began, it has begun."""
AS_WHOM: Final = (
    *("properties.", "avro-confluent.basic-auth.", "avro-confluent.ssl."),
    "sink.transaction-timeout",
)
"""What options begin with that don't say where rows go, but for `SERVERS`."""
