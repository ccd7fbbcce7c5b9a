"""Messages of Kafka as their decoders get them, json, csv, raw and avro-confluent; no broker.

What is expected of a message is its values, None where it is malformed, or `ANY` where it was
harmed such that it may be either, but one of both.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from hostile import csv_line, json_line, spellings
from hostile.declared import Columns, quoted, sql_of
from hostile.hand import Hand
from hostile.texts import MICROS_MAX, MICROS_MIN, Misfit, as_decimal, integer, of_text
from hostile.worlds import harmed, type_of_json

ANY: Final = "any"
SCHEMA_ID: Final = 7
_BOM: Final = b"\xef\xbb\xbf"
_RAW: Final = {"BOOLEAN": ">?", "TINYINT": ">b", "SMALLINT": ">h", "INT": ">i", "BIGINT": ">q",
               "REAL": ">f", "DOUBLE": ">d"}  # fmt: skip


@dataclass
class Messages:
    """A table's messages, and what each is."""

    seed: int
    form: str
    columns: Columns
    values: list[bytes | None]
    wanted: list[Any]
    options: dict[str, str] = field(default_factory=dict)
    writer: str = ""
    """Of avro-confluent: the schema of `SCHEMA_ID`."""

    def sql(self) -> str:
        """The table, and something that reads it."""
        declared = ", ".join(f"{quoted(name)} {sql_of(of)}" for name, of in self.columns)
        given = {"topic": "t", "properties.bootstrap.servers": "127.0.0.1:1", "format": self.form}
        if self.form == "avro-confluent":
            given["avro-confluent.url"] = "http://127.0.0.1:1"
        options = "".join(
            f", '{key}' = '{value.replace(chr(39), chr(39) * 2)}'"
            for key, value in (given | self.options).items()
        )
        return (
            f"CREATE SOURCE t ({declared}) WITH (connector = 'kafka'{options});"
            " CREATE SINK o AS SELECT * FROM t WITH (connector = 'blackhole');"
        )


def messages(seed: int) -> Messages:
    """What ``seed`` gives."""
    rng = Hand(seed)
    rng.calm = rng.choice((0.0, 0.5, 0.9, 1.0))
    makers = (_of_text, _of_text, _of_raw, _of_avro)
    return rng.choice(makers)(seed, rng)


def _names(rng: Hand, count: int) -> list[str]:
    return rng.sample(("a", "b", "c d", "é", 'q"', "x.y", "id", "select"), count)


def _of_text(seed: int, rng: Hand) -> Messages:
    form = rng.choice(("json", "csv"))
    columns: Columns = tuple((name, type_of_json(rng)) for name in _names(rng, rng.randint(1, 4)))
    dialect = csv_line.Dialect(null=rng.choice(("", "NULL")))
    options = {"csv.null-literal": dialect.null} if form == "csv" else {}
    read: Callable[[bytes], Any] = (
        partial(json_line.read_line, columns=columns)
        if form == "json"
        else partial(csv_line.read_line, columns=columns, dialect=dialect)
    )
    values = [_text(form, columns, dialect, rng) for _ in range(rng.randrange(1, 200))]
    wanted = []
    for value in values:
        plain = (value or b"").removeprefix(_BOM)
        if form == "csv":
            plain = plain.removesuffix(b"\n").removesuffix(b"\r")
        try:
            wanted.append(read(plain) if plain else None)
        except Misfit:
            wanted.append(None)
    return Messages(seed, form, columns, values, wanted, options)


def _text(form: str, columns: Columns, dialect: csv_line.Dialect, rng: Hand) -> bytes | None:
    if rng.random() < 0.03 and not rng.is_calm:
        return rng.choice((None, b"", b" ", b"\n", _BOM, b"\xff", b"null", b"[]"))
    if form == "json":
        written = spellings.json_object(columns, rng)
    else:
        texts = (spellings.text(of, rng) for _, of in columns)
        written = dialect.delimiter.join(spellings.csv_field(text, dialect, rng) for text in texts)
    coded = written.encode("utf-8", "surrogatepass")
    coded = harmed(coded, rng) if rng.random() < 0.05 and not rng.is_calm else coded
    coded = _BOM + coded if rng.random() < 0.05 else coded
    return coded + rng.choice((b"", b"", b"", b"\n", b"\r\n"))


def _of_raw(seed: int, rng: Hand) -> Messages:
    type_ = rng.choice((*_RAW, "STRING", "BYTES"))
    values: list[bytes | None] = []
    wanted: list[Any] = []
    for _ in range(rng.randrange(1, 100)):
        value = None if rng.random() < 0.05 else rng.randbytes(rng.choice((0, 1, 2, 4, 8, 9)))
        values.append(value)
        wanted.append(_raw(value, type_))
    return Messages(seed, "raw", (("v", type_),), values, wanted)


def _raw(value: bytes | None, type_: str) -> Any:
    if type_ in _RAW:
        if value is None:
            return (None,)
        if len(value) != struct.calcsize(_RAW[type_]):
            return None
        return struct.unpack(_RAW[type_], value)
    if value is None or type_ == "BYTES":
        return (value,)
    try:
        return (value.decode("utf-8"),)
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True)
class _Field:
    """Of a writer's schema: ``draw`` gives a value, its bytes, and what it is as declared."""

    schema: Any
    declared: str
    draw: Callable[[Hand], tuple[bytes, Any]]


def _varint(number: int) -> bytes:
    number, parts = (number << 1) ^ (number >> 63), []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def _sized(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _read(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Misfit:
        return ANY  # to be told from NULL


def _long(declared: str) -> _Field:
    def draw(rng: Hand) -> tuple[bytes, Any]:
        edge = rng.choice((0, 2**31, -(2**31), 2**63 - 2, 2 - 2**63, 127, -128))
        number = edge + rng.randint(-2, 1) if rng.random() < 0.5 else rng.randint(-99, 99)
        return _varint(number), _read(lambda: integer(number, declared))

    return _Field("long", declared, draw)


def _string(declared: str) -> _Field:
    def draw(rng: Hand) -> tuple[bytes, Any]:
        text = spellings.text(declared, rng)
        if rng.random() < 0.02:
            return _sized(b"\xed\xa0\x80"), ANY
        return _sized(text.encode()), _read(lambda: of_text(text, declared))

    return _Field("string", declared, draw)


def _moment(declared: str) -> _Field:
    def draw(rng: Hand) -> tuple[bytes, Any]:
        edge = rng.choice((0, MICROS_MIN, MICROS_MAX, -(2**63) + 9, 10**15))
        number = min(edge + rng.randint(-2, 2), 2**63 - 1)
        return _varint(number), number if MICROS_MIN <= number <= MICROS_MAX else ANY

    return _Field({"type": "long", "logicalType": "timestamp-micros"}, declared, draw)


def _decimal(declared: str) -> _Field:
    def draw(rng: Hand) -> tuple[bytes, Any]:
        units = rng.choice((0, 5, -5, 10**11 + 7, -(10**12) + 1, rng.randrange(10**9)))
        data = units.to_bytes((units + (units < 0)).bit_length() // 8 + 1, "big", signed=True)
        return _sized(data), _read(lambda: as_decimal(abs(units), -2, units < 0, declared))

    kind = {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}
    return _Field(kind, declared, draw)


def _simple(schema: str, declared: str, draw: Callable[[Hand], tuple[bytes, Any]]) -> _Field:
    return _Field(schema, declared, draw)


def _fields(rng: Hand) -> list[_Field]:
    def double(rng: Hand) -> tuple[bytes, Any]:
        data = rng.randbytes(8)
        return data, struct.unpack("<d", data)[0]

    def boolean(rng: Hand) -> tuple[bytes, Any]:
        value = rng.random() < 0.5
        return bytes([value]), value

    def binary(rng: Hand) -> tuple[bytes, Any]:
        data = rng.randbytes(rng.randrange(5))
        return _sized(data), data

    kinds = [
        _long(rng.choice(("BIGINT", "INT", "TINYINT"))),
        _string(rng.choice(("STRING", "BIGINT", "DOUBLE", "DECIMAL(10, 2)", "TIMESTAMP", "DATE"))),
        _moment(rng.choice(("TIMESTAMP", "TIMESTAMPTZ"))),
        _decimal(rng.choice(("DECIMAL(12, 2)", "DECIMAL(38, 10)", "DECIMAL(5, 1)"))),
        _simple("double", "DOUBLE", double),
        _simple("boolean", "BOOLEAN", boolean),
        _simple("bytes", "BYTES", binary),
    ]
    return [rng.choice(kinds) for _ in range(rng.randint(1, 5))]


def _of_avro(seed: int, rng: Hand) -> Messages:
    fields = _fields(rng)
    nullable = [rng.random() < 0.4 for _ in fields]
    schema = {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": f"f{at}", "type": ["null", each.schema] if nullable[at] else each.schema}
            for at, each in enumerate(fields)
        ],
    }
    kept = sorted(rng.sample(range(len(fields)), rng.randint(1, len(fields))))
    columns = (*((f"f{at}", fields[at].declared) for at in kept), ("none", "BIGINT"))
    values: list[bytes | None] = []
    wanted: list[Any] = []
    for _ in range(rng.randrange(1, 200)):
        data, row = struct.pack(">bi", 0, SCHEMA_ID), []
        for each, is_nullable in zip(fields, nullable, strict=True):
            if is_nullable and rng.random() < 0.3:
                data, value = data + _varint(0), None
            else:
                coded, value = each.draw(rng)
                data += _varint(1) * is_nullable + coded
            row.append(value)
        given = (*(row[at] for at in kept), None)
        message, fate = _harmed_datum(data, rng)
        values.append(message)
        if fate != ANY:
            fate = "malformed" if fate or ANY in given else ""
        wanted.append({ANY: ANY, "malformed": None, "": given}[fate])
    return Messages(seed, "avro-confluent", columns, values, wanted, writer=json.dumps(schema))


def _harmed_datum(data: bytes, rng: Hand) -> tuple[bytes | None, str]:
    """A message, and what is to become of it if that is known."""
    roll = rng.random()
    if rng.is_calm or roll > 0.2:
        return data, ""
    if roll < 0.05:
        return data[: rng.randrange(len(data))], "malformed"
    if roll < 0.08:
        return data + rng.randbytes(1), "malformed"
    if roll < 0.1:
        return rng.choice((None, b"", b"\x01" + data[1:], b"\x00\x00\x00\x00\x09" + data[5:])), (
            "malformed"
        )
    at = rng.randrange(5, len(data) + 1)
    return data[:at] + rng.randbytes(1) + data[at + 1 :], ANY
