"""A line of CSV, read by hand: one line is one record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hostile.declared import Columns
from hostile.json_line import of_field
from hostile.texts import Misfit


@dataclass(frozen=True)
class Dialect:
    """How a table's files are written. ``header`` has the names of the fields, if files have one"""

    delimiter: str = ","
    quote: str = '"'
    null: str = ""
    header: tuple[str, ...] | None = None

    @property
    def blanks(self) -> bytes:
        """What a line that is no row may consist of."""
        return b"" if self.delimiter in " \t" else b" \t"


def read_line(line: bytes, columns: Columns, dialect: Dialect) -> tuple[Any, ...]:
    """A line's fields. Raises Misfit where it is malformed."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        raise Misfit(line[:20]) from None
    fields = _fields(text, dialect)
    names = dialect.header or tuple(name for name, _ in columns)
    if len(fields) != len(names):
        raise Misfit(text[:20])
    given = dict(zip(names, fields, strict=True))
    values = ((given.get(name), type_) for name, type_ in columns)
    return tuple(None if each is None else of_field(each, type_) for each, type_ in values)


def _fields(text: str, dialect: Dialect) -> list[str | None]:
    fields: list[str | None] = []
    at = 0
    while True:
        field, at = (
            _quoted(text, at + 1, dialect)
            if text[at : at + 1] == dialect.quote
            else (_unquoted(text, at, dialect))
        )
        fields.append(field)
        if at == len(text):
            return fields
        if text[at] != dialect.delimiter:
            raise Misfit(text[at:20])
        at += 1


def _quoted(text: str, at: int, dialect: Dialect) -> tuple[str, int]:
    parts = []
    while True:
        end = text.find(dialect.quote, at)
        if end < 0:
            raise Misfit(text[at:20])
        parts.append(text[at:end])
        if text[end + 1 : end + 2] != dialect.quote:
            return "".join(parts), end + 1
        parts.append(dialect.quote)
        at = end + 2


def _unquoted(text: str, at: int, dialect: Dialect) -> tuple[str | None, int]:
    end = text.find(dialect.delimiter, at)
    end = len(text) if end < 0 else end
    field = text[at:end]
    if dialect.quote in field:
        raise Misfit(field)
    return None if field == dialect.null else field, end
