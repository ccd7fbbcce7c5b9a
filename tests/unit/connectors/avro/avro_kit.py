"""Avro by the book, one datum at a time in plain Python: what decoding must agree with.

`reference` reads a datum strictly by Avro's specification and by the rules that `avro_format` and
`target` tell. Its values are those of `avro_rows.values_of`: microseconds, days, dicts, lists.
"""

from __future__ import annotations

import io
import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import fastavro

from tidegate.types import Schema


class Malformed(Exception):  # noqa: N818 -- a verdict, not an error
    pass


@dataclass
class Bytes:
    data: bytes
    pos: int = 0

    def take(self, count: int) -> bytes:
        if count < 0 or self.pos + count > len(self.data):
            raise Malformed(count)
        self.pos += count
        return self.data[self.pos - count : self.pos]

    def long(self) -> int:
        bits = 0
        for index in range(10):
            byte = self.take(1)[0]
            bits |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                if bits >= 2**64:
                    raise Malformed(bits)
                return (bits >> 1) ^ -(bits & 1)
        raise Malformed(bits)


def raw(schema: Any, data: Bytes) -> Any:  # noqa: PLR0912 -- one branch per type
    """The value in ``data`` without its logical type; of a union (branch, value)."""
    form = schema["type"] if isinstance(schema, dict) else schema
    if isinstance(form, list):
        index = data.long()
        if not 0 <= index < len(form):
            raise Malformed(index)
        return index, raw(form[index], data)
    match form:
        case "null":
            return None
        case "boolean":
            byte = data.take(1)
            if byte > b"\x01":
                raise Malformed(byte)
            return byte == b"\x01"
        case "int" | "long":
            value = data.long()
            if form == "int" and not -(2**31) <= value < 2**31:
                raise Malformed(value)
            return value
        case "float":
            return struct.unpack("<f", data.take(4))[0]
        case "double":
            return struct.unpack("<d", data.take(8))[0]
        case "bytes" | "string":
            return data.take(data.long())
        case "fixed":
            return data.take(schema["size"])
        case "enum":
            index = data.long()
            if not 0 <= index < len(schema["symbols"]):
                raise Malformed(index)
            return schema["symbols"][index]
        case "array":
            return [raw(schema["items"], data) for _ in items(data)]
        case "map":
            return [(raw("string", data), raw(schema["values"], data)) for _ in items(data)]
        case "record":
            return {field["name"]: raw(field["type"], data) for field in schema["fields"]}
    raise AssertionError(form)


def items(data: Bytes) -> Any:
    while count := data.long():
        if count < 0:
            count = -count
            data.long()
        if count > len(data.data) - data.pos:  # items without bytes count as one each
            raise Malformed(count)
        yield from range(count)


def fit(value: Any, schema: Any, type_: str) -> Any:  # noqa: PLR0912 -- one branch per rule
    """The raw value as the declared type's."""
    form = schema["type"] if isinstance(schema, dict) else schema
    if isinstance(form, list):
        return fit(value[1], form[value[0]], type_)
    logical = schema.get("logicalType", "") if isinstance(schema, dict) else ""
    match (logical or form, type_):
        case ("null", _):
            return None
        case ("boolean", "BOOLEAN"):
            return value
        case ("boolean", "VARCHAR"):
            return str(value).lower()
        case ("int" | "long", "SMALLINT" | "INTEGER" | "BIGINT"):
            bits = {"SMALLINT": 15, "INTEGER": 31, "BIGINT": 63}[type_]
            if not -(2**bits) <= value < 2**bits:
                raise Malformed(value)
            return value
        case ("int" | "long", "VARCHAR"):
            return str(value)
        case ("int" | "long", "DOUBLE"):
            return float(value)
        case ("float", "FLOAT") | ("float" | "double", "DOUBLE"):
            return value
        case ("double", "BIGINT"):
            if not math.isfinite(value) or value != int(value) or not -(2**63) <= value < 2**63:
                raise Malformed(value)
            return int(value)
        case ("string" | "bytes" | "fixed", "BLOB"):
            return value
        case ("string" | "bytes" | "fixed" | "enum", "VARCHAR"):
            return value if form == "enum" else decoded(value)
        case ("decimal", _) if type_.startswith("DECIMAL"):
            precision, scale = map(int, type_[8:-1].split(","))
            number = int.from_bytes(value, "big", signed=True)
            if not value or abs(number) >= 10**precision or scale != schema.get("scale", 0):
                raise Malformed(number)
            return Decimal(f"{number}e-{scale}")
        case ("date", "DATE"):
            if abs(value) > 2**31 - 2:
                raise Malformed(value)
            return value
        case ("time-millis" | "time-micros", "TIME"):
            micros = value * (1000 if logical == "time-millis" else 1)
            if not 0 <= micros < 86_400_000_000:
                raise Malformed(value)
            return micros
        case (_, "TIMESTAMP" | "TIMESTAMP WITH TIME ZONE") if "timestamp" in logical:
            unit = logical.rpartition("-")[2]
            micros = value // 1000 if unit == "nanos" else value * (1000 if unit == "millis" else 1)
            if not -9_223_372_022_400_000_000 <= micros <= 2**63 - 2:
                raise Malformed(value)
            return micros
        case ("array", _) if type_.endswith("[]"):
            return [fit(item, schema["items"], type_[:-2]) for item in value]
        case ("map", _) if type_.startswith("MAP(VARCHAR, "):
            inner = type_.removeprefix("MAP(VARCHAR, ")[:-1]
            pairs = [(decoded(key), fit(item, schema["values"], inner)) for key, item in value]
            if len(dict(pairs)) < len(pairs):
                raise Malformed(pairs)
            return dict(pairs)
        case ("record", _) if type_.startswith("STRUCT("):
            types = {f["name"]: f["type"] for f in schema["fields"]}
            return {
                name: fit(value[name], types[name], inner) if name in types else None
                for name, inner in fields_of(type_)
            }
    raise Malformed(type_)


def decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise Malformed(value) from None


def fields_of(type_: str) -> list[tuple[str, str]]:
    """``STRUCT(a BIGINT, b MAP(…))`` as names and types."""
    body, depth, parts = type_.removeprefix("STRUCT(")[:-1], 0, [""]
    for letter in body:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [tuple(part.strip().split(" ", 1)) for part in parts]  # type: ignore[misc]


def reference(datum: bytes, writer: Any, schema: Schema) -> dict[str, Any] | None:
    """The row of a datum; None: malformed."""
    data = Bytes(datum)
    try:
        value = raw(writer, data)
        if data.pos != len(datum):
            return None
        struct_type = f"STRUCT({', '.join(f'{c.name} {c.type}' for c in schema)})"
        row: dict[str, Any] | None = fit(value, writer, struct_type)
        return row
    except Malformed:
        return None


def same(left: Any, right: Any) -> bool:
    """Equal, NaN to NaN too."""
    return repr(left) == repr(right) or left == right


def written(writer: Any, value: Any) -> bytes:
    """``value`` as fastavro writes it; of a union (branch's name, value)."""
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(bare(writer)), value)
    return buffer.getvalue()


def bare(schema: Any) -> Any:
    """``schema`` without logical types, so that fastavro takes raw values."""
    if isinstance(schema, list):
        return [bare(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    return (
        {key: bare(part) if key in _NESTED else part for key, part in schema.items()}
        | (
            {"fields": [{**f, "type": bare(f["type"])} for f in schema["fields"]]}
            if "fields" in schema
            else {}
        )
        | {"logicalType": ""}
    )


_NESTED = ("type", "items", "values")


def record(**fields: Any) -> dict[str, Any]:
    """A record of these fields."""
    listed = [{"name": name, "type": type_} for name, type_ in fields.items()]
    return {"type": "record", "name": "r", "fields": listed}


def varint(value: int) -> bytes:
    """``value`` as Avro writes a long, of any size."""
    bits, found = (value << 1) ^ (value >> 63 if -(2**63) <= value < 2**63 else 0), b""
    while bits >= 0x80:
        found += bytes([bits & 0x7F | 0x80])
        bits >>= 7
    return found + bytes([bits])
