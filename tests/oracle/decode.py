"""Lines of JSON to rows of typed values (S2, S7).

A line is what stands between two line feeds; CRLF is allowed, a byte order mark at the start of a
file is skipped, a blank line is no row. Everything that is not a JSON object whose fields fit the
declared types is malformed: it has an offset, and no values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any, TypeAlias

Values: TypeAlias = dict[str, Any]
"""One row: column name to plain Python value."""

NESTING_MAX = 500
"""A document nested deeper than this is malformed: the design names 1,000 as poison (T13)."""

_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\r"
_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)
_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")
_INTEGER_BITS = {"INT": 32, "BIGINT": 64}


class MalformedError(Exception):
    """The record cannot be read, or a field does not fit its type."""


@dataclass(frozen=True)
class Column:
    """A column. ``type`` is BIGINT, INT, DOUBLE, BOOLEAN, VARCHAR, TIMESTAMP, TIMESTAMPTZ,
    DECIMAL(p,s), or STRUCT with ``fields``."""

    name: str
    type: str
    fields: tuple[Column, ...] = ()


@dataclass(frozen=True)
class Computed:
    """A computed column: ``compute`` gets the decoded row; MalformedError makes it malformed."""

    column: Column
    compute: Callable[[Values], Any]


@dataclass(frozen=True)
class Table:
    """A source table."""

    name: str
    columns: tuple[Column, ...]
    computed: tuple[Computed, ...] = ()


@dataclass(frozen=True)
class Row:
    """A decoded row and where it stood. ``offset`` counts the split's rows from 0."""

    split: str
    offset: int
    values: Values


@dataclass(frozen=True)
class BadRow:
    """A malformed row."""

    split: str
    offset: int
    record: bytes


@dataclass(frozen=True)
class _Number:
    """A JSON number as it was written, so that nothing is rounded before its type is known."""

    text: str


def json_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Rows as a file of JSON lines; what JSON does not know (datetime, Decimal) becomes text."""
    return b"".join(json.dumps(row, default=str).encode() + b"\n" for row in rows)


def read_split(table: Table, split: str, files: Sequence[bytes]) -> Iterator[Row | BadRow]:
    """The rows of a split: those of its files, one file after the other."""
    offset = 0
    for file in files:
        for line in file.removeprefix(_BOM).split(b"\n"):
            if not line.strip(_BLANKS):
                continue
            try:
                yield Row(split, offset, _read_line(table, line))
            except MalformedError:
                yield BadRow(split, offset, line)
            offset += 1


def ended_lines(files: Sequence[bytes]) -> Sequence[bytes]:
    """What a watched split has so far: a line at its very end is none before its newline."""
    if not files:
        return files
    return [*files[:-1], files[-1][: files[-1].rfind(b"\n") + 1]]


def _read_line(table: Table, line: bytes) -> Values:
    document = _parse(line)
    if not isinstance(document, dict):
        raise MalformedError("not an object")
    values = {column.name: _typed(document.get(column.name), column) for column in table.columns}
    for computed in table.computed:
        values[computed.column.name] = computed.compute(values)
    return values


def _parse(line: bytes) -> Any:
    try:
        text = line.decode("utf-8")
        _check_nesting(text)
        document = json.loads(
            text,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_refuse_constant,
            object_pairs_hook=_object_of,
        )
    except ValueError as error:  # also UnicodeDecodeError and JSONDecodeError
        raise MalformedError(str(error)) from None
    _check_text(document)
    return document


def _refuse_constant(name: str) -> None:
    raise MalformedError(f"{name} is not JSON")


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise MalformedError("duplicate key")
    return document


def _check_nesting(text: str) -> None:
    depth = 0
    in_string = escaped = False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "{[":
            depth += 1
            if depth > NESTING_MAX:
                raise MalformedError("nested too deep")
        elif character in "}]":
            depth -= 1


def _check_text(value: Any) -> None:
    """Refuses half of a surrogate pair (an escape like \\ud800): it is no text."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise MalformedError("half of a surrogate pair") from None
    elif isinstance(value, list):
        for item in value:
            _check_text(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key)
            _check_text(item)


def _typed(value: Any, column: Column) -> Any:
    """The JSON value as the column's type. Missing and null are NULL."""
    if value is None:
        return None
    if column.type in _INTEGER_BITS:
        return _integer(value, _INTEGER_BITS[column.type])
    decimal = _DECIMAL.fullmatch(column.type)
    if decimal:
        return _decimal(value, int(decimal[1]), int(decimal[2]))
    match column.type:
        case "DOUBLE":
            return _double(value)
        case "BOOLEAN":
            if isinstance(value, bool):
                return value
        case "VARCHAR":
            return _text(value)
        case "TIMESTAMP" | "TIMESTAMPTZ":
            if isinstance(value, str):
                return micros(value, zoned=column.type == "TIMESTAMPTZ")
        case "STRUCT":
            if isinstance(value, dict):
                return {field.name: _typed(value.get(field.name), field) for field in column.fields}
        case _:
            raise ValueError(f"the oracle does not know the type {column.type}")
    raise MalformedError(f"{column.name} is not {column.type}")


def _written(value: Any) -> str:
    """What stands in the JSON for a number, written as a number or in a string."""
    if isinstance(value, _Number):
        return value.text
    if isinstance(value, str):
        return value
    raise MalformedError("not a number")


def _integer(value: Any, bits: int) -> int:
    text = _written(value)
    if not _INTEGER.fullmatch(text) or len(text.lstrip("-0")) > 19:
        raise MalformedError(f"{text[:40]} is not an integer in range")
    number = int(text)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise MalformedError(f"{number} is out of range")
    return number


def _double(value: Any) -> float:
    text = _written(value)
    if not _NUMBER.fullmatch(text):
        raise MalformedError(f"{text[:40]} is not a number")
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise MalformedError(f"{text[:40]} is out of range")
    return number


def _decimal(value: Any, precision: int, scale: int) -> Decimal:
    text = _written(value)
    if not _NUMBER.fullmatch(text):
        raise MalformedError(f"{text[:40]} is not a number")
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent beyond all bounds
        raise MalformedError(f"{text[:40]} is out of range") from None
    limit = Decimal(10) ** (precision - scale)
    if number.copy_abs() >= limit:
        raise MalformedError(f"{text[:40]} is out of range")
    rounded = round_half_away(number, scale)
    if rounded.copy_abs() >= limit:
        raise MalformedError(f"{text[:40]} is out of range once rounded")
    return rounded


def round_half_away(number: Decimal, scale: int) -> Decimal:
    """``number`` with ``scale`` digits after the point; a half is rounded away from zero."""
    exact = Context(prec=10_000, rounding=ROUND_HALF_UP)
    return number.quantize(Decimal(1).scaleb(-scale), context=exact)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else _compact(value)


def _compact(value: Any) -> str:
    """What stands in the JSON, without the blanks between its parts (S15)."""
    if isinstance(value, _Number):
        return value.text
    if isinstance(value, list):
        return f"[{','.join(map(_compact, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{_compact(k)}:{_compact(v)}' for k, v in value.items())}}}"
    return json.dumps(value, ensure_ascii=False)


def micros(text: str, *, zoned: bool = True) -> int:
    """``YYYY-MM-DD HH:MM:SS[.ffffff][Z|+HH[:MM]]`` as microseconds since the epoch, in UTC.

    A TIMESTAMP has no zone: as in PostgreSQL, an offset in its text is read and left aside.
    """
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        raise MalformedError(f"{text[:40]} is not a timestamp")
    day, clock, fraction, zone = match.groups()
    try:
        time = datetime.strptime(f"{day} {clock}", "%Y-%m-%d %H:%M:%S")
    except ValueError:
        raise MalformedError(f"{text[:40]} is not a timestamp") from None
    if clock.endswith(("60", "61")):  # strptime reads leap seconds
        raise MalformedError(f"{text[:40]} is not a timestamp")
    seconds = (time - datetime(1970, 1, 1)).days * 86_400
    seconds += time.hour * 3_600 + time.minute * 60 + time.second
    offset = _zone_seconds(zone)  # must be one even where it is left aside
    if zoned:
        seconds -= offset
    return seconds * 1_000_000 + int((fraction or "0").ljust(6, "0"))


def _zone_seconds(zone: str | None) -> int:
    if zone in (None, "Z"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3_600 + int(digits[2:]) * 60
    if seconds > 16 * 3_600 or int(digits[2:]) > 59:
        raise MalformedError(f"{zone} is not an offset")
    return -seconds if zone[0] == "-" else seconds


def value_at(values: Values, path: str) -> Any:
    """The value of ``a.b.c``; NULL where any part of the way is NULL."""
    value: Any = values
    for name in path.split("."):
        if value is None:
            return None
        value = value[name]
    return value
