"""Data types as users of RisingWave, Flink and PostgreSQL write them, as DuckDB spells them.

TIMESTAMP(p) and TIMESTAMP_LTZ(p) keep microseconds whatever ``p``; a bare DECIMAL is
DECIMAL(28,10) (S12); VARCHAR(n) doesn't cut or check.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

from sqlglot.tokenizer_core import TokenType

from tidegate.errors import SqlSyntaxError, did_you_mean
from tidegate.frontend.source import Span
from tidegate.frontend.syntax.cursor import Cursor

_PLAIN: Final = {
    "BOOLEAN": "BOOLEAN",
    "BOOL": "BOOLEAN",
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "INT2": "SMALLINT",
    "INT": "INTEGER",
    "INTEGER": "INTEGER",
    "INT4": "INTEGER",
    "BIGINT": "BIGINT",
    "INT8": "BIGINT",
    "REAL": "FLOAT",
    "FLOAT4": "FLOAT",
    "FLOAT": "DOUBLE",
    "DOUBLE": "DOUBLE",
    "FLOAT8": "DOUBLE",
    "DATE": "DATE",
    "STRING": "VARCHAR",
    "TEXT": "VARCHAR",
    "BYTES": "BLOB",
    "BYTEA": "BLOB",
    "BLOB": "BLOB",
    "INTERVAL": "INTERVAL",
}
_SIZED: Final = {
    "VARCHAR": "VARCHAR",
    "CHAR": "VARCHAR",
    "CHARACTER": "VARCHAR",
    "TIME": "TIME",
} | {"BINARY": "BLOB", "VARBINARY": "BLOB"}
_TIMESTAMPS: Final = {
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMP_LTZ": "TIMESTAMP WITH TIME ZONE",
    "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE",
}
_DECIMALS: Final = ("DECIMAL", "NUMERIC", "DEC")
_STRUCTS: Final = ("ROW", "STRUCT")
_KNOWN: Final = (*_PLAIN, *_SIZED, *_TIMESTAMPS, *_DECIMALS, *_STRUCTS, "ARRAY", "MAP")
_USUAL: Final = (
    "BIGINT, BOOLEAN, DATE, DECIMAL, DOUBLE, INT, ROW<…>, STRING, TIMESTAMP, TIMESTAMPTZ"
)
_SHOWN: Final = {
    "VARCHAR": "STRING",
    "INTEGER": "INT",
    "BLOB": "BYTES",
    "FLOAT": "REAL",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP_LTZ",
}
_WORDS: Final = re.compile(r'"(?:[^"]|"")*"|TIMESTAMP(?: WITH TIME ZONE)?\b|\b[A-Z]+\b')
_DECIMAL_DEFAULT: Final = "DECIMAL(28,10)"
_T = TypeVar("_T")


def parse_type(cursor: Cursor, what: str = "a data type") -> str:
    """Takes a type at ``cursor``; gives it in DuckDB's spelling."""
    span, word = cursor.span, cursor.word()
    if not word or not (word[0].isalpha() or word[0] == "_"):
        raise cursor.expected(what)
    cursor.take()
    type_ = _base_type(cursor, word, span)
    while cursor.accept("[", "]"):
        type_ += "[]"
    return type_


def shown_type(type_: str, precision: int = 6) -> str:
    """A type of DuckDB's as users write it; ``precision`` of the timestamps in it."""

    def shown(match: re.Match[str]) -> str:
        time = match[0].startswith("TIMESTAMP")
        return f"{_SHOWN[match[0]]}({precision})" if time else _SHOWN.get(match[0], match[0])

    return _WORDS.sub(shown, type_)


def _base_type(cursor: Cursor, word: str, span: Span) -> str:
    if word in _PLAIN:
        if word == "DOUBLE":
            cursor.accept("PRECISION")
        return _PLAIN[word]
    if word in _SIZED:
        cursor.accept("VARYING")
        _sizes(cursor, 1)
        return _SIZED[word]
    if word in _TIMESTAMPS:
        return _timestamp(cursor, word, span)
    if word in _DECIMALS:
        return _decimal(cursor, span)
    if word in _STRUCTS:
        return _struct(cursor)
    if word == "ARRAY":
        return f"{_inside(cursor, 'the type inside ARRAY', parse_type)}[]"
    if word == "MAP":
        return _inside(cursor, "the type inside MAP", _map)
    hint = did_you_mean(word, _KNOWN)
    raise SqlSyntaxError(
        f"unknown data type '{span.shown}'",
        span.place,
        hint=hint if hint.startswith("did") else f"supported: {_USUAL}",
    )


def _timestamp(cursor: Cursor, word: str, span: Span) -> str:
    sizes = _sizes(cursor, 1)
    if sizes and sizes[0] > 6:
        raise SqlSyntaxError(
            f"{word}({sizes[0]}) is finer than the microseconds that event times have",
            span.to(cursor.previous_span).place,
            hint=f"write {word}(6)",
        )
    if cursor.accept("WITH", "TIME", "ZONE") or cursor.accept("WITH", "LOCAL", "TIME", "ZONE"):
        return _TIMESTAMPS["TIMESTAMPTZ"]
    cursor.accept("WITHOUT", "TIME", "ZONE")
    return _TIMESTAMPS[word]


def _decimal(cursor: Cursor, span: Span) -> str:
    sizes = _sizes(cursor, 2)
    if not sizes:
        return _DECIMAL_DEFAULT
    precision, scale = sizes[0], sizes[1] if len(sizes) == 2 else 0
    if not 1 <= precision <= 38 or scale > precision:
        raise SqlSyntaxError(
            f"DECIMAL({precision}, {scale}) does not exist",
            span.to(cursor.previous_span).place,
            hint="the precision is from 1 to 38, the scale from 0 to the precision",
        )
    return f"DECIMAL({precision},{scale})"


def _sizes(cursor: Cursor, most: int) -> list[int]:
    sizes: list[int] = []
    if not cursor.accept("("):
        return sizes
    while True:
        if cursor.kind() is not TokenType.NUMBER or not cursor.tokens[cursor.index].text.isdigit():
            raise cursor.expected("a whole number")
        sizes.append(int(cursor.take().text))
        if len(sizes) == most or not cursor.accept(","):
            break
    cursor.expect(")", why="after the size of the type")
    return sizes


def _struct(cursor: Cursor) -> str:
    fields = _inside(cursor, "the fields of the row", lambda at: at.listed(_field))
    return f"STRUCT({', '.join(fields)})"


def _field(cursor: Cursor) -> str:
    name = cursor.name("the name of a field").text.replace('"', '""')
    type_ = parse_type(cursor)
    cursor.accept("NOT", "NULL")
    return f'"{name}" {type_}'


def _map(cursor: Cursor) -> str:
    key = parse_type(cursor)
    cursor.expect(",", why="between the types of key and value")
    return f"MAP({key}, {parse_type(cursor)})"


def _inside(cursor: Cursor, what: str, read: Callable[[Cursor], _T]) -> _T:
    """What ``read`` takes between ``<`` and ``>``, or parentheses."""
    closer = ">" if cursor.accept("<") else ")"
    if closer == ")":
        cursor.expect("(", why=f"or '<' with {what}")
    found = read(cursor)
    cursor.expect(closer, why="at the end of the type")
    return found
