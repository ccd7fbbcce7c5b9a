"""The Avro schema of a table's columns, as Flink derives it.

Every field is a union with null, whose default is null; a STRUCT is a record named after the way
to it. Types that Flink does not have are the nearest that loses nothing. A TIMESTAMP or TIMESTAMPTZ
counts from the epoch in UTC, in milliseconds as Flink's (``ms``), or in microseconds (``us``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal

import duckdb

from tidegate.errors import OptionsError
from tidegate.types import Schema

Unit = Literal["ms", "us"]
NAMESPACE: Final = "org.apache.flink.avro.generated"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN: Final[Mapping[str, Any]] = {
    "boolean": "boolean",
    "tinyint": "int",
    "smallint": "int",
    "integer": "int",
    "utinyint": "int",
    "usmallint": "int",
    "uinteger": "long",
    "bigint": "long",
    "ubigint": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 0},
    "hugeint": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 0},
    "float": "float",
    "double": "double",
    "varchar": "string",
    "uuid": "string",
    "blob": "bytes",
    "date": {"type": "int", "logicalType": "date"},
}
_TIMES: Final[Mapping[Unit, Any]] = {
    "ms": {"type": "int", "logicalType": "time-millis"},
    "us": {"type": "long", "logicalType": "time-micros"},
}
_MOMENTS: Final[Mapping[Unit, Any]] = {
    "ms": {"type": "long", "logicalType": "timestamp-millis"},
    "us": {"type": "long", "logicalType": "timestamp-micros"},
}


@lru_cache(maxsize=64)
def derived(schema: Schema, unit: Unit) -> str:
    """The Avro schema of ``schema``, as JSON.

    Raises OptionsError when a name or a type of it is not supported in Avro.
    """
    fields = [(column.name, duckdb.sqltype(column.type)) for column in schema]
    return json.dumps(_record(fields, f"{NAMESPACE}.record", unit, set()))


def _record(fields: list[tuple[str, Any]], name: str, unit: Unit, names: set[str]) -> Any:
    while name in names:  # a_b in a record, and b in a record a
        name += "_"
    names.add(name)
    for field, _ in fields:
        if not _NAME.fullmatch(field):
            raise OptionsError(
                f"'{field}' cannot be a field of an Avro record",
                hint="a name has letters of ASCII, digits and '_'; rename the column",
            )
    return {
        "type": "record",
        "name": name,
        "fields": [
            {
                "name": field,
                "type": _nullable(type_, f"{name}_{field}", unit, names),
                "default": None,
            }
            for field, type_ in fields
        ],
    }


def _nullable(type_: Any, name: str, unit: Unit, names: set[str]) -> Any:
    return ["null", _type(type_, name, unit, names)]


def _type(type_: Any, name: str, unit: Unit, names: set[str]) -> Any:
    match type_.id:
        case "time":
            return _TIMES[unit]
        case "timestamp" | "timestamp with time zone":
            return _MOMENTS[unit]
        case "decimal":
            sizes = dict(type_.children)
            return {"type": "bytes", "logicalType": "decimal", **sizes}
        case "struct":
            return _record(type_.children, name, unit, names)
        case "list":
            return {"type": "array", "items": _nullable(type_.children[0][1], name, unit, names)}
        case "map" if type_.children[0][1].id == "varchar":
            return {"type": "map", "values": _nullable(type_.children[1][1], name, unit, names)}
        case id_ if id_ in _PLAIN:
            return _PLAIN[id_]
    raise OptionsError(
        f"type {type_} is not supported in Avro",
        detail=f"it is the type of '{name.removeprefix(f'{NAMESPACE}.record_')}'",
        hint="cast it to VARCHAR; the keys of a MAP must be VARCHAR",
    )
