"""A line of JSON, read by hand: RFC 8259 to the letter, numbers as they are written."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from hostile.declared import Columns, Entries, Fields, Items, Type
from hostile.texts import Misfit, integer, number_as_decimal, number_as_float, of_text, whole

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WHOLE: Final = re.compile(r"-?[0-9]+")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]*')
_SHORT: Final = {
    '"': '"',
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}
_WORDS: Final = {"true": True, "false": False, "null": None}
_ESCAPED: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r"}


@dataclass(frozen=True)
class Number:
    """As it is written."""

    text: str


@dataclass(frozen=True)
class Object:
    """Its pairs; a name may come twice."""

    pairs: tuple[tuple[str, Any], ...]


@contextmanager
def _deep() -> Iterator[None]:
    """Python's frames take no C stack, but the product must do with as many as there are."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@_deep()
def read_line(line: bytes, columns: Columns) -> tuple[Any, ...]:
    """A line's fields. Raises Misfit where it is malformed."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        raise Misfit(line[:20]) from None
    document = parsed(text)
    if not isinstance(document, Object):
        raise Misfit(text[:20])
    return fields_of(document, columns)


def fields_of(document: Object, columns: Columns) -> tuple[Any, ...]:
    """The declared fields of an object, the missing ones None."""
    values = []
    for name, type_ in columns:
        given = [value for key, value in document.pairs if key == name]
        if len(given) > 1:
            raise Misfit(name)
        values.append(typed(given[0], type_) if given else None)
    return tuple(values)


def typed(value: Any, type_: Type) -> Any:
    """A value of JSON as one of a declared type."""
    if value is None:
        return None
    match type_:
        case Items(inner):
            if isinstance(value, list):
                return [typed(each, inner) for each in value]
        case Entries(inner, key):
            if isinstance(value, Object):
                return _entries(value, key, inner)
        case Fields(fields):
            if isinstance(value, Object):
                return fields_of(value, fields)
        case "STRING":
            return value if isinstance(value, str) else compact(value)
        case "BOOLEAN":
            if isinstance(value, bool):
                return value
        case _ if isinstance(value, str):
            return of_text(value, type_)
        case _ if isinstance(value, Number):
            return _of_number(value.text, type_)
    raise Misfit(type_)


def _entries(value: Object, key: str, inner: Type) -> list[tuple[Any, Any]]:
    entries = [(of_text(name, key), typed(each, inner)) for name, each in value.pairs]
    if len({_alone(name) for name, _ in entries}) < len(entries):
        raise Misfit(key)
    return entries


def _alone(key: Any) -> Any:
    """``key``, such that NaN is itself."""
    return "nan" if isinstance(key, float) and math.isnan(key) else key


@_deep()
def of_field(text: str, type_: Type) -> Any:
    """A field of CSV, or a text in parquet, as a value: JSON where the type is no simple one."""
    if isinstance(type_, str):
        return of_text(text, type_)
    document = parsed(text)
    if not isinstance(document, list | Object):
        raise Misfit(text[:20])
    return typed(document, type_)


def _of_number(text: str, type_: str) -> Any:
    if type_ in ("DOUBLE", "REAL"):
        return number_as_float(text, type_)
    if type_.startswith("DECIMAL"):
        return number_as_decimal(text, type_)
    if type_.endswith("INT") and _WHOLE.fullmatch(text):
        return integer(whole(text), type_)
    raise Misfit(text[:20])


def compact(value: Any) -> str:
    """What is written, without blanks between its parts."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Number(text):
            return text
        case str():
            return f'"{"".join(map(_escaped, value))}"'
        case list():
            return f"[{','.join(map(compact, value))}]"
    return f"{{{','.join(f'{compact(key)}:{compact(part)}' for key, part in value.pairs)}}}"


def _escaped(character: str) -> str:
    if character == "\t":
        return "\\t"
    plain = _ESCAPED.get(character, character)
    return f"\\u{ord(character):04X}" if character < " " and plain == character else plain


def parsed(text: str) -> Any:
    """The one value of ``text``."""
    value, end = _Reader(text).value(_space(text, 0))
    if _space(text, end) != len(text):
        raise Misfit(text[end : end + 20])
    return value


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, at: int) -> tuple[Any, int]:
        match self._text[at : at + 1]:
            case "{":
                return self._object(at + 1)
            case "[":
                return self._list(at + 1)
            case '"':
                return self._string(at + 1)
        for word, value in _WORDS.items():
            if self._text.startswith(word, at):
                return value, at + len(word)
        found = _NUMBER.match(self._text, at)
        return (Number(found[0]), found.end()) if found else self._wrong(at)

    def _object(self, at: int) -> tuple[Object, int]:
        pairs: list[tuple[str, Any]] = []
        at = _space(self._text, at)
        if self._text[at : at + 1] == "}":
            return Object(()), at + 1
        while True:
            if self._text[at : at + 1] != '"':
                self._wrong(at)
            key, at = self._string(at + 1)
            at = _space(self._text, at)
            if self._text[at : at + 1] != ":":
                self._wrong(at)
            value, at = self.value(_space(self._text, at + 1))
            pairs.append((key, value))
            at, ended = self._next(at, "}")
            if ended:
                return Object(tuple(pairs)), at

    def _list(self, at: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        at = _space(self._text, at)
        if self._text[at : at + 1] == "]":
            return items, at + 1
        while True:
            value, at = self.value(at)
            items.append(value)
            at, ended = self._next(at, "]")
            if ended:
                return items, at

    def _next(self, at: int, closing: str) -> tuple[int, bool]:
        """Behind a comma, where the next part begins, or behind the end."""
        at = _space(self._text, at)
        if self._text[at : at + 1] == ",":
            return _space(self._text, at + 1), False
        if self._text[at : at + 1] != closing:
            self._wrong(at)
        return at + 1, True

    def _string(self, at: int) -> tuple[str, int]:
        parts: list[str] = []
        while True:
            found = _PLAIN.match(self._text, at)
            assert found is not None
            parts.append(found[0])
            at = found.end()
            if self._text[at : at + 1] == '"':
                return _whole("".join(parts)), at + 1
            if self._text[at : at + 1] != "\\":
                self._wrong(at)
            escape = self._text[at + 1 : at + 2]
            if escape == "u":
                code = self._text[at + 2 : at + 6]
                if not re.fullmatch(r"[0-9a-fA-F]{4}", code):
                    self._wrong(at)
                parts.append(chr(int(code, 16)))
                at += 6
            elif escape in _SHORT and escape:
                parts.append(_SHORT[escape])
                at += 2
            else:
                self._wrong(at)

    def _wrong(self, at: int) -> NoReturn:
        raise Misfit(self._text[at : at + 20])


def _whole(text: str) -> str:
    """``text`` with pairs of surrogates as the characters that they are; half of one is no text."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise Misfit("half of a pair") from None
