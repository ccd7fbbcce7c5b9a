"""Reads ``FORMAT PLAIN ENCODE JSON (key = 'value', …)``, ``FORMAT UPSERT``, ``DEBEZIUM``."""

from __future__ import annotations

from typing import Final

from tidegate.errors import SqlSyntaxError, UnsupportedError
from tidegate.frontend.ast.queries import Option, Options, Text
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.hints import parse_options

_FORMATS: Final = {
    "JSON": "json",
    "CSV": "csv",
    "PARQUET": "parquet",
    "AVRO": "avro-confluent",
    "BYTES": "raw",
}
"""RisingWave's encodings and the formats that they are."""
_DEBEZIUM: Final = {"json": "debezium-json", "avro-confluent": "debezium-avro-confluent"}
"""Encodings that envelopes of changes may have, and their formats."""
_LATER_FORMATS: Final = ("DEBEZIUM_MONGO", "MAXWELL", "CANAL", "NATIVE")
_NO_CHANGES: Final = "force_append_only"
_WITHOUT_HEADER: Final = "without_header"
_RENAMED: Final = {"delimiter": "csv.field-delimiter"}
_REGISTRY: Final = {
    "schema.registry": "avro-confluent.url",
    "schema.registry.ca": "avro-confluent.ssl.ca.location",
}
_REGISTRY_USER: Final = ("schema.registry.username", "schema.registry.password")
_CHOICE: Final = "JSON, CSV, AVRO, BYTES or PARQUET"


def take_options(cursor: Cursor) -> Options | None:
    """WITH (…) and FORMAT … ENCODE …, where one of them stands."""
    start = cursor.span
    items = parse_options(cursor) if cursor.accept("WITH") else ()
    encode, encoded = _take_encode(cursor)
    if cursor.span == start:
        return None
    return Options(_merged(items, encoded), start.to(cursor.previous_span), encode)


def _take_encode(cursor: Cursor) -> tuple[Text | None, tuple[Option, ...]]:
    """The encoding as a format, and its options as those of WITH; None where there is none.

    FORMAT UPSERT is the option ``type``.
    """
    if not cursor.accept("FORMAT"):
        return None, ()
    kind, has_envelope = [], cursor.at("DEBEZIUM")
    if cursor.at("UPSERT"):
        cursor.take()
        span = cursor.previous_span
        kind = [Option(Text("type", span), Text("upsert", span))]
    elif has_envelope:
        cursor.take()
    elif cursor.at_any(*_LATER_FORMATS):
        choice = "FORMAT PLAIN, UPSERT or DEBEZIUM"
        raise cursor.unsupported(f"FORMAT {cursor.word()} is not supported", f"write {choice}")
    else:
        cursor.expect("PLAIN", why="after FORMAT")
    cursor.expect("ENCODE", why=f"and {_CHOICE}")
    if not cursor.at_any(*_FORMATS):
        raise cursor.expected(f"{_CHOICE} after ENCODE")
    word = cursor.take().text.upper()
    form = _FORMATS[word]
    if has_envelope:
        if form not in _DEBEZIUM:
            raise SqlSyntaxError(
                f"Debezium's envelope in {word} is not supported",
                cursor.previous_span.place,
                hint="write ENCODE JSON or ENCODE AVRO",
            )
        form = _DEBEZIUM[form]
    encode = Text(form, cursor.previous_span)
    options = list(parse_options(cursor)) if cursor.at("(") else []
    result = kind + (_registry_user(options) if word == "AVRO" else [])
    for option in options:
        read = _option(word, option)
        result += [read] if read is not None else []
    if cursor.at("KEY", "ENCODE"):
        raise cursor.unsupported(
            "KEY ENCODE is not supported",
            "write 'key.format' = 'json' (or 'raw') and 'key.fields' in WITH",
        )
    return encode, tuple(result)


def _merged(options: tuple[Option, ...], encoded: tuple[Option, ...]) -> tuple[Option, ...]:
    """The options of WITH and those of ENCODE. Raises SqlSyntaxError for one that is in both."""
    given = {option.key.value.lower() for option in options}
    for option in encoded:
        if option.key.value.lower() in given:
            raise SqlSyntaxError(
                f"option '{option.key.value}' is given in WITH and behind ENCODE",
                option.key.span.place,
                hint="keep one of them",
            )
    return (*options, *encoded)


def _option(encode: str, option: Option) -> Option | None:
    """``option`` under its name in WITH; None for one that changes nothing here."""
    name = option.key.value.lower()
    if name == _NO_CHANGES:
        return None  # no sink gets changes
    renamed = _REGISTRY.get(name, "") if encode == "AVRO" else ""
    if encode == "CSV":
        if name == _WITHOUT_HEADER:
            return _header(option)
        renamed = _RENAMED.get(name, name if name.startswith("csv.") else "")
    if renamed:
        return Option(Text(renamed, option.key.span), option.value)
    known = {"CSV": "delimiter and without_header", "AVRO": "schema.registry and schema.registry.*"}
    raise UnsupportedError(
        f"option '{option.key.value}' of ENCODE {encode} is not supported",
        option.key.span.place,
        hint="leave it out" + (f"; there are {known[encode]}" if encode in known else ""),
    )


def _registry_user(options: list[Option]) -> list[Option]:
    """User name and password, taken out of ``options``, as Flink's one option for both."""
    given = {option.key.value.lower(): option for option in options}
    pair = [given[name] for name in _REGISTRY_USER if name in given]
    if not pair:
        return []
    if len(pair) == 1:
        raise SqlSyntaxError(
            f"{' and '.join(_REGISTRY_USER)} go together",
            pair[0].key.span.place,
            hint="give both, the password as '${env:NAME}'",
        )
    for option in pair:
        options.remove(option)
    name, password = pair
    value = Text(f"{name.value.value}:{password.value.value}", password.value.span)
    return [Option(Text("avro-confluent.basic-auth.user-info", password.key.span), value)]


def _header(option: Option) -> Option:
    """RisingWave's ``without_header``: the opposite of ``csv.header``."""
    opposite = {"true": "false", "false": "true"}.get(option.value.value.lower())
    if opposite is None:
        raise SqlSyntaxError(
            f"{option.key.value} is true or false, not '{option.value.value}'",
            option.value.span.place,
            hint="write without_header = 'true'",
        )
    return Option(Text("csv.header", option.key.span), Text(opposite, option.value.span))
