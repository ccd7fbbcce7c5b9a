"""The WITH options of `postgres` tables: RisingWave's names; those of Flink's JDBC are aliases.

The password must be a reference (`tidegate.connectors.secrets`): options are shown in plans and
kept in checkpoints.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self
from urllib.parse import unquote

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from tidegate.connectors.hosts import remote
from tidegate.connectors.option_types import Duration, Options, listed, lowered
from tidegate.connectors.secrets import AS_REFERENCE, SecretError, has_reference

NAME_BYTES_MAX: Final = 63
"""Of a longer name PostgreSQL takes the beginning, without an error."""
_URL: Final = re.compile(r"(?:jdbc:)?postgres(?:ql)?://([^/?#@]+)/([^/?#]+)(?:\?(.*))?")
SECRET_IN_URL: Final = re.compile(
    r":.*@|\?.*(?:pass|pwd|secret|token|%)", re.IGNORECASE | re.DOTALL
)
"""What may be a user with a password, or a password in a query, by whatever name (``sslpassword``):
rather too much is hidden than too little."""
_NOT_IN_URL: Final = "leave user and password out of it: they are options"
_SSL_MODES = Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a database is; ``hosts`` and ``ports`` as the client library takes them."""

    hosts: str
    ports: str
    database: str

    def __str__(self) -> str:
        names, ports = self.hosts.split(","), self.ports.split(",")
        ports *= len(names) // len(ports)
        return ",".join(f"{name}:{port}" for name, port in zip(names, ports, strict=True))


class PostgresOptions(Options):
    """Where rows go, as whom, and how long to wait.

    ``key_fields`` tell rows apart. ``type``: what is said of the rows; without it a table with a
    key, or of results that change, is an ``upsert`` one.
    """

    url: str = ""
    host: str = ""
    port: int = Field(5432, ge=1, le=65535)
    database: str = ""
    schema_: str = Field("", alias="schema")
    table: str = Field(min_length=1)
    user: str = ""
    password: str = ""
    sslmode: Annotated[_SSL_MODES, BeforeValidator(lowered)] = "prefer"
    sslrootcert: str = ""
    sslcert: str = ""
    sslkey: str = ""
    type: Annotated[Literal["append-only", "upsert"] | None, BeforeValidator(lowered)] = None
    key_fields: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field((), alias="key.fields")
    guard: str = Field("tidegate_epochs", alias="sink.epochs-table", min_length=1)
    connect_us: Annotated[Duration, Field(ge=1_000_000)] = Field(
        10_000_000, alias="connect.timeout"
    )
    statement_us: Annotated[Duration, Field(ge=1_000_000)] = Field(
        300_000_000, alias="statement.timeout"
    )
    retry_us: Duration = Field(60_000_000, alias="connection.max-retry-timeout")

    @field_validator("password")
    @classmethod
    def _is_reference(cls, value: str) -> str:
        if value and not has_reference(value):
            raise SecretError(AS_REFERENCE)
        return value

    @field_validator("url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        match = _URL.fullmatch(url)
        if (match is None or match[3]) and SECRET_IN_URL.search(url):
            raise SecretError(_NOT_IN_URL if has_reference(url) else AS_REFERENCE)
        if match is None:
            raise ValueError("write 'jdbc:postgresql://HOST:PORT/DATABASE'")
        if match[3]:
            name = match[3].partition("=")[0]
            raise ValueError(f"'{name}' behind '?' is not read: what there is are options")
        for host in match[1].split(","):
            if not re.fullmatch(r"[^:]+(:\d{1,5})?", host):
                raise ValueError(f"'{host}' is no HOST:PORT")
        return url

    @field_validator("host", "database")
    @classmethod
    def _is_no_url(cls, value: str) -> str:
        if SECRET_IN_URL.search(value):
            raise SecretError(_NOT_IN_URL if has_reference(value) else AS_REFERENCE)
        return value

    @field_validator("schema_", "guard")
    @classmethod
    def _is_name(cls, name: str) -> str:
        check_name(name)
        return name

    @field_validator("table")
    @classmethod
    def _are_names(cls, table: str, info: ValidationInfo) -> str:
        for name in _target(info.data.get("schema_", ""), table):
            check_name(name)
        return table

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.url and self.model_fields_set & {"host", "port", "database"}:
            raise ValueError("'url' says what 'host', 'port' and 'database' say: write it once")
        if not self.url and not (self.host and self.database):
            raise ValueError("it needs 'host' and 'database', or 'url'")
        if self.type == "append-only" and self.key_fields:
            raise ValueError(
                "'type' = 'append-only' adds every row, so that no key tells them apart: leave"
                " out one of the two"
            )
        return self

    @property
    def place(self) -> Place:
        if not self.url:
            return Place(self.host, str(self.port), self.database)
        match = _URL.fullmatch(self.url)
        assert match is not None
        pairs = [host.partition(":") for host in match[1].split(",")]
        ports = ",".join(port or "5432" for _, _, port in pairs)
        return Place(",".join(host for host, _, _ in pairs), ports, unquote(match[2]))

    @property
    def target(self) -> tuple[str, str]:
        """Schema and name of the table; ``schema.table`` is read where no schema is given."""
        return _target(self.schema_, self.table)


def _target(given: str, table: str) -> tuple[str, str]:
    schema, dot, name = table.partition(".")
    if given or not dot or "." in name or not (schema and name):
        return given or "public", table
    return schema, name


def check_name(name: str) -> None:
    """Raises ValueError for what PostgreSQL cannot call a table or column."""
    if len(name.encode()) > NAME_BYTES_MAX:
        raise ValueError(f"names in PostgreSQL have at most {NAME_BYTES_MAX} bytes")
    if "\0" in name:
        raise ValueError("names in PostgreSQL have no NUL character")


def is_path(name: str, value: str) -> bool:
    """Whether an option names a file; ``system``: the certificates that the machine trusts."""
    return name in ("sslrootcert", "sslcert", "sslkey") and value != "system"


def exposed(options: PostgresOptions) -> Iterator[str]:
    """See `tidegate.connectors.connector.Connector.exposes`."""
    away = remote(options.place.hosts.split(","))
    has_password = bool(options.password or os.environ.get("PGPASSWORD"))
    if away and has_password and options.sslmode in ("disable", "allow", "prefer"):
        yield (
            f"the password goes to {', '.join(away)} with 'sslmode' = '{options.sslmode}', so also"
            " without TLS: whoever is on the way may read it, and the rows; write 'require', or"
            " 'verify-full' with 'sslrootcert'"
        )


ALIASES: Final[Mapping[str, str]] = {
    "jdbc.url": "url",
    "hostname": "host",
    "username": "user",
    "database-name": "database",
    "database.name": "database",
    "schema-name": "schema",
    "schema.name": "schema",
    "table-name": "table",
    "table.name": "table",
    "primary_key": "key.fields",
    "ssl_mode": "sslmode",
    "ssl.mode": "sslmode",
    "ssl_root_cert": "sslrootcert",
    "ssl.root.cert": "sslrootcert",
}
"""RisingWave's sinks and Flink's."""
AS_WHOM: Final = (
    *("user", "password", "ssl"),
    *("connect.timeout", "statement.timeout", "connection.max-retry-timeout"),
)
"""What options begin with that don't say where rows go."""
HOW_IT_IS_REACHED: Final = ("url", "host", "port", *AS_WHOM)
"""What options begin with that may change from run to run: the guard row knows the job again."""
