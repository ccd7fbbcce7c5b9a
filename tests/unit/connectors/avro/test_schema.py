"""Schemas as a registry keeps them, to trees."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidegate.connectors.avro.schema import (
    Entries,
    Items,
    Leaf,
    Record,
    SchemaError,
    Union,
    bytes_min,
    parse,
)


def tree(schema: Any) -> Any:
    return parse(json.dumps(schema))


def test_a_record_with_everything() -> None:
    node = tree(
        {
            "type": "record",
            "name": "order",
            "namespace": "shop",
            "doc": "an order",
            "fields": [
                {"name": "id", "type": "long", "doc": "number", "default": 0},
                {"name": "name", "type": {"type": "string", "avro.java.string": "String"}},
                {"name": "tags", "type": {"type": "array", "items": "string"}},
                {"name": "more", "type": {"type": "map", "values": ["null", "double"]}},
                {"name": "kind", "type": {"type": "enum", "name": "kind", "symbols": ["A", "B"]}},
                {"name": "again", "type": "shop.kind"},
                {"name": "short", "type": "kind"},
                {"name": "hash", "type": {"type": "fixed", "name": "md5", "size": 16}},
            ],
        }
    )
    assert isinstance(node, Record)
    assert node.name == "shop.order"
    enum = Leaf("enum", symbols=("A", "B"))
    assert node.fields == [
        ("id", Leaf("long")),
        ("name", Leaf("string")),
        ("tags", Items(Leaf("string"))),
        ("more", Entries(Union((Leaf("null"), Leaf("double"))))),
        ("kind", enum),
        ("again", enum),
        ("short", enum),
        ("hash", Leaf("fixed", size=16)),
    ]


@pytest.mark.parametrize(
    ("schema", "leaf"),
    [
        ({"type": "int", "logicalType": "date"}, Leaf("int", "date")),
        ({"type": "long", "logicalType": "timestamp-micros"}, Leaf("long", "timestamp-micros")),
        ({"type": "long", "logicalType": "date"}, Leaf("long")),
        ({"type": "long", "logicalType": "of-mine"}, Leaf("long")),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
            Leaf("bytes", "decimal", scale=2),
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 2},
            Leaf("bytes", "decimal", scale=2),
        ),
        ({"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 50}, Leaf("bytes")),
        ({"type": "bytes", "logicalType": "decimal"}, Leaf("bytes")),
        (
            {"type": "fixed", "name": "f", "size": 8, "logicalType": "decimal", "precision": 9},
            Leaf("fixed", "decimal", size=8),
        ),
        (
            {"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"},
            Leaf("fixed", size=12),
        ),
    ],
)
def test_logical_types_count_where_they_fit(schema: Any, leaf: Leaf) -> None:
    assert tree(schema) == leaf


def test_a_record_in_itself() -> None:
    node = tree(
        {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
    )
    assert node.fields == [("next", Union((Leaf("null"), node)))]
    assert str(node.fields[0][1]) == "union of null, record"


def test_names_from_referred_schemas() -> None:
    inner = '{"type":"enum","name":"kind","namespace":"shop","symbols":["A"]}'
    middle = '{"type":"record","name":"shop.line","fields":[{"name":"k","type":"shop.kind"}]}'
    outer = '{"type":"record","name":"o","fields":[{"name":"l","type":"shop.line"}]}'
    node = parse(outer, (inner, middle))
    assert isinstance(node, Record)
    line = node.fields[0][1]
    assert isinstance(line, Record)
    assert line.fields == [("k", Leaf("enum", symbols=("A",)))]
    with pytest.raises(SchemaError, match=r"shop\.line"):
        parse(outer)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "3",
        '"foo"',
        "{}",
        '{"type":"record"}',
        '{"type":"record","name":"r","fields":[{"name":"a","type":"bar"}]}',
        '{"type":"record","name":"r","fields":[{"name":"a","type":"r"}]}',
        '{"type":"fixed","name":"f","size":-1}',
        '{"type":"fixed","name":"f","size":"x"}',
        '{"type":"fixed","name":"f"}',
        '{"type":"array"}',
        "[" * 5000 + "]" * 5000,
    ],
)
def test_what_is_no_schema_says_so_in_a_line(text: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse(text)
    assert str(caught.value).startswith("no readable Avro schema: ")
    assert "\n" not in str(caught.value)


def test_the_fewest_bytes() -> None:
    fields = [
        {"name": str("abcdefg"[k]), "type": t} for k, t in enumerate(["null", "long", "float"])
    ]
    assert bytes_min(tree({"type": "record", "name": "r", "fields": fields})) == 5
    assert bytes_min(Leaf("fixed", size=7)) == 7
    assert bytes_min(Leaf("double")) == 8
    assert bytes_min(Items(Leaf("double"))) == 1
    assert bytes_min(Union((Leaf("double"),))) == 1
