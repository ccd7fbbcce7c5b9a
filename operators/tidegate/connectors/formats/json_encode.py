"""Rows to JSON lines: one SQL statement, the bytes of its one string column are the file.

Timestamps are ``YYYY-MM-DD HH:MM:SS``, with ``.ffffff`` when there is a fraction, and those of BC
as DuckDB writes them; TIMESTAMPTZ the same in UTC. Decimals are numbers with all their digits, NULL
is null, BLOB is base64. NaN and the infinities are strings ("NaN", "Infinity", "-Infinity"): JSON
has no number for them. A MAP is an object, its keys the texts of their values. Decode reads all of
it back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import duckdb
import pyarrow as pa

from tidegate.connectors.formats.json_scan import string_bytes
from tidegate.connectors.formats.json_shape import is_nested
from tidegate.connectors.formats.text_rules import decimal_text, literal
from tidegate.engine.engine import Engine
from tidegate.plan.nodes import quoted
from tidegate.types import Schema

_NUMBERS: Final = {
    *("tinyint", "smallint", "integer", "bigint", "hugeint"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
    *("decimal", "boolean"),
}


def encode(data: pa.Table, schema: Schema, engine: Engine) -> bytes:
    """``data`` as JSON lines, each ended by a newline. Columns are taken by name."""
    lines = encode_lines(data, schema, engine, "\n")
    return joined(lines)


def encode_lines(data: pa.Table, schema: Schema, engine: Engine, end: str = "") -> pa.ChunkedArray:
    """``data`` as one JSON object per row, each followed by ``end``."""
    return engine.query(_sql(schema, end), {"input": data}).column(0)


def joined(lines: pa.ChunkedArray) -> bytes:
    """All strings of ``lines``, end to end."""
    return b"".join(string_bytes(chunk)[0].tobytes() for chunk in lines.chunks)


@lru_cache(maxsize=64)
def _sql(schema: Schema, end: str) -> str:
    fields = [(c.name, quoted(c.name), duckdb.sqltype(c.type)) for c in schema]
    text = _object(fields)
    tail = " || chr(10)" if end == "\n" else ""
    return f"SELECT {text}{tail} AS line FROM input"


def _object(fields: Sequence[tuple[str, str, Any]]) -> str:
    parts = []
    for index, (name, sql, type_) in enumerate(fields):
        key = ("," if index else "{") + json.dumps(name, ensure_ascii=False) + ":"
        parts += [literal(key), f"coalesce({value_text(sql, type_)}, 'null')"]
    return f"concat({', '.join([*parts, literal('}' if fields else '{}')])})"


def value_text(sql: str, type_: Any) -> str:
    """DuckDB SQL for the JSON text of a value of type ``type_``; NULL where the value is NULL."""
    kind = type_.id
    if kind == "decimal":
        return decimal_text(sql, **dict(type_.children))
    if kind in _NUMBERS:
        return f"CAST({sql} AS VARCHAR)"
    if kind in ("float", "double"):
        special = f"CASE WHEN isnan({sql}) THEN '\"NaN\"' WHEN {sql} > 0 THEN '\"Infinity\"' "
        special += f"WHEN {sql} < 0 THEN '\"-Infinity\"' END"
        return f"CASE WHEN isfinite({sql}) THEN CAST({sql} AS VARCHAR) ELSE {special} END"
    if kind == "timestamp":
        return _in_quotes(timestamp_text(sql))
    if kind == "timestamp with time zone":
        return _in_quotes(timestamp_text(f"timezone('UTC', {sql})"))
    if kind == "blob":
        return _in_quotes(f"to_base64({sql})")
    if kind == "struct":
        inner = _object(
            [(name, f"{sql}[{literal(name)}]", child) for name, child in type_.children]
        )
        return f"CASE WHEN {sql} IS NULL THEN NULL ELSE {inner} END"
    if kind == "list":
        element = f"coalesce({value_text('element', type_.children[0][1])}, 'null')"
        joined = f"array_to_string(list_transform({sql}, lambda element: {element}), ',')"
        return f"'[' || {joined} || ']'"
    if kind == "map":
        key, value = (child for _, child in type_.children)
        name, item = _key_text("entry['key']", key), value_text("entry['value']", value)
        entry = f"{name} || ':' || coalesce({item}, 'null')"
        joined = f"array_to_string(list_transform(map_entries({sql}), lambda entry: {entry}), ',')"
        return f"'{{' || {joined} || '}}'"
    return f"CAST(to_json(CAST({sql} AS VARCHAR)) AS VARCHAR)"


def _key_text(sql: str, type_: Any) -> str:
    """DuckDB SQL for the key of a map: the JSON text of its value, as a string if it is none."""
    text = value_text(sql, type_)
    if is_nested(type_):
        return f"CAST(to_json({text}) AS VARCHAR)"
    if type_.id in (*_NUMBERS, "float", "double"):
        return f"CASE WHEN starts_with({text}, '\"') THEN {text} ELSE {_in_quotes(text)} END"
    return text


def timestamp_text(sql: str) -> str:
    """DuckDB SQL for a TIMESTAMP as ``YYYY-MM-DD HH:MM:SS``, with ``.ffffff`` if it has any; of BC
    ``YYYY-MM-DD (BC) HH:MM:SS``, with the digits that a fraction has."""
    plain = f"epoch_us({sql}) % 1000000 = 0 OR year({sql}) <= 0"  # strftime knows no BC
    return (
        f"CASE WHEN {plain} THEN CAST({sql} AS VARCHAR) "
        f"ELSE strftime({sql}, '%Y-%m-%d %H:%M:%S.%f') END"
    )


def _in_quotes(sql: str) -> str:
    return f"'\"' || {sql} || '\"'"
