"""Reads ``FORMAT PLAIN ENCODE JSON (key = 'value', …)``."""

from __future__ import annotations

from typing import Final

from tidegate.errors import SqlSyntaxError, UnsupportedError
from tidegate.frontend.cursor import Cursor
from tidegate.frontend.hints import parse_options
from tidegate.frontend.syntax import Option, Text

_ENCODINGS: Final = ("JSON", "CSV", "PARQUET")
_LATER_FORMATS: Final = ("UPSERT", "DEBEZIUM", "MAXWELL", "CANAL", "NATIVE")
_NO_CHANGES: Final = "force_append_only"
_WITHOUT_HEADER: Final = "without_header"
_RENAMED: Final = {"delimiter": "csv.field-delimiter"}


def take_encode(cursor: Cursor) -> tuple[Text | None, tuple[Option, ...]]:
    """The encoding, in lower case, and its options as those of WITH; None where there is none."""
    if not cursor.accept("FORMAT"):
        return None, ()
    if cursor.at_any(*_LATER_FORMATS):
        raise UnsupportedError(
            f"FORMAT {cursor.word()} is not there yet",
            cursor.source.position(cursor.span),
            hint="write FORMAT PLAIN",
        )
    cursor.expect("PLAIN", why="after FORMAT")
    cursor.expect("ENCODE", why="and JSON, CSV or PARQUET")
    if not cursor.at_any(*_ENCODINGS):
        raise cursor.expected("JSON, CSV or PARQUET after ENCODE")
    encode = Text(cursor.take().text.lower(), cursor.previous_span)
    options = parse_options(cursor) if cursor.at("(") else ()
    read = (_option(cursor, encode.value, option) for option in options)
    return encode, tuple(option for option in read if option is not None)


def merged(
    cursor: Cursor, options: tuple[Option, ...], encoded: tuple[Option, ...]
) -> tuple[Option, ...]:
    """The options of WITH and those of ENCODE. Raises SqlSyntaxError for one that is in both."""
    given = {option.key.value.lower() for option in options}
    for option in encoded:
        if option.key.value.lower() in given:
            raise SqlSyntaxError(
                f"option '{option.key.value}' is given in WITH and behind ENCODE",
                cursor.source.position(option.key.span),
                hint="keep one of them",
            )
    return (*options, *encoded)


def _option(cursor: Cursor, encode: str, option: Option) -> Option | None:
    """``option`` under its name in WITH; None for one that changes nothing here."""
    name = option.key.value.lower()
    if name == _NO_CHANGES:
        return None  # no sink gets changes
    if encode == "csv":
        if name == _WITHOUT_HEADER:
            return _header(cursor, option)
        name = _RENAMED.get(name, name)
        if name.startswith("csv."):
            return Option(Text(name, option.key.span), option.value)
    raise UnsupportedError(
        f"option '{option.key.value}' of ENCODE {encode.upper()} is not there yet",
        cursor.source.position(option.key.span),
        hint="leave it out"
        + ("; there are delimiter and without_header" if encode == "csv" else ""),
    )


def _header(cursor: Cursor, option: Option) -> Option:
    """RisingWave's ``without_header``: the opposite of ``csv.header``."""
    opposite = {"true": "false", "false": "true"}.get(option.value.value.lower())
    if opposite is None:
        raise SqlSyntaxError(
            f"{option.key.value} is true or false, not '{option.value.value}'",
            cursor.source.position(option.value.span),
            hint="write without_header = 'true'",
        )
    return Option(Text("csv.header", option.key.span), Text(opposite, option.value.span))
