"""What is wrong with a server, a login or a table is told in a sentence, and never the password."""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from typing import Any

import pytest

from kafka.broker import free_ports
from postgres.kit import PASSWORD, VARIABLE, Sink, options, unique
from postgres.server import Server
from tidegate.connectors.options import validate_options
from tidegate.connectors.postgres.sink import PostgresCommitter
from tidegate.errors import OptionsError, RunError, SinkError, TidegateError, TrustError
from tidegate.plan.tables import Table
from tidegate.types import Column

_COLUMNS = (Column("k", "BIGINT"), Column("n", "DECIMAL(10,2)"))


def refused(server: Server, directory: Path, **more: str) -> TidegateError:
    """What `prepare` says with other options."""
    pairs = validate_options("postgres", "sink", {**options(server, "t"), **more})
    committer = PostgresCommitter(Table("t", _COLUMNS, "postgres", "", pairs), str(directory))
    with pytest.raises(TidegateError) as caught:
        committer.prepare(True)
    return caught.value


@pytest.mark.parametrize(
    ("more", "kind", "message", "hint"),
    [
        ({"password": "${env:WRONG}"}, OptionsError, "refuses the login", "pg_hba.conf"),
        ({"user": "nobody"}, OptionsError, "refuses the login", "'user'"),
        ({"password": "${env:MISSING}"}, OptionsError, "option 'password'", "for the driver"),
        ({"database": "none"}, OptionsError, "has no database 'none'", "CREATE DATABASE"),
        ({"schema": "none"}, OptionsError, "no schema 'none'", "CREATE SCHEMA"),
        ({"sslmode": "require"}, OptionsError, "no encrypted connection", "'sslmode'"),
        ({"sslmode": "verify-full"}, OptionsError, "no encrypted connection", "'sslrootcert'"),
        ({"host": "host.invalid"}, RunError, "no answer from the server", "'host' and 'port'"),
    ],
)
def test_a_server_that_does_not_let_us_in(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    more: dict[str, str],
    kind: type[TidegateError],
    message: str,
    hint: str,
) -> None:
    monkeypatch.setenv("WRONG", "nicht-" + PASSWORD)
    caplog.set_level(logging.DEBUG)
    found = refused(server, tmp_path, **more)
    assert isinstance(found, kind)
    assert message in found.message
    assert hint in found.hint
    assert PASSWORD not in found.render() + caplog.text
    assert found.__cause__ is None


def test_a_server_that_is_away_or_silent(server: Server, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    found = refused(server, tmp_path, port=str(port))
    assert isinstance(found, RunError)
    assert f"no answer from the server at 127.0.0.1:{port}" in found.message
    with socket.create_server(("127.0.0.1", 0)) as silent:
        more = {"port": str(silent.getsockname()[1]), "connect.timeout": "2s"}
        found = refused(server, tmp_path, **more)
    assert isinstance(found, RunError)
    assert "no answer" in found.message


_KEY = ("k",)
_MISFITS = [
    ("CREATE TABLE {} (k bigint, m text)", None, "no column 'n' (it has k bigint, m text)"),
    ("CREATE TABLE {} (k bigint, n numeric(9,2))", None, "numeric(9,2), which does not hold"),
    ("CREATE TABLE {} (k integer, n numeric)", None, "'k' is integer, which does not hold"),
    ("CREATE TABLE {} (k bigint, n numeric)", _KEY, "no unique key of it is (k)"),
    ("CREATE TABLE {} (k bigint UNIQUE, n numeric)", (), "no unique key of it is ((true))"),
    (
        "CREATE TABLE {} (k bigint UNIQUE DEFERRABLE, n numeric)",
        _KEY,
        "no unique key of it is (k)",
    ),
    (
        "CREATE TABLE {} (k bigint UNIQUE, n numeric)",
        _KEY,
        "its key (k) does not hold rows with NULL together",
    ),
    ("CREATE TABLE {} (k bigint, n numeric, m int NOT NULL)", None, "'m' must not be NULL"),
    (
        "CREATE TABLE {} (k bigint GENERATED ALWAYS AS IDENTITY, n numeric)",
        None,
        "'k' is made by the server",
    ),
    ("CREATE UNLOGGED TABLE {} (k bigint, n numeric)", None, "it is UNLOGGED"),
    ("CREATE VIEW {} AS SELECT 1::bigint AS k, 2::numeric AS n", None, "it is a view"),
]


@pytest.mark.parametrize(("made", "key", "words"), _MISFITS)
def test_a_table_that_does_not_fit(
    server: Server, tmp_path: Path, made: str, key: tuple[str, ...] | None, words: str
) -> None:
    sink = Sink(server, tmp_path, ("k", "BIGINT"), ("n", "DECIMAL(10,2)"), key=key)
    server.run(made.format(sink.name))
    with pytest.raises(OptionsError, match="cannot be written into") as caught:
        sink.committer()
    assert words in caught.value.message


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE {} (m int DEFAULT 1 NOT NULL, n numeric(20,4), k numeric(19,0) PRIMARY KEY)",
        (
            "CREATE TABLE {} (k bigint NOT NULL, n numeric, UNIQUE (k)) PARTITION BY HASH (k);"
            "CREATE TABLE {}_0 PARTITION OF {} FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
        ),
    ],
)
def test_a_table_that_is_there_and_fits(server: Server, tmp_path: Path, made: str) -> None:
    sink = Sink(server, tmp_path, ("k", "BIGINT"), ("n", "DECIMAL(10,2)"), key=_KEY)
    for statement in made.split(";"):
        server.run(statement.format(sink.name, sink.name))
    sink.committer().publish(1, sink.staged(1, ("1", "2"), ("1", "3")))
    assert server.run(f'SELECT k::int, n::int FROM "{sink.name}"') == [(1, 3)]


def test_a_table_whose_rows_may_be_hidden(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = unique("hidden")
    server.run(f"CREATE ROLE {user} LOGIN PASSWORD 'secret'")
    server.run(f"CREATE SCHEMA {user} AUTHORIZATION {user}")
    monkeypatch.setenv(VARIABLE, "secret")
    more = {"user": user, "schema": user}
    sink = Sink(server, tmp_path, ("k", "BIGINT"), key=_KEY, name="t", **more)
    sink.committer()
    server.run(f"ALTER TABLE {user}.t ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
    with pytest.raises(OptionsError, match="row-level security") as caught:
        sink.committer(2)
    assert "BYPASSRLS" in caught.value.hint
    server.run(f"ALTER ROLE {user} BYPASSRLS")
    sink.committer(2)


def test_a_table_that_is_gone(server: Server, tmp_path: Path) -> None:
    sink = Sink(server, tmp_path, ("k", "BIGINT"))
    committer = sink.committer()
    server.run(f'DROP TABLE "{sink.name}"')
    with pytest.raises(SinkError, match="does not take the rows") as caught:
        committer.publish(1, sink.staged(1, ("1",)))
    assert "somebody has altered" in caught.value.hint
    with pytest.raises(TrustError, match="is gone from the database"):
        sink.committer(2)


def test_a_database_that_has_no_place_for_every_text(server: Server, tmp_path: Path) -> None:
    name = unique("latin")
    server.run(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    found = refused(server, tmp_path, database=name)
    assert "kept in LATIN1" in found.message


_RIGHTS: list[tuple[tuple[str, ...], type[TidegateError] | None, str]] = [
    ((), OptionsError, "permission denied for schema"),
    (("CREATE ON SCHEMA {s}",), None, ""),
    (("ALL ON {s}.tidegate_epochs",), OptionsError, "permission denied for table t"),
    (
        ("ALL ON {s}.tidegate_epochs", "SELECT, INSERT, UPDATE ON {s}.t"),
        OptionsError,
        "permission denied for table t",
    ),
    (
        (
            "SELECT, INSERT, UPDATE ON {s}.tidegate_epochs",
            "SELECT, INSERT, UPDATE, DELETE ON {s}.t",
        ),
        None,
        "",
    ),
]


@pytest.mark.parametrize(("rights", "kind", "words"), _RIGHTS)
def test_rights(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rights: tuple[str, ...],
    kind: Any,
    words: str,
) -> None:
    user = unique("writer")
    server.run(f"CREATE ROLE {user} LOGIN PASSWORD 'secret'")
    server.run(f"CREATE SCHEMA {user}")
    server.run(f"GRANT USAGE ON SCHEMA {user} TO {user}")
    if not any("CREATE" in right for right in rights):
        server.run(f"CREATE TABLE {user}.t (k bigint PRIMARY KEY, n numeric)")
        if rights:
            server.run(
                f"CREATE TABLE {user}.tidegate_epochs (sink text PRIMARY KEY, job_table text,"
                " epoch bigint, term bigint, applied_at timestamptz)"
            )
    for right in rights:
        server.run(f"GRANT {right.format(s=user)} TO {user}")
    monkeypatch.setenv(VARIABLE, "secret")
    columns = (("k", "BIGINT"), ("n", "DECIMAL(10,2)"))
    more = {"user": user, "schema": user}
    sink = Sink(server, tmp_path, *columns, key=_KEY, name="t", **more)
    if kind is None:
        sink.committer().publish(1, sink.staged(1, ("1", "2")))
        assert server.run(f"SELECT k FROM {user}.t") == [(1,)]
        return
    with pytest.raises(kind, match="does not let this user write") as caught:
        sink.committer()
    assert words in caught.value.detail
    assert "GRANT" in caught.value.hint
