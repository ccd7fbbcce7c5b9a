"""What an error means by its SQLSTATE or, where there is none, by its words. A real server's are in
tests/postgres/test_faults.py."""

from __future__ import annotations

import psycopg
import pytest

from tidegate.connectors.option_types import parsed
from tidegate.connectors.postgres.faults import Kind, explained, fault_of
from tidegate.connectors.postgres.options import PostgresOptions

_AT = 'connection failed: connection to server at "10.0.0.1", port 5432 failed: '


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (_AT + 'FATAL:  password authentication failed for user "u"', Kind.LOGIN),
        (_AT + 'FATAL:  role "u" does not exist', Kind.LOGIN),
        (_AT + 'FATAL:  database "TLS" does not exist', Kind.DATABASE),
        (_AT + "server does not support SSL, but SSL was required", Kind.TLS),
        (_AT + "tlsv1 alert unknown ca", Kind.TLS),
        (_AT + "SSL error: certificate verify failed", Kind.TLS),
        ('connection is bad: root certificate file "/ca" does not exist', Kind.TLS),
        (_AT + "SSL SYSCALL error: Connection reset by peer", Kind.AWAY),
        (_AT + "SSL SYSCALL error: EOF detected\n" + _AT + "Connection refused", Kind.AWAY),
        (_AT + "SSL error: unexpected eof while reading", Kind.AWAY),
        (_AT + "Connection refused\n\tIs the server running on that host?", Kind.AWAY),
        ("connection timeout expired", Kind.AWAY),
        (_AT + "FATAL:  the database system is starting up", Kind.NO_SESSION),
        (_AT + "SCHWERWIEGEND:  die Rolle »u« existiert nicht", Kind.NO_SESSION),
    ],
)
def test_without_a_session_words_tell(words: str, kind: Kind) -> None:
    fault = fault_of(psycopg.OperationalError(words), has_session=False)
    assert (fault.kind, fault.passing) == (kind, kind in (Kind.AWAY, Kind.NO_SESSION))
    assert fault.text == " ".join(words.split())


@pytest.mark.parametrize("has_session", [False, True])
@pytest.mark.parametrize(
    ("state", "kind", "passing"),
    [
        ("28P01", Kind.LOGIN, False),
        ("3D000", Kind.DATABASE, False),
        ("42501", Kind.RIGHTS, False),
        ("3F000", Kind.SCHEMA, False),
        ("57014", Kind.SLOW, True),
        ("57P01", Kind.LOST, True),
        ("57P03", Kind.LOST, True),
        ("08006", Kind.LOST, True),
        ("53300", Kind.ROWS, True),
        ("40P01", Kind.ROWS, True),
        ("55P03", Kind.ROWS, True),
        ("25006", Kind.ROWS, True),
        ("23505", Kind.ROWS, False),
        ("42P01", Kind.ROWS, False),
    ],
)
def test_an_sqlstate_tells_whatever_the_words(
    state: str, kind: Kind, passing: bool, has_session: bool
) -> None:
    error = psycopg.errors.lookup(state)("SSL, certificate, does not exist")
    fault = fault_of(error, has_session=has_session)
    assert (fault.kind, fault.passing, fault.state) == (kind, passing, state)


def test_a_session_that_was_lost() -> None:
    lost = psycopg.OperationalError("consuming input failed: SSL SYSCALL error: EOF detected")
    fault = fault_of(lost, has_session=True)
    assert (fault.kind, fault.passing) == (Kind.LOST, True)
    fault = fault_of(lost, has_session=True, silent_s=12.0)
    assert (fault.kind, fault.passing, fault.text) == (Kind.LOST, True, "it was silent for 12 s")


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_is_explained(kind: Kind) -> None:
    pairs = (("database", "shop"), ("host", "db"), ("table", "s.t"))
    options = parsed(PostgresOptions, pairs)
    fault = fault_of(psycopg.OperationalError("words"), has_session=False)
    error = explained(type(fault)(kind, False, fault.text), "orders", options)
    assert "table 'orders'" in error.message
    assert "words" in error.detail
    assert error.hint
    assert "{" not in error.render()
