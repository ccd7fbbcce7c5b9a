"""Rows to messages: the value by the table's format, the key by its own, metadata as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors import csv_format, json_encode
from tidegate.connectors.kafka.options import KafkaSinkOptions
from tidegate.connectors.options import csv_options
from tidegate.errors import OptionsError
from tidegate.executor.engine import Engine
from tidegate.plan.nodes import Table
from tidegate.types import Schema


@dataclass(frozen=True, slots=True)
class Messages:
    """Columns of messages, of equal length; None where the table gives no such part."""

    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    times_ms: list[int | None] | None = None
    headers: list[list[tuple[str, bytes | None]]] | None = None


class Encoder:
    """Encodes the rows of one table."""

    def __init__(self, table: Table, options: KafkaSinkOptions, engine: Engine) -> None:
        self._table = table
        self._options = options
        self._engine = engine
        self._metadata = {key: name for name, key in table.metadata}
        physical = [c for c in table.columns if c.name not in self._metadata.values()]
        names = [column.name for column in physical]
        missing = [name for name in options.key_fields if name not in names]
        if missing:
            raise OptionsError(
                f"table '{table.name}': 'key.fields' names '{missing[0]}', which is no column of it"
            )
        self._key_names = tuple(options.key_fields)
        prefix = options.key_prefix
        by_name = {column.name: column for column in physical}
        self._key: Schema = tuple(
            replace(by_name[name], name=name.removeprefix(prefix)) for name in options.key_fields
        )
        only_key = set(self._key_names) if options.value_fields == "EXCEPT_KEY" else set()
        self._value: Schema = tuple(c for c in physical if c.name not in only_key)

    def encode(self, data: pa.Table) -> Messages:
        """The rows of ``data``, whose columns are the table's, as messages."""
        values = self._encoded(data, self._value, self._options.format)
        keys = None
        if self._key:
            picked = data.select(list(self._key_names))
            renamed = picked.rename_columns([column.name for column in self._key])
            keys = self._encoded(renamed, self._key, self._options.key_format or "json")
        elif "key" in self._metadata:
            keys = data.column(self._metadata["key"]).to_pylist()
        times = headers = None
        if "timestamp" in self._metadata:
            moments = data.column(self._metadata["timestamp"]).cast(pa.int64())
            times = pc.divide(moments, 1000).to_pylist()
        if "headers" in self._metadata:
            headers = [row or [] for row in data.column(self._metadata["headers"]).to_pylist()]
        return Messages(values, keys, times, headers)

    def _encoded(self, data: pa.Table, schema: Schema, form: str) -> list[Any]:
        """Each row's bytes."""
        if form == "json":
            lines = json_encode.encode_lines(data, schema, self._engine)
        elif form == "csv":
            lines = csv_format.encode_lines(
                data, schema, csv_options(self._table.options), self._engine
            )
        else:
            raise OptionsError(f"table '{self._table.name}': format '{form}' is not there yet")
        encoded: list[Any] = lines.cast(pa.binary()).to_pylist()
        return encoded
