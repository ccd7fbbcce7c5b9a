"""The schema of a table's columns is the one that Flink derives."""

from __future__ import annotations

import json
from typing import Any

import fastavro
import pytest

from tidegate.connectors.avro.derive import Unit, derived
from tidegate.errors import OptionsError
from tidegate.types import Column


def fields(unit: Unit, *columns: tuple[str, str]) -> Any:
    schema = json.loads(derived(tuple(Column(*column) for column in columns), unit))
    assert schema["name"] == "org.apache.flink.avro.generated.record"
    fastavro.parse_schema(schema)
    return [(field["name"], field["type"], field["default"]) for field in schema["fields"]]


def test_flinks_types() -> None:
    """As AvroSchemaConverter.convertToSchema of Flink 2 has them (legacy timestamps)."""
    assert fields(
        "ms",
        ("a", "BOOLEAN"),
        ("b", "INTEGER"),
        ("c", "BIGINT"),
        ("d", "DOUBLE"),
        ("e", "VARCHAR"),
        ("f", "BLOB"),
        ("g", "DECIMAL(10,2)"),
        ("h", "DATE"),
        ("i", "TIME"),
        ("j", "TIMESTAMP"),
        ("k", "STRUCT(x BIGINT, y STRUCT(z FLOAT))"),
        ("l", "VARCHAR[]"),
        ("m", "MAP(VARCHAR, SMALLINT)"),
    ) == [
        ("a", ["null", "boolean"], None),
        ("b", ["null", "int"], None),
        ("c", ["null", "long"], None),
        ("d", ["null", "double"], None),
        ("e", ["null", "string"], None),
        ("f", ["null", "bytes"], None),
        ("g", ["null", logical("bytes", "decimal", precision=10, scale=2)], None),
        ("h", ["null", logical("int", "date")], None),
        ("i", ["null", logical("int", "time-millis")], None),
        ("j", ["null", logical("long", "timestamp-millis")], None),
        (
            "k",
            [
                "null",
                {
                    "type": "record",
                    "name": "org.apache.flink.avro.generated.record_k",
                    "fields": [
                        {"name": "x", "type": ["null", "long"], "default": None},
                        {
                            "name": "y",
                            "type": [
                                "null",
                                {
                                    "type": "record",
                                    "name": "org.apache.flink.avro.generated.record_k_y",
                                    "fields": [
                                        {"name": "z", "type": ["null", "float"], "default": None}
                                    ],
                                },
                            ],
                            "default": None,
                        },
                    ],
                },
            ],
            None,
        ),
        ("l", ["null", {"type": "array", "items": ["null", "string"]}], None),
        ("m", ["null", {"type": "map", "values": ["null", "int"]}], None),
    ]


def logical(form: str, name: str, **more: int) -> dict[str, Any]:
    return {"type": form, "logicalType": name, **more}


def test_microseconds_and_types_that_flink_has_not() -> None:
    found = fields(
        "us",
        ("a", "TIMESTAMP"),
        ("b", "TIMESTAMP WITH TIME ZONE"),
        ("c", "TIME"),
        ("d", "HUGEINT"),
        ("e", "UBIGINT"),
        ("f", "UINTEGER"),
        ("g", "UUID"),
    )
    assert [type_[1] for _, type_, _ in found] == [
        logical("long", "timestamp-micros"),
        logical("long", "timestamp-micros"),
        logical("long", "time-micros"),
        logical("bytes", "decimal", precision=38, scale=0),
        logical("bytes", "decimal", precision=20, scale=0),
        "long",
        "string",
    ]


def test_names_of_records_differ() -> None:
    fields("ms", ("a", "STRUCT(b STRUCT(x BIGINT))"), ("a_b", "STRUCT(y BIGINT)"))


@pytest.mark.parametrize("name", ["a b", "é", "1a", "", "a.b", "$rowtime"])
def test_a_name_that_avro_refuses(name: str) -> None:
    with pytest.raises(OptionsError, match="cannot be a field of an Avro record"):
        derived((Column(name, "BIGINT"),), "us")
    with pytest.raises(OptionsError, match="cannot be a field of an Avro record"):
        derived((Column("s", f'STRUCT("{name or " "}" BIGINT)'),), "us")


@pytest.mark.parametrize("type_", ["INTERVAL", "UHUGEINT", "MAP(BIGINT, BIGINT)", "BIGINT[3]"])
def test_a_type_that_avro_has_not(type_: str) -> None:
    with pytest.raises(OptionsError, match="is not supported in Avro") as caught:
        derived((Column("s", f"STRUCT(a {type_})"),), "us")
    assert caught.value.detail == "it is the type of 's_a'"
