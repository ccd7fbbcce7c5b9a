"""Rows to messages: the value by the table's format, the key by its own, metadata as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.formats import avro_format, csv_format, debezium, json_encode, raw_format
from tidegate.connectors.kafka.decode import registry_of
from tidegate.connectors.kafka.fits import check_sink
from tidegate.connectors.kafka.options import KafkaSinkOptions
from tidegate.engine.engine import Engine
from tidegate.plan.tables import Table
from tidegate.types import OP, Op, Schema

_NOW: Final = 0
_FIRST_MS: Final = 1


@dataclass(frozen=True, slots=True)
class Messages:
    """Columns of messages, of equal length; None where the table gives no such part.

    A time of 0 leaves it to the client: the time of sending. ``size`` is what the values have, in
    bytes.
    """

    values: list[bytes | None]
    size: int
    keys: list[bytes | None] | None = None
    times_ms: list[int] | None = None
    headers: list[list[tuple[str, bytes | None]]] | None = None


class Encoder:
    """Encodes the rows of one table. Raises OptionsError when options and columns don't fit."""

    def __init__(self, table: Table, options: KafkaSinkOptions, engine: Engine) -> None:
        self._options = options
        self._engine = engine
        self._metadata = {key: name for name, key in table.metadata}
        physical = [c for c in table.columns if c.name not in self._metadata.values()]
        by_name = {column.name: column for column in physical}
        check_sink(table, options)
        self._key: Schema = tuple(
            replace(by_name[name], name=name.removeprefix(options.key_prefix))
            for name in options.key_fields
        )
        only_key = set(options.key_fields) if options.value_fields == "EXCEPT_KEY" else set()
        self._value: Schema = tuple(c for c in physical if c.name not in only_key)
        self._key_format = options.key_format or "json"

    def encode(self, data: pa.Table) -> Messages:
        """The rows of ``data``, whose columns are the table's, as messages.

        Of a changing result, what a row was is left out, and what is deleted has no value; but an
        envelope has both.
        """
        deleted = None
        if OP in data.column_names and self._options.format != debezium.JSON:
            data = data.filter(pc.not_equal(data.column(OP), int(Op.UPDATE_BEFORE)))
            deleted = pc.equal(data.column(OP), int(Op.DELETE))
        subject = self._options.registry_subject or f"{self._options.topic}-value"
        values = self._encoded(data, self._value, self._options.format, subject)
        if deleted is not None:
            values = pc.if_else(deleted, pa.scalar(None, pa.binary()), values)
        keys = times = headers = None
        if self._key:
            picked = data.select(list(self._options.key_fields))
            renamed = picked.rename_columns([column.name for column in self._key])
            subject = f"{self._options.topic}-key"
            keys = self._encoded(renamed, self._key, self._key_format, subject).to_pylist()
        elif "key" in self._metadata:
            keys = data.column(self._metadata["key"]).to_pylist()
        if "timestamp" in self._metadata:
            times = _times_ms(data.column(self._metadata["timestamp"]))
        if "headers" in self._metadata:
            headers = [row or [] for row in data.column(self._metadata["headers"]).to_pylist()]
        size = pc.sum(pc.binary_length(values)).as_py() or 0
        return Messages(values.to_pylist(), size, keys, times, headers)

    def _encoded(self, data: pa.Table, schema: Schema, form: str, subject: str) -> Any:
        """Each row's bytes, as an Arrow array."""
        match form:
            case "json":
                return json_encode.encode_lines(data, schema, self._engine).cast(pa.binary())
            case "csv":
                lines = csv_format.encode_lines(data, schema, self._options, self._engine)
                return lines.cast(pa.binary())
            case debezium.JSON:
                return debezium.encode(data, schema, self._engine)
            case "raw":
                return raw_format.encode(data, schema, self._engine)
            case "avro":
                return avro_format.encode(data, schema, self._engine)
        registry = registry_of(self._options)
        return avro_format.encode(data, schema, self._engine, registry, subject)


def _times_ms(moments: pa.ChunkedArray) -> list[int]:
    """Times of messages: NULL is the time of sending; none is before 1970, or exactly then, since
    the client takes 0 for the time of sending too."""
    micros = moments.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    there = micros.is_valid().to_numpy()
    whole = np.maximum(micros.fill_null(0).to_numpy() // 1000, _FIRST_MS)
    times: list[int] = np.where(there, whole, _NOW).tolist()
    return times
