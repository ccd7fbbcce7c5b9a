"""What an error of a server means: said here alone, for what is shown and for what is tried again.

An error has an SQLSTATE when a session is there. Where none could be made, psycopg has the words of
libpq and of the server only. Those of the server are in its own language: in another one than
English they are `NO_SESSION`, which is tried again, since it may be starting.

What is shown of an error has no value of a row in it: rows may be private, and come from anybody.
The server's log has the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

import psycopg

from tidegate.connectors.postgres.options import PostgresOptions
from tidegate.errors import OptionsError, RunError, SinkError, TidegateError


class Kind(Enum):
    """What is wrong: the error that it is, what is said of it, and what is to be done."""

    LOGIN = (
        OptionsError,
        "the server at {place} refuses the login",
        "check 'user', 'password' and 'sslmode', and the server's pg_hba.conf",
    )
    DATABASE = (
        OptionsError,
        "the server at {place} has no database '{database}'",
        "make it: CREATE DATABASE …; or name another in 'database'",
    )
    TLS = (
        OptionsError,
        "no encrypted connection to the server at {place}",
        "check 'sslmode' and 'sslrootcert', and what the server offers",
    )
    RIGHTS = (
        OptionsError,
        "the server at {place} does not let this user write",
        (
            'GRANT SELECT, INSERT, UPDATE, DELETE ON "{schema}"."{table}" and on'
            ' "{schema}"."{guard}", TEMPORARY ON the database; CREATE ON the schema,'
            " where one of the two tables is still to be made"
        ),
    )
    SCHEMA = (
        OptionsError,
        "there is no schema '{schema}'",
        "make it: CREATE SCHEMA …; or name another in 'schema'",
    )
    AWAY = (
        RunError,
        "no answer from the server at {place}",
        "check 'host' and 'port', and that a PostgreSQL is running there",
    )
    NO_SESSION = (
        RunError,
        "the server at {place} gives no session",
        "it may be starting, or full; else check 'user', 'password' and 'database'",
    )
    LOST = (
        RunError,
        "the server at {place} does not answer any more",
        "the job goes on from its checkpoint when it is started again",
    )
    SLOW = (
        RunError,
        "a statement took longer than 'statement.timeout'",
        "raise it, or make epochs smaller: tidegate.epoch.rows.max",
    )
    ROWS = (SinkError, "the server at {place} does not take the rows", "")

    def __init__(self, error: type[TidegateError], message: str, hint: str) -> None:
        self.error, self.message, self.hint = error, message, hint


@dataclass(frozen=True, slots=True)
class Fault:
    """An error, understood. ``passing``: another attempt may go well, nobody has refused us or the
    rows. ``text``: what may be shown of it. ``state``: its SQLSTATE, or empty."""

    kind: Kind
    passing: bool
    text: str
    state: str = ""


_STATES: Final = {
    "57014": Kind.SLOW,
    "42501": Kind.RIGHTS,
    "3F000": Kind.SCHEMA,
    "3D000": Kind.DATABASE,
}
_LOGIN_CLASS: Final = "28"
_LOST: Final = ("08", "57P")
"""The connection, or an operator who has ended it."""
_PASSING_CLASSES: Final = ("08", "40", "53", "57")
"""Connections, serialisation and deadlocks, resources, operators' interventions and time-outs."""
_PASSING: Final = ("55P03", "25006")
"""A lock is not to be had in time; a server that reads only, as one that is taking over does."""

_NAMES: Final = re.compile(r'"[^"\n]*"|host(addr)?:? \'[^\'\n]*\'')
"""Of hosts, users and databases: what they are called says nothing."""
_LINE_LOST: Final = re.compile(
    r"SSL SYSCALL error.*|SSL error: unexpected eof.*|SSL connection has been closed.*"
    r"|could not send SSL negotiation packet.*",
    re.IGNORECASE,
)
"""The connection was lost while it was made: it has to do with the line, not with TLS."""
_WORDS: Final = (
    (
        Kind.LOGIN,
        re.compile(
            r"authentication failed|no password supplied|no pg_hba\.conf entry|pg_hba\.conf rejects"
            r'|is not permitted to log in|permission denied for database|role "" does not exist'
        ),
    ),
    (Kind.DATABASE, re.compile(r'database "" does not exist')),
    (Kind.TLS, re.compile(r"SSL|TLS|certificate|private key", re.IGNORECASE)),
    (Kind.NO_SESSION, re.compile(r":  \S")),
)
"""The last is how libpq puts the server's own words, in whatever language: behind two blanks."""

_HAS_VALUES: Final = ("22", "38", "39", "P0")
"""Classes whose messages quote what is wrong with a value, or are made by somebody's function."""
_SYNTAX: Final = "42601"
"""Of a statement that a trigger puts together: ours have no such error."""
_FUNCTIONS: Final = re.compile(r"(?:.*/)?(?:pl_|plpy_|plperl|pltcl)")
"""Sources of the server that raise what a function in its language says."""
_HAS_DETAILS: Final = ("08", "0A", "28", "2B", "3D", "3F", "40", "42", "53", "55", "57", "58")
"""Classes whose details have no values: of any other they are `Failing row contains (…)`."""


def fault_of(error: psycopg.Error, *, has_session: bool, silent_s: float | None = None) -> Fault:
    """What ``error`` means. ``silent_s``: we have cut the session off, which said nothing for so
    long."""
    state = error.sqlstate or ""
    if silent_s is not None:
        return Fault(Kind.LOST, _is_passing(error), f"it was silent for {silent_s:.0f} s", state)
    if state:
        other = Kind.LOST if state.startswith(_LOST) else Kind.ROWS
        kind = Kind.LOGIN if state.startswith(_LOGIN_CLASS) else _STATES.get(state, other)
        return Fault(kind, _is_passing(error), _text(error), state)
    if has_session:
        return Fault(Kind.LOST, _is_passing(error), _flat(error))
    words = _LINE_LOST.sub("", _NAMES.sub('""', str(error)))
    kind = next((kind for kind, pattern in _WORDS if pattern.search(words)), Kind.AWAY)
    return Fault(kind, kind in (Kind.NO_SESSION, Kind.AWAY), _flat(error))


def _is_passing(error: psycopg.Error) -> bool:
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state[:2] in _PASSING_CLASSES or state in _PASSING


def _flat(error: psycopg.Error) -> str:
    return " ".join(str(error).split())


def _text(error: psycopg.Error) -> str:
    """What the server said, without what it quotes of rows, nor lines of context."""
    diagnosis, state = error.diag, error.sqlstate or ""
    by_function = _FUNCTIONS.match(diagnosis.source_file or "") is not None
    if not by_function and state[:2] not in _HAS_VALUES and state != _SYNTAX:
        has_details = state[:2] in _HAS_DETAILS
        parts = (diagnosis.message_primary, diagnosis.message_detail if has_details else None)
        return "; ".join(part for part in parts if part) or _condition(error)
    named = (
        ("constraint", diagnosis.constraint_name),
        ("column", diagnosis.column_name),
        ("type", diagnosis.datatype_name),
    )
    shown = [f'{what} "{name}"' for what, name in named if name]
    return "; ".join([_condition(error), *shown, "what it says is in the server's log"])


def _condition(error: psycopg.Error) -> str:
    """The SQLSTATE's name; of those that are a function's own there is none."""
    try:
        name = psycopg.errors.lookup(error.sqlstate or "").__name__
    except KeyError:
        return "an error of its own"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def explained(fault: Fault, table: str, options: PostgresOptions) -> TidegateError:
    """``fault`` as what is shown to who has written ``options`` of ``table``."""
    kind, detail, (schema, name) = fault.kind, fault.text, options.target
    words = {"place": options.place, "database": options.place.database}
    words |= {"schema": schema, "table": name, "guard": options.guard}
    hint = kind.hint.format(**words)
    if kind is Kind.ROWS:
        detail, hint = f"{detail} ({fault.state})", _hint(fault.state)
    return kind.error(f"table '{table}': {kind.message.format(**words)}", detail=detail, hint=hint)


def _hint(state: str) -> str:
    if state == "23502":
        return "a column does not take NULL: say WHERE … IS NOT NULL in the query, or alter it"
    if state.startswith("23"):
        return "a constraint of the table refuses a row: leave such rows out, or alter the table"
    if state in ("42P01", "42703", "42P10"):
        return "it was there when the job began: somebody has altered the table"
    return "check the table, and the server's log"
