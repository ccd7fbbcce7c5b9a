"""The vectorised engine: DuckDB SQL over Arrow tables, in memory, one thread (design §2).

One `Engine` serves all executors of a worker. It can't see files, network or extensions: the SQL
that it runs has expressions of users in it. The session time zone is UTC unless set (S12).
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

import duckdb
import pyarrow as pa

from tidegate.engine.limits import UNSHARED, Limits
from tidegate.engine.texts import MACROS
from tidegate.engine.user_functions import declare, install
from tidegate.plan.user_functions import UserFunction
from tidegate.types import Schema

_LOCKED_DOWN = (
    "SET enable_external_access = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET preserve_insertion_order = true",
    # Else a query of two seconds draws a bar on the terminal, or into the log.
    "SET enable_progress_bar = false",
    # It hoists what two expressions share out of TRY(…), where a failing row then fails the query.
    "SET disabled_optimizers = 'common_subexpressions'",
)

INVALIDATING: Final = (duckdb.InternalException, duckdb.FatalException)
"""Errors after which DuckDB refuses whatever a database is asked."""


class Engine:
    """A private DuckDB. Not thread-safe; results are Arrow tables that own their memory."""

    def __init__(
        self,
        time_zone: str = "UTC",
        functions: Iterable[UserFunction] = (),
        limits: Limits = UNSHARED,
    ) -> None:
        """``limits``: what it may take of its host."""
        self.time_zone = time_zone
        self._limits = limits
        self._functions = tuple(functions)
        self._declared: dict[str, UserFunction] = {}
        self._arrow_types: dict[str, pa.DataType] = {}
        self._open(0)

    def _open(self, epoch_us: int) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        for setting in (*self._limits.settings(), *_LOCKED_DOWN):
            self._connection.execute(setting)
        self._connection.execute(f"SET TimeZone = '{self.time_zone.replace(chr(39), '')}'")
        self._epoch_us: int | None = None
        self._reads_texts = False
        self.set_epoch_time(epoch_us)
        install(self._connection, self._functions)
        for function in self._declared.values():
            declare(self._connection, function)
        self._connection.execute("SET lock_configuration = true")

    def declare(self, function: UserFunction) -> None:
        """Makes the types of a user's function known; this engine cannot call it."""
        declare(self._connection, function)
        self._declared[function.name] = function

    def forget(self, name: str) -> None:
        """Takes a user's function away."""
        self._connection.remove_function(name)
        self._declared.pop(name, None)

    def set_epoch_time(self, time_us: int) -> None:
        """What ``getvariable('epoch_time')`` gives from now on: the epoch's recorded time (S6)."""
        if time_us != self._epoch_us:  # the actors of a task all say it
            sql = f"SET VARIABLE epoch_time = make_timestamptz({time_us}::BIGINT)"
            self._connection.execute(sql)
            self._epoch_us = time_us

    def query(self, sql: str, tables: Mapping[str, pa.Table] | None = None) -> pa.Table:
        """Runs ``sql``; ``tables`` are visible under their names. Row order is kept.

        Raises duckdb.Error when an expression fails on a row: use ``TRY(…)`` where rows decide.
        After one of `INVALIDATING` it has a new database, and serves on.
        """
        if not self._reads_texts and ("__to_" in sql or "__instead_of(" in sql):
            self._connection.execute(MACROS)  # 20 ms of CPU, for which few jobs have a use
            self._reads_texts = True
        names = tables or {}
        for name, table in names.items():
            self._connection.register(name, table)
        try:
            result: pa.Table = self._connection.sql(sql).to_arrow_table()
        except INVALIDATING:
            self._open(self._epoch_us or 0)
            raise
        except UnicodeDecodeError:  # a message that quotes the row, cut within a character
            message = "the statement failed on a row; DuckDB's message is not UTF-8"
            raise duckdb.InvalidInputException(message) from None
        finally:
            for name in names:
                self._connection.unregister(name)
        return result

    def arrow_schema(self, schema: Schema) -> pa.Schema:
        """The Arrow schema of ``schema``'s DuckDB types. Asked once for each: actors ask a lot."""
        known = self._arrow_types
        asked = [name for name in dict.fromkeys(c.type for c in schema) if name not in known]
        if asked:
            nulls = ", ".join(f"CAST(NULL AS {name}) AS c{at}" for at, name in enumerate(asked))
            fields = self.query(f"SELECT {nulls} LIMIT 0").schema
            known.update((name, field.type) for name, field in zip(asked, fields, strict=True))
        return pa.schema([pa.field(column.name, known[column.type]) for column in schema])

    def empty(self, schema: Schema) -> pa.Table:
        """A table of ``schema`` without rows."""
        return self.arrow_schema(schema).empty_table()


def engine_of(
    time_zone: str, functions: tuple[UserFunction, ...], limits: Limits = UNSHARED
) -> Engine:
    """One for a job; this thread's, unless the job has functions that others must not see."""
    if functions:
        return Engine(time_zone, functions, limits)
    return shared_engine(time_zone, limits)


def shared_engine(time_zone: str = "UTC", limits: Limits | None = None) -> Engine:
    """This thread's own, without functions of users: to make one takes 40 ms of CPU.

    Without ``limits`` they are those of this thread's job, if it has one.
    """
    if limits is not None:
        _mine.limits = limits
    engines, key = _mine.engines, (time_zone, _mine.limits)
    if key not in engines:
        engines[key] = Engine(time_zone, limits=_mine.limits)
    return engines[key]


class _Mine(threading.local):
    limits = UNSHARED

    @cached_property
    def engines(self) -> dict[tuple[str, Limits], Engine]:
        atexit.register(vars(self).clear)  # DuckDB complains of what outlives it
        return {}


_mine = _Mine()
