"""Asks DuckDB for types and constants, on an engine without data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Final

import duckdb
import pyarrow as pa

from tidegate.engine.engine import Engine, shared_engine
from tidegate.plan.nodes import Expr, quoted
from tidegate.plan.user_functions import UserFunction
from tidegate.types import Column, Schema

NULL_TYPE: Final = '"NULL"'
_INTEGERS: Final = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}
    | {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"}
)


class TypeCheckError(Exception):
    """DuckDB refused an expression; the message is its first sentence."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A constant interval; months have no fixed length."""

    months: int
    days: int
    us: int

    @property
    def fixed_us(self) -> int | None:
        """Its length in microseconds with days of 24 hours, None when it has months."""
        return None if self.months else self.days * 86_400_000_000 + self.us


class TypeChecker:
    """Types of expressions over typed columns. Answers are cached: plans ask again and again."""

    def __init__(self, time_zone: str = "UTC") -> None:
        self.time_zone = time_zone
        shared_engine(time_zone)  # a zone that there is not is found out here
        self._own: Engine | None = None
        self._answers: dict[str, pa.Table] = {}
        self.declared: list[UserFunction] = []

    @property
    def zone_is_fixed(self) -> bool:
        """Whether local and universal time differ by a constant."""
        return self.time_zone.upper() in ("UTC", "GMT", "ETC/UTC", "ETC/GMT", "Z")

    def type_of(self, sql: str, schema: Schema) -> str:
        """The DuckDB type of ``sql`` over columns of ``schema``. Raises TypeCheckError."""
        source = ", ".join(
            f"CAST(NULL AS {column.type}) AS {quoted(column.name)}" for column in schema
        )
        query = f"DESCRIBE SELECT {sql} FROM (SELECT {source or '1'})"
        if self.declared:
            return _type_in(self._run(query))
        with _refusals():
            return _type(self.time_zone, query)

    def common(self, one: str, other: str) -> str | None:
        """The type to which values of both types are converted, None where there is none."""
        if one == other:
            return one
        try:
            mixed = f"CASE WHEN true THEN CAST(NULL AS {one}) ELSE CAST(NULL AS {other}) END"
            return self.type_of(mixed, ())
        except TypeCheckError:
            return None

    def interval(self, sql: str) -> Interval | None:
        """The value of a constant interval, None when it is NULL. Raises TypeCheckError."""
        value = self._run(f"SELECT CAST(({sql}) AS INTERVAL)").column(0)[0].as_py()
        if value is None:
            return None
        months, days, nanoseconds = value
        return Interval(months, days, nanoseconds // 1000)

    def integer(self, sql: str, scale: int = 0) -> int | None:
        """A constant number times ``10**scale``, None where that is no integer."""
        table = self._run(f"SELECT CAST(({sql}) * {10**scale} AS DECIMAL(38,6))")
        value = table.column(0)[0].as_py()
        return int(value) if value is not None and value == int(value) else None

    def is_true(self, sql: str) -> bool:
        """Whether a constant condition holds. Raises TypeCheckError."""
        return self.truth(sql) is True

    def truth(self, sql: str) -> bool | None:
        """A constant condition's value, None where it is NULL. Raises TypeCheckError."""
        value: bool | None = self._run(f"SELECT {sql}").column(0)[0].as_py()
        return value

    def fields(self, type_: str) -> dict[str, str]:
        """The fields of a STRUCT type and their types; empty for other types."""
        arrow = self._engine.arrow_schema((Column("c", type_),)).field(0).type
        if not pa.types.is_struct(arrow):
            return {}
        outer = (Column("c", type_),)
        names = [arrow.field(index).name for index in range(arrow.num_fields)]
        return {name: self.type_of(struct_field(quoted("c"), name), outer) for name in names}

    def functions(self, kind: str) -> frozenset[str]:
        """Names of functions of a kind: scalar, aggregate, macro, window."""
        own = frozenset(function.name for function in self.declared)
        return _function_names()[kind] | own if kind == "scalar" else _function_names()[kind]

    def declare(self, function: UserFunction) -> None:
        """Adds a user's function."""
        if self._own is None:  # the shared engine knows none, and others' statements ask it
            self._own = Engine(self.time_zone)
        self._own.declare(function)
        self._answers.clear()
        self.declared.append(function)

    def forget(self, name: str) -> None:
        """Drops a user's function."""
        self._engine.forget(name)
        self._answers.clear()
        self.declared = [function for function in self.declared if function.name != name]

    @property
    def _engine(self) -> Engine:
        return self._own or shared_engine(self.time_zone)

    def _run(self, query: str) -> pa.Table:
        if query not in self._answers:
            with _refusals():
                self._answers[query] = self._engine.query(query)
        return self._answers[query]


def struct_field(sql: str, name: str) -> str:
    return f"struct_extract({sql}, '{name.replace(chr(39), chr(39) * 2)}')"


def is_integer(type_: str) -> bool:
    return type_ in _INTEGERS


def is_numeric(type_: str) -> bool:
    return is_integer(type_) or type_ in ("FLOAT", "DOUBLE") or type_.startswith("DECIMAL(")


def converted(value: Expr, type_: str) -> Expr:
    """``value`` as ``type_``; its order stays where both are numbers."""
    if value.type == type_:
        return value
    keeps = value.monotone_in if is_numeric(value.type) and is_numeric(type_) else None
    return replace(
        value,
        sql=f"CAST({value.sql} AS {type_})",
        type=type_,
        monotone_in=keeps,
        lost="" if keeps else f"a cast to {type_} does not keep the order",
    )


@lru_cache(maxsize=4096)
def _type(time_zone: str, query: str) -> str:
    """The type that ``query`` describes, in every file of this process that has no functions."""
    return _type_in(shared_engine(time_zone).query(query))


def _type_in(answer: pa.Table) -> str:
    return str(answer.column("column_type")[0].as_py())


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise TypeCheckError(_first_sentence(str(error))) from None


@cache
def words_of_sql() -> frozenset[str]:
    """Words that DuckDB reads otherwise than as a function's name: its types, and keywords."""
    rows = shared_engine().query(
        "SELECT lower(type_name) AS word FROM duckdb_types() UNION ALL"
        " SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
    )
    return frozenset(rows.column("word").to_pylist())


@cache
def _function_names() -> dict[str, frozenset[str]]:
    rows = shared_engine().query(
        "SELECT DISTINCT lower(function_name) AS name, function_type AS kind"
        " FROM duckdb_functions()"
    )
    names: dict[str, set[str]] = {}
    for row in rows.to_pylist():
        names.setdefault(row["kind"], set()).add(row["name"])
    return {kind: frozenset(found) for kind, found in names.items()}


def _first_sentence(message: str) -> str:
    line = re.sub(r"^\w+ Error: ", "", message.strip()).split("\n", maxsplit=1)[0]
    line = re.split(r"(?<=[.!])\s", line, maxsplit=1)[0].rstrip(".!: ")
    return line.replace("INTEGER_LITERAL", "INTEGER").replace("STRING_LITERAL", "VARCHAR")
