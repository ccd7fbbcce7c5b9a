"""Which columns a table of PostgreSQL can have: said when a file is checked, and of a table that is
there already."""

from __future__ import annotations

import re
from typing import Any, Final

import duckdb

from tidegate.connectors.option_types import OptionProblem
from tidegate.connectors.postgres.options import PostgresOptions, check_name
from tidegate.errors import did_you_mean
from tidegate.plan.tables import Table

_TYPES: Final = {
    "boolean": "boolean",
    "tinyint": "smallint",
    "utinyint": "smallint",
    "smallint": "smallint",
    "usmallint": "integer",
    "integer": "integer",
    "uinteger": "bigint",
    "bigint": "bigint",
    "ubigint": "numeric(20,0)",
    "hugeint": "numeric(39,0)",
    "float": "real",
    "double": "double precision",
    "varchar": "text",
    "blob": "bytea",
    "uuid": "uuid",
    "date": "date",
    "time": "time without time zone",
    "timestamp": "timestamp without time zone",
    "timestamp with time zone": "timestamp with time zone",
}
NESTED: Final = frozenset(("list", "struct"))
_DIGITS: Final = {"smallint": 5, "integer": 10, "bigint": 19}
_WIDER: Final = {
    "smallint": ("integer", "bigint"),
    "integer": ("bigint",),
    "real": ("double precision",),
    "text": ("character varying",),
}


def pg_type(type_: str) -> str | None:
    """The type of PostgreSQL for a DuckDB type, as `format_type` writes it; None: there is none."""
    found = duckdb.sqltype(type_)
    if found.id == "decimal":
        parts: dict[str, Any] = dict(found.children)
        return f"numeric({parts['precision']},{parts['scale']})"
    if found.id in NESTED:
        return "jsonb" if _has_json(found) else None
    return _TYPES.get(found.id)


def _has_json(type_: Any) -> bool:
    if type_.id in NESTED:
        return all(_has_json(child) for _, child in type_.children)
    return type_.id in _TYPES or type_.id == "decimal"


def holds(there: str, wanted: str) -> bool:
    """Whether a column of type ``there`` holds all values of type ``wanted``."""
    if there == wanted or there in _WIDER.get(wanted, ()):
        return True
    if there == "numeric":
        return wanted in _DIGITS or wanted.startswith("numeric")
    has, needs = _digits(there), _digits(wanted)
    if has is None or needs is None or not there.startswith("numeric"):
        return False
    return has[0] >= needs[0] and has[1] >= needs[1]


def _digits(type_: str) -> tuple[int, int] | None:
    """How many digits a number has before and behind its point."""
    if type_ in _DIGITS:
        return _DIGITS[type_], 0
    found = re.fullmatch(r"numeric\((\d+),(\d+)\)", type_)
    return (int(found[1]) - int(found[2]), int(found[2])) if found else None


def check_postgres(table: Table, options: PostgresOptions) -> None:
    """Raises OptionProblem for columns that a table of PostgreSQL cannot have, or a wrong key."""
    names = [column.name for column in table.columns]
    for column in table.columns:
        try:
            check_name(column.name)
        except ValueError as error:
            raise OptionProblem(
                "connector", f"column '{column.name}' of '{table.name}': {error}"
            ) from None
        if pg_type(column.type) is None:
            raise OptionProblem(
                "connector",
                f"column '{column.name}' of '{table.name}' is {column.type}, which the postgres"
                " sink has no type for",
                hint="cast it: to DECIMAL, BIGINT or VARCHAR",
            )
    types = {column.name: pg_type(column.type) for column in table.columns}
    for name in options.key_fields:
        if name not in names:
            raise OptionProblem(
                "key.fields",
                f"'key.fields' names '{name}', which is not a column of table '{table.name}'",
                hint=did_you_mean(name, names),
            )
        if types[name] == "jsonb":
            raise OptionProblem(
                "key.fields",
                f"column '{name}' of '{table.name}' cannot be in a key: it is kept as jsonb",
                hint="cast it to VARCHAR, or take another column",
            )
    if not options.key_fields and "key.fields" in dict(table.options):
        raise OptionProblem(
            "key.fields",
            f"'key.fields' of '{table.name}' names no column",
            hint="leave it out, or write PRIMARY KEY (…) NOT ENFORCED",
        )
    if options.type == "upsert" and not options.key_fields:
        raise OptionProblem(
            "type",
            f"'{table.name}' is an upsert table without a key",
            hint="declare PRIMARY KEY (…) NOT ENFORCED, or give 'key.fields'",
        )
