from __future__ import annotations

from kits.frontend import BROKER
from tidegate.frontend import compile
from tidegate.frontend.ast.statements import CreateTable
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file


def test_names_and_keys() -> None:
    (table,) = parse_file(
        Source(
            "f.sql",
            "CREATE SOURCE s (a INT) INCLUDE key AS k INCLUDE TIMESTAMP, INCLUDE partition AS p"
            " INCLUDE offset INCLUDE header INCLUDE headers AS h WITH (connector = 'kafka')"
            " FORMAT PLAIN ENCODE JSON",
        )
    )
    assert isinstance(table, CreateTable)
    found = [
        (column.name.text, column.metadata.key.value, column.metadata.virtual)
        for column in table.columns
        if column.metadata
    ]
    assert found == [
        ("k", "key", True),
        ("_rw_kafka_timestamp", "timestamp", True),
        ("p", "partition", True),
        ("_rw_kafka_offset", "offset", True),
        ("_rw_kafka_header", "headers", True),
        ("h", "headers", True),
    ]


def test_the_columns_have_the_types_of_their_keys() -> None:
    (sink,) = compile(
        "CREATE SOURCE s (a INT) INCLUDE key AS k INCLUDE timestamp AS t INCLUDE header AS h"
        f" WITH ({BROKER}, topic = 's') FORMAT PLAIN ENCODE JSON; SELECT *, h['x'] AS x FROM s",
        "f.sql",
        {},
    ).sinks
    assert [(column.name, column.type) for column in sink.schema] == [
        ("a", "INTEGER"),
        ("k", "BLOB"),
        ("t", "TIMESTAMP WITH TIME ZONE"),
        ("h", "MAP(VARCHAR, BLOB)"),
        ("x", "BLOB"),
    ]
