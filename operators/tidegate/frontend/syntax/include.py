"""Reads RisingWave's ``INCLUDE key AS k``: metadata of a message as columns that are only read."""

from __future__ import annotations

from typing import Final

from sqlglot.tokenizer_core import TokenType

from tidegate.frontend.ast.queries import Name, Text
from tidegate.frontend.ast.statements import ColumnDef, Metadata
from tidegate.frontend.syntax.cursor import Cursor

_KEYS: Final = {
    "KEY": "key",
    "TIMESTAMP": "timestamp",
    "PARTITION": "partition",
    "OFFSET": "offset",
    "HEADER": "headers",
    "HEADERS": "headers",
}
"""RisingWave's words and the connector's keys."""
_OF_ENVELOPES: Final = {
    "DATABASE_NAME": "source.database",
    "SCHEMA_NAME": "source.schema",
    "TABLE_NAME": "source.table",
    "COLLECTION_NAME": "source.table",
}
"""And those of Debezium's envelope."""
_DEFAULT_NAME: Final = "_rw_kafka_"


def take_includes(cursor: Cursor) -> list[ColumnDef]:
    """The columns of the INCLUDE clauses at ``cursor``, which have the types of their keys."""
    columns = []
    while cursor.at("INCLUDE"):
        columns.append(_include(cursor))
        cursor.accept(",")
    return columns


def _include(cursor: Cursor) -> ColumnDef:
    start = cursor.expect("INCLUDE")
    word, span = cursor.word(), cursor.span
    if word == "PAYLOAD":
        raise cursor.unsupported(
            "INCLUDE payload is not supported",
            "declare one BYTES column and write FORMAT PLAIN ENCODE BYTES",
        )
    known = _KEYS | _OF_ENVELOPES
    if word not in known:
        raise cursor.expected("key, timestamp, partition, offset or header after INCLUDE")
    cursor.take()
    if cursor.kind() is TokenType.STRING:
        raise cursor.unsupported(
            "INCLUDE of a single header is not supported",
            "write INCLUDE header AS h, and h['name'] in queries",
        )
    name = Name(f"{_DEFAULT_NAME}{word.lower()}", False, span)
    if cursor.accept("AS"):
        name = cursor.name("the name of the column")
    metadata = Metadata(Text(known[word], span), virtual=True)
    return ColumnDef(name, "", None, start.to(cursor.previous_span), metadata)
