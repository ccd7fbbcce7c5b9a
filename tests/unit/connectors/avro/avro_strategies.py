"""Random writers' schemas, tables that declare some of them, their values, and harm to datums."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tidegate.types import Column, Schema
from unit.connectors.avro.avro_kit import record, varint


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
        values.append(_TEXTS.map(lambda v: ("string", f"x{v}")))  # no number, moment or the like
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


@st.composite
def tables(draw: st.DrawFn) -> tuple[Any, Schema, st.SearchStrategy[Any]]:
    """A writer's record of up to three fields, a table with some of them, and the rows."""
    fields = draw(st.lists(types(), min_size=1, max_size=3))
    names = ["a", "b", "c"][: len(fields)]
    writer = record(**{name: t.schema for name, t in zip(names, fields, strict=True)})
    declared = [Column(n, t.declared[0]) for n, t in zip(names, fields, strict=True)]
    declared.append(Column("z", "BIGINT"))
    shown = draw(st.lists(st.sampled_from(declared), min_size=1, unique=True))
    values = {n: t.values for n, t in zip(names, fields, strict=True)}
    return writer, tuple(shown), st.fixed_dictionaries(values)
