"""Which types of a writer can fit which declared ones, said before any row is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidegate.connectors.avro.schema import Leaf, parse
from tidegate.connectors.avro.target import Target, fits, form_of, misfits, target_of
from tidegate.types import Column
from unit.connectors.avro.avro_kit import record
from unit.connectors.avro.avro_rows import ENGINE

FORMS = {
    "boolean": Leaf("boolean"),
    "long": Leaf("long"),
    "double": Leaf("double"),
    "decimal": Leaf("bytes", "decimal", scale=2),
    "string": Leaf("string"),
    "enum": Leaf("enum", symbols=("A",)),
    "bytes": Leaf("bytes"),
    "date": Leaf("int", "date"),
    "time": Leaf("long", "time-micros"),
    "timestamp": Leaf("long", "local-timestamp-millis"),
}
NUMBERS = {"long", "double", "decimal", "string"}
TAKES = {
    "BOOLEAN": {"boolean"},
    "TINYINT": NUMBERS,
    "BIGINT": NUMBERS,
    "HUGEINT": NUMBERS,
    "DECIMAL(10,2)": NUMBERS,
    "FLOAT": NUMBERS,
    "DOUBLE": NUMBERS,
    "VARCHAR": set(FORMS),
    "BLOB": {"string", "bytes"},
    "DATE": {"date", "string"},
    "TIME": {"time", "string"},
    "TIMESTAMP": {"timestamp", "date", "string"},
    "TIMESTAMP WITH TIME ZONE": {"timestamp", "date", "string"},
    "UUID": {"string", "enum"},
    "BIGINT[]": set[str](),
    "MAP(VARCHAR, BIGINT)": set[str](),
    "STRUCT(a BIGINT)": set[str](),
}


def target(type_: str) -> Target:
    return target_of((Column("c", type_),), ENGINE).below[0][1]


@pytest.mark.parametrize("type_", TAKES)
def test_what_a_type_takes(type_: str) -> None:
    assert {form for form, leaf in FORMS.items() if fits(leaf, target(type_))} == TAKES[type_]
    assert fits(Leaf("null"), target(type_))


@pytest.mark.parametrize("form", FORMS)
def test_the_forms_of_leaves(form: str) -> None:
    assert form_of(FORMS[form]) == form


def test_targets_have_the_engines_arrow_types() -> None:
    schema = (
        Column("a", "STRUCT(b BIGINT[], m MAP(VARCHAR, STRUCT(x DATE)))"),
        Column("t", "TIMESTAMP WITH TIME ZONE"),
    )
    row = target_of(schema, ENGINE)
    assert list(row.arrow) == list(ENGINE.arrow_schema(schema))
    assert row is target_of(schema, ENGINE)
    (_, a), (_, t) = row.below
    (_, b), (_, m) = a.below
    assert b.is_list
    assert m.is_map
    assert m.below[1][1].below[0][1].type == "DATE"
    assert t.arrow == ENGINE.arrow_schema(schema).field("t").type


def said(writer: Any, *columns: tuple[str, str]) -> list[str]:
    row = target_of(tuple(Column(*column) for column in columns), ENGINE)
    return list(misfits(parse(json.dumps(writer)), row))


def test_misfits_are_named_with_the_way_to_them() -> None:
    inner = record(x="string", y={"type": "array", "items": "boolean"}) | {"name": "inner"}
    writer = record(
        a="long", b=["null", inner], m={"type": "map", "values": "double"}, t="long", u="bytes"
    )
    assert said(writer, ("a", "BIGINT"), ("b", "STRUCT(x VARCHAR)"), ("z", "DATE")) == []
    assert said(
        writer,
        ("a", "TIMESTAMP"),
        ("b", "STRUCT(y BIGINT[], x BOOLEAN)"),
        ("m", "MAP(BOOLEAN, DATE)"),
        ("u", "DECIMAL(10,2)"),
    ) == [
        "a is long, declared TIMESTAMP",
        "b.y[] is boolean, declared BIGINT",
        "b.x is string, declared BOOLEAN",
        "the keys of m are strings, declared BOOLEAN",
        "m[] is double, declared DATE",
        "u is bytes, declared DECIMAL(10,2)",
    ]
    assert said(writer, ("b", "BIGINT")) == ["b is record, declared BIGINT"]
    assert said("long", ("a", "BIGINT")) == ["the datum is long, declared STRUCT"]
