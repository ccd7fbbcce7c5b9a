"""Sessions of a server: how they are made, how long they wait, and what their errors mean.

    login or rights refused, no such database     OptionsError (2): the file is wrong
    the server is away, or does not answer        RunError (1): it may be there the next time
    it does not take the rows                     SinkError (1)

A session lives for one transaction: what an epoch costs in full is far more than a login, a
password that was changed is read anew, and a server that took over is found.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Timer
from typing import Any, Final, TypeVar

import psycopg

from tidegate.clock import Clock
from tidegate.connectors.postgres.options import PostgresOptions
from tidegate.connectors.secrets import resolved
from tidegate.errors import OptionsError, RunError, SinkError, TidegateError

_T = TypeVar("_T")

_GRACE_S: Final = 10.0
"""How much longer than the server's own limit we wait for it to say that it is over."""
_PAUSE_S: Final = (0.1, 0.5, 1.0, 2.0)
_LOGIN: Final = (
    *("password authentication failed", "no password supplied", "no pg_hba.conf entry"),
    *("pg_hba.conf rejects", "authentication failed", "is not permitted to log in"),
    *("certificate authentication", "permission denied for database"),
)
_NO_TLS: Final = ("SSL", "certificate", "TLS")
_PASSING_CLASSES: Final = ("08", "40", "53", "57")
"""Connections, serialisation and deadlocks, resources, operators' interventions and time-outs."""
_PASSING: Final = ("55P03", "25006")
"""A lock is not to be had in time; a server that reads only, as one that is taking over does."""


@dataclass(slots=True)
class Session:
    """An open connection, whose statements are given up when nothing comes of them in time."""

    connection: psycopg.Connection[Any]
    limit_s: float
    was_cut: bool = False

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Cuts the connection off when what is done in it lasts longer than the server allows.

        A server that was stopped keeps connections up, and its kernel answers for it: no setting
        of TCP finds that.
        """
        timer = Timer(self.limit_s, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @contextmanager
    def waiting(self, seconds: int) -> Iterator[None]:
        """Statements in it wait no longer than this for a lock."""
        self.run(f"SELECT set_config('lock_timeout', '{seconds}s', true)")
        yield
        self.run(f"SELECT set_config('lock_timeout', '{self.limit_s:.0f}s', true)")

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of one statement; ``%s`` in it stand for ``values``."""
        with self.limited():
            cursor = self.connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def copy(self, statement: str, parts: Iterator[memoryview]) -> None:
        """``COPY … FROM STDIN`` of what ``parts`` give."""
        with self.limited(), self.connection.cursor().copy(statement.encode()) as copy:
            for part in parts:
                copy.write(part)

    def commit(self) -> None:
        with self.limited():
            self.connection.commit()

    def end(self) -> None:
        """Undoes what is not committed, and goes."""
        with suppress(psycopg.Error), self.limited():
            self.connection.rollback()
        self.connection.close()

    def _cut(self) -> None:
        self.was_cut = True
        with (
            suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(self.connection.fileno())) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)


@dataclass(slots=True)
class Server:
    """Where a table is, and as whom we go there. ``application`` is what sessions are called."""

    table: str
    options: PostgresOptions
    application: str
    clock: Clock
    _secrets: set[str] = field(default_factory=set, repr=False)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """One session and one transaction, which is rolled back unless it is committed.

        Raises a TidegateError that says what is wrong; one that `is_passing` has its cause.
        """
        session: Session | None = None
        try:
            connection = psycopg.connect(**self._parameters())
            session = Session(connection, self.options.statement_us / 1e6 + _GRACE_S)
            self._set_up(session)
            yield session
        except psycopg.Error as error:
            raise Failed(self.explained(error, session), is_passing(error, session)) from None
        finally:
            if session is not None:
                session.end()

    def attempt(self, action: Callable[[Session], _T]) -> _T:
        """What ``action`` gives in a session of its own; raises what is wrong as TidegateError."""
        return self._tried(action, 0.0)

    def again(self, action: Callable[[Session], _T]) -> _T:
        """As `attempt`, in one session after the other until the server does its work."""
        return self._tried(action, self.options.retry_us / 1e6)

    def _tried(self, action: Callable[[Session], _T], patience_s: float) -> _T:
        until_s = self.clock.monotonic_s() + patience_s
        tries = 0
        while True:
            try:
                with self.session() as session:
                    return action(session)
            except Failed as failed:
                error, passing = failed.error, failed.passing
            if not passing or self.clock.monotonic_s() >= until_s:
                raise error  # here, where no cause goes with it
            self.clock.sleep(_PAUSE_S[min(tries, len(_PAUSE_S) - 1)])
            tries += 1

    def _parameters(self) -> dict[str, Any]:
        options, place = self.options, self.options.place
        files = {name: getattr(options, name) for name in ("sslrootcert", "sslcert", "sslkey")}
        given = {
            "user": self._resolved("user", options.user),
            "password": self._resolved("password", options.password),
            **files,
            # Of several hosts the one that takes rows; a single one says itself that it does not.
            "target_session_attrs": "read-write" if "," in place.hosts else "",
        }
        return {
            "host": place.hosts,
            "port": place.ports,
            "dbname": place.database,
            "sslmode": options.sslmode,
            "gssencmode": "disable",
            "client_encoding": "UTF8",
            "application_name": self.application,
            "connect_timeout": max(2, -(-options.connect_us // 1_000_000)),
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 4,
            "tcp_user_timeout": 30_000,
            **{name: value for name, value in given.items() if value},
        }

    def _resolved(self, name: str, value: str) -> str:
        try:
            found, secrets = resolved(value)
        except OptionsError as error:
            raise OptionsError(
                f"table '{self.table}': option '{name}': {error.message}", hint=error.hint
            ) from None
        self._secrets |= secrets
        return found

    def _set_up(self, session: Session) -> None:
        """Settings of the transaction: another user of a pooled session has their own."""
        limit = f"{self.options.statement_us // 1000}ms"
        settings = {
            "statement_timeout": limit,
            "lock_timeout": limit,
            "idle_in_transaction_session_timeout": limit,
            "DateStyle": "ISO, YMD",
        }
        calls = ", ".join(f"set_config('{n}', '{value}', true)" for n, value in settings.items())
        session.connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        # A commit that a crash of the server takes back would not be made again by the job.
        session.run(
            f"SELECT {calls}, set_config('synchronous_commit', CASE"
            " current_setting('synchronous_commit') WHEN 'off' THEN 'on'"
            " ELSE current_setting('synchronous_commit') END, true)"
        )

    def masked(self, text: str) -> str:
        """``text`` without secrets; the longest go first: one may be a part of another."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    def explained(self, error: psycopg.Error, session: Session | None) -> TidegateError:
        """What ``error`` means; ``session`` None: there was none yet."""
        place, name = self.options.place, f"table '{self.table}'"
        detail = self.masked(_told(error))
        if session is None:
            return self._no_session(detail)
        if session.was_cut or error.sqlstate is None:
            if session.was_cut:
                detail = f"it was silent for {session.limit_s:.0f} s"
            return RunError(
                f"{name}: the server at {place} does not answer any more",
                detail=detail,
                hint="the job goes on from its checkpoint when it is started again",
            )
        if error.sqlstate == "57014":
            return RunError(
                f"{name}: a statement took longer than 'statement.timeout'",
                detail=detail,
                hint="raise it, or make epochs smaller: tidegate.epoch.rows.max",
            )
        if error.sqlstate == "42501":
            schema, table = self.options.target
            return OptionsError(
                f"{name}: the server at {place} does not let this user write",
                detail=detail,
                hint=f'GRANT SELECT, INSERT, UPDATE, DELETE ON "{schema}"."{table}" and on'
                f' "{schema}"."{self.options.guard}", TEMPORARY ON the database; CREATE ON the'
                " schema, where one of the two tables is still to be made",
            )
        if error.sqlstate == "3F000":
            return OptionsError(
                f"{name}: there is no schema '{self.options.target[0]}'",
                detail=detail,
                hint="make it: CREATE SCHEMA …; or name another in 'schema'",
            )
        return SinkError(
            f"{name}: the server at {place} does not take the rows",
            detail=f"{detail} ({error.sqlstate})",
            hint=_hint(error.sqlstate),
        )

    def _no_session(self, detail: str) -> TidegateError:
        place, name = self.options.place, f"table '{self.table}'"
        if any(words in detail for words in _LOGIN) or _is_no_role(detail):
            return OptionsError(
                f"{name}: the server at {place} refuses the login",
                detail=detail,
                hint="check 'user', 'password' and 'sslmode', and the server's pg_hba.conf",
            )
        if 'database "' in detail and "does not exist" in detail:
            return OptionsError(
                f"{name}: the server at {place} has no database '{place.database}'",
                detail=detail,
                hint="make it: CREATE DATABASE …; or name another in 'database'",
            )
        if any(word in detail for word in _NO_TLS):
            return OptionsError(
                f"{name}: no encrypted connection to the server at {place}",
                detail=detail,
                hint="check 'sslmode' and 'sslrootcert', and what the server offers",
            )
        return RunError(
            f"{name}: no answer from the server at {place}",
            detail=detail,
            hint="check 'host' and 'port', and that a PostgreSQL is running there",
        )


class Failed(Exception):  # noqa: N818 -- not for users, who are told its ``error``
    """What went wrong in a session; ``passing``: another attempt may go well."""

    def __init__(self, error: TidegateError, passing: bool) -> None:
        super().__init__(error)
        self.error = error
        self.passing = passing


def is_passing(error: psycopg.Error, session: Session | None) -> bool:
    """Whether it may go well the next time: nobody has refused us, or the rows."""
    state = error.sqlstate
    if session is None and state is None:
        text = str(error)
        refused = (*_LOGIN, "does not exist", "SSL", "certificate")
        return not any(words in text for words in refused)
    if state is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state[:2] in _PASSING_CLASSES or state in _PASSING


def _is_no_role(detail: str) -> bool:
    return 'role "' in detail and "does not exist" in detail


def _told(error: psycopg.Error) -> str:
    """What the server said; without the lines of context, in which rows are quoted."""
    diagnosis = error.diag
    if diagnosis.message_primary:
        parts = (diagnosis.message_primary, diagnosis.message_detail)
        return "; ".join(part for part in parts if part)
    return " ".join(str(error).split())


def _hint(state: str) -> str:
    if state == "23502":
        return "a column does not take NULL: say WHERE … IS NOT NULL in the query, or alter it"
    if state.startswith("23"):
        return "a constraint of the table refuses a row: leave such rows out, or alter the table"
    if state in ("42P01", "42703", "42P10"):
        return "it was there when the job began: somebody has altered the table"
    return "check the table, and the server's log"
