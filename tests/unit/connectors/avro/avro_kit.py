"""Avro by the book, one datum at a time in plain Python: what decoding must agree with.

`reference` reads a datum strictly by Avro's specification and the rules in `avro_format`'s and
`target`'s docstrings. Its values are those of `values_of`: microseconds, days, dicts and lists.
"""

from __future__ import annotations

import io
import itertools
import json
import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tidegate.connectors.avro.cursor import PADDING, Datums
from tidegate.connectors.avro.read import read
from tidegate.connectors.avro.schema import parse
from tidegate.connectors.avro.target import target_of
from tidegate.executor.engine import Engine
from tidegate.types import Schema

ENGINE = Engine()


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
            return Decimal(number).scaleb(-scale)
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


def decode_all(datums: list[bytes], writer: Any, schema: Schema) -> list[dict[str, Any] | None]:
    """What `read` makes of datums, in one piece."""
    lengths = [len(datum) for datum in datums]
    offsets = [sum(lengths[:index]) for index in range(len(datums) + 1)]
    data = pa.array([b"".join(datums) + bytes(PADDING)], pa.binary())
    found = Datums(np.frombuffer(data[0].as_py(), np.uint8), np.array(offsets, np.int64))
    cursor = found.cursor()
    rows = read(parse(json.dumps(writer)), target_of(schema, ENGINE), cursor, ENGINE)
    cursor.finish()
    assert rows.type == pa.struct(list(ENGINE.arrow_schema(schema)))
    rows.filter(pa.array(~found.bad)).validate(full=True)
    return [
        None if bad else row for row, bad in zip(values_of(rows), found.bad.tolist(), strict=True)
    ]


def values_of(array: Any) -> list[Any]:
    """An Arrow array in plain Python: moments as microseconds, dates as days."""
    type_ = array.type
    if pa.types.is_struct(type_):
        children = [values_of(child) for child in array.flatten()]
        names = [field.name for field in type_]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*children, strict=True)]
        return _where_valid(array, rows)
    if pa.types.is_map(type_):
        keys, items_ = values_of(array.keys), values_of(array.items)
        bounds = array.offsets.to_pylist()
        maps = [dict(zip(keys[a:b], items_[a:b], strict=True)) for a, b in pairwise(bounds)]
        return _where_valid(array, maps)
    if pa.types.is_list(type_):
        inner, bounds = values_of(array.values), array.offsets.to_pylist()
        return _where_valid(array, [inner[a:b] for a, b in pairwise(bounds)])
    if pa.types.is_date32(type_):
        return list(array.view(pa.int32()).to_pylist())
    if pa.types.is_timestamp(type_) or pa.types.is_time64(type_):
        return list(array.view(pa.int64()).to_pylist())
    return list(array.to_pylist())


def _where_valid(array: Any, rows: list[Any]) -> list[Any]:
    valid = array.is_valid().to_pylist()
    return [row if there else None for row, there in zip(rows, valid, strict=True)]


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


@dataclass(frozen=True)
class Typed:
    """A writer's type, the types it may be declared as, and its values as fastavro takes them."""

    schema: Any
    declared: tuple[str, ...]
    values: st.SearchStrategy[Any]


def _logical(form: str, logical: str, **more: Any) -> dict[str, Any]:
    return {"type": form, "logicalType": logical, **more}


_INTS = st.integers(-(2**31), 2**31 - 1) | st.integers(-70, 70)
_LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70) | _INTS
_TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
_MOMENTS = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "BIGINT")
_DECIMALS = st.integers(-(10**12), 10**12).map(
    lambda n: n.to_bytes((n + (n < 0)).bit_length() // 8 + 1, "big", signed=True)
)
LEAVES = [
    Typed("null", ("BIGINT", "VARCHAR[]"), st.none()),
    Typed("boolean", ("BOOLEAN", "VARCHAR", "BIGINT"), st.booleans()),
    Typed("int", ("INTEGER", "SMALLINT", "BIGINT", "VARCHAR", "DOUBLE", "BOOLEAN"), _INTS),
    Typed("long", ("BIGINT", "INTEGER", "VARCHAR", "STRUCT(a BIGINT)"), _LONGS),
    Typed("float", ("FLOAT", "DOUBLE"), st.floats(width=32)),
    Typed("double", ("DOUBLE", "BIGINT"), st.floats() | st.integers(-9, 9).map(float)),
    Typed("string", ("VARCHAR", "BLOB"), _TEXTS),
    Typed("bytes", ("BLOB", "VARCHAR", "BIGINT[]"), st.binary(max_size=20)),
    Typed(
        {"type": "fixed", "name": "f", "size": 3},
        ("BLOB", "VARCHAR"),
        st.binary(min_size=3, max_size=3),
    ),
    Typed(
        {"type": "enum", "name": "e", "symbols": ["A", "B"]}, ("VARCHAR",), st.sampled_from("AB")
    ),
    Typed(
        _logical("bytes", "decimal", precision=12, scale=2),
        ("DECIMAL(12,2)", "DECIMAL(38,2)", "DECIMAL(4,2)"),
        _DECIMALS,
    ),
    Typed(_logical("int", "date"), ("DATE",), _INTS),
    Typed(_logical("int", "time-millis"), ("TIME",), st.integers(-5, 86_400_005)),
    Typed(_logical("long", "time-micros"), ("TIME",), st.integers(-5, 86_400_000_005)),
    Typed(_logical("long", "timestamp-millis"), _MOMENTS, _LONGS),
    Typed(_logical("long", "timestamp-micros"), _MOMENTS, _LONGS),
    Typed(_logical("long", "timestamp-nanos"), _MOMENTS, _LONGS),
    Typed(_logical("long", "local-timestamp-millis"), _MOMENTS, _INTS),
]


def name_of(schema: Any) -> str:
    """What fastavro calls a branch of a union."""
    if isinstance(schema, dict):
        return str(schema.get("name", schema["type"]))
    return str(schema)


@st.composite
def types(draw: st.DrawFn, depth: int = 2) -> Typed:
    """Writers' types, one declared type for each, and values."""
    kind = draw(st.sampled_from(["leaf"] * 3 + ["union", "array", "map", "record"] * (depth > 0)))
    if kind == "leaf":
        leaf = draw(st.sampled_from(LEAVES))
        return Typed(renamed(leaf.schema), (draw(st.sampled_from(leaf.declared)),), leaf.values)
    if kind == "union":
        return draw(unions(depth))
    inner = draw(types(depth - 1))
    type_ = inner.declared[0]
    if kind == "array":
        values = st.lists(inner.values, max_size=4)
        return Typed({"type": "array", "items": inner.schema}, (f"{type_}[]",), values)
    if kind == "map":
        maps = st.dictionaries(_TEXTS, inner.values, max_size=3)
        return Typed({"type": "map", "values": inner.schema}, (f"MAP(VARCHAR, {type_})",), maps)
    other = draw(types(0))
    schema = renamed(record(a=inner.schema, b=other.schema))
    shown = draw(st.sampled_from([f"a {type_}", f"a {type_}, z VARCHAR, b {other.declared[0]}"]))
    fields = st.fixed_dictionaries({"a": inner.values, "b": other.values})
    return Typed(schema, (f"STRUCT({shown})",), fields)


@st.composite
def unions(draw: st.DrawFn, depth: int) -> Typed:
    inner = draw(types(depth - 1).filter(lambda t: not isinstance(t.schema, list)))
    branches = [inner.schema]
    values = [inner.values.map(lambda v: (name_of(inner.schema), v))]
    if draw(st.booleans()) and name_of(inner.schema) not in ("string", "null"):
        branches.append("string")
        values.append(_TEXTS.map(lambda v: ("string", v)))
    if name_of(inner.schema) != "null":
        branches.insert(draw(st.integers(0, len(branches))), "null")
        values.append(st.just(("null", None)))
    return Typed(branches, inner.declared, st.one_of(values))


def renamed(schema: Any) -> Any:
    """``schema`` under a name of its own, if it has one: a name must occur once."""
    if isinstance(schema, dict) and "name" in schema:
        return {**schema, "name": f"n{next(_NUMBERS)}"}
    return schema


_NUMBERS = itertools.count()


@st.composite
def mutated(draw: st.DrawFn, datum: bytes) -> bytes:
    """A datum that has come to harm."""
    at = draw(st.integers(0, max(0, len(datum) - 1)))
    huge = [varint(n) for n in (2**62, 2**40, 2**31, 2**31 - 1, -(2**63), -(2**40), -5, 70_000)]
    huge += [b"\xff" * 9 + b"\x01", b"\xff" * 9 + b"\x02", b"\xff" * 12, b"\x80\x00"]
    return draw(
        st.sampled_from(
            [
                datum[:at],
                datum + b"\x00",
                datum[at:],
                datum[:at] + draw(st.sampled_from(huge)) + datum[at + 1 :],
                datum[:at] + draw(st.binary(min_size=1, max_size=2)) + datum[at + 1 :],
                draw(st.binary(max_size=30)),
            ]
        )
    )
