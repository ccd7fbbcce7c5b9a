"""Sessions of a server: how they are made, and how long they wait. What their errors mean is said
in `faults`.

A session lives for one transaction: what an epoch costs in full is far more than a login, a
password that was changed is read anew, and a server that took over is found.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from threading import Timer
from typing import Any, Final, TypeVar

import psycopg

from tidegate.clock import Clock
from tidegate.connectors.postgres.faults import explained, fault_of
from tidegate.connectors.postgres.options import PostgresOptions
from tidegate.connectors.secrets import masked, resolved
from tidegate.errors import OptionsError, TidegateError
from tidegate.events import EVENTS, SINK_RETRY
from tidegate.patience import Patience, Waiting

_T = TypeVar("_T")

_LOG: Final = logging.getLogger("tidegate.postgres")


@dataclass(frozen=True, slots=True)
class PostgresPatience:
    """All times, in seconds, that the table's options don't say."""

    grace_s: float = 10.0
    """How much longer than the server's own limit we wait for it to say that it is over."""
    lock_s: int = 10
    """How long a transaction of an earlier driver may go on before its session is ended."""
    away: Patience = Patience(0.0, pause_s=0.1, pause_s_max=2.0)
    """For a server that is away, as long as an option says: it may be there again at once."""


USUAL: Final = PostgresPatience()


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
    patience: PostgresPatience = USUAL
    _secrets: set[str] = field(default_factory=set, repr=False)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """One session and one transaction, which is rolled back unless it is committed.

        Raises `Failed`, which says what is wrong, and whether another attempt may go well.
        """
        session: Session | None = None
        try:
            connection = psycopg.connect(**self._parameters())
            limit_s = self.options.statement_us / 1e6 + self.patience.grace_s
            session = Session(connection, limit_s)
            self._set_up(session)
            yield session
        except psycopg.Error as error:
            raise self._failed(error, session) from None
        finally:
            if session is not None:
                session.end()

    def attempt(self, action: Callable[[Session], _T], *, again: bool = False) -> _T:
        """What ``action`` gives in a session of its own; raises what is wrong as TidegateError.

        ``again``: in one session after the other until the server does its work.
        """
        in_all_s = self.options.retry_us / 1e6 if again else 0.0
        waiting = Waiting(replace(self.patience.away, in_all_s=in_all_s), self.clock)
        warned = False
        while True:
            try:
                with self.session() as session:
                    done = action(session)
            except Failed as failed:
                error, passing = failed.error, failed.passing
            except Exception:  # of ours: the server has answered
                self._log_return(warned, waiting)
                raise
            else:
                self._log_return(warned, waiting)
                return done
            if not passing or not waiting.again():
                raise error  # here, where no cause goes with it
            if not warned:
                words = "%s; waiting for it, at most %.0f s: %s"
                _LOG.warning(words, error.message, in_all_s, error.detail)
            EVENTS.happened(SINK_RETRY)
            warned = True

    def _log_return(self, warned: bool, waiting: Waiting) -> None:
        if warned:
            words = "table '%s': the server at %s is there again, after %.1f s"
            passed_s = self.clock.monotonic_s() - waiting.begun_s
            _LOG.warning(words, self.table, self.options.place, passed_s)

    def _failed(self, error: psycopg.Error, session: Session | None) -> Failed:
        silent_s = session.limit_s if session is not None and session.was_cut else None
        fault = fault_of(error, has_session=session is not None, silent_s=silent_s)
        fault = replace(fault, text=masked(fault.text, self._secrets))
        return Failed(explained(fault, self.table, self.options), fault.passing)

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


class Failed(Exception):  # noqa: N818 -- not for users, who see its ``error``
    """What went wrong in a session; ``passing``: another attempt may go well."""

    def __init__(self, error: TidegateError, passing: bool) -> None:
        super().__init__(error)
        self.error = error
        self.passing = passing
