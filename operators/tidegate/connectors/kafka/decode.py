"""Messages to columns: the value by the table's format, the key by its own, metadata as it is.

What is in a message: `Batch`, one array for each part, filled by the reader only with the parts
that the table needs. A message without a value (a tombstone), or with an empty one, is malformed:
it is a row that came, and nothing of it can be decoded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors import csv_format, json_format, lines
from tidegate.connectors.base import SourceChunk
from tidegate.connectors.json_format import Decoded
from tidegate.connectors.kafka.options import KafkaSourceOptions
from tidegate.connectors.options import csv_options
from tidegate.errors import OptionsError
from tidegate.executor.engine import Engine
from tidegate.plan.nodes import Table
from tidegate.types import BROKER_TIME, OFFSET, RECORD, Schema

_BOM: Final = b"\xef\xbb\xbf"
_TIMESTAMP_TYPES: Final = ("NoTimestampType", "CreateTime", "LogAppendTime")
_LOG_APPEND_TIME: Final = 2
_HEADERS: Final = pa.map_(pa.string(), pa.binary())
_TIMESTAMPTZ: Final = pa.timestamp("us", tz="UTC")


@dataclass(slots=True)
class Batch:
    """Messages of one partition in their order; lists of equal length, or None if not asked for.

    ``times`` are (type, milliseconds) as the client gives them.
    """

    offsets: list[int]
    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    times: list[tuple[int, int]] | None = None
    headers: list[Any] | None = None
    epochs: list[int | None] | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which parts of messages a table needs."""

    keys: bool
    times: bool
    headers: bool
    epochs: bool


class Decoder:
    """Decodes the messages of one table."""

    def __init__(self, table: Table, options: KafkaSourceOptions, engine: Engine) -> None:
        self._table = table
        self._options = options
        self._engine = engine
        self._metadata = dict(table.metadata)
        physical = [column for column in table.columns if column.name not in self._metadata]
        prefix, names = options.key_prefix, set(options.key_fields)
        in_key = {c.name for c in physical if c.name in names} if options.key_format else set()
        if options.key_format and in_key != names:
            missing = sorted(names - in_key)[0]
            raise OptionsError(
                f"table '{table.name}': 'key.fields' names '{missing}', which is no column of it"
            )
        self._key: Schema = tuple(
            replace(c, name=c.name.removeprefix(prefix)) for c in physical if c.name in in_key
        )
        self._key_names = tuple(c.name for c in physical if c.name in in_key)
        only_key = in_key if options.value_fields == "EXCEPT_KEY" or prefix else set()
        self._shared = in_key - only_key  # in the key and in the value: the value's counts
        self._value: Schema = tuple(c for c in physical if c.name not in only_key)
        keys = set(self._metadata.values())
        self.wanted = Wanted(
            keys="key" in keys or bool(only_key),
            times=True,
            headers="headers" in keys,
            epochs="leader-epoch" in keys,
        )

    def chunk(self, batch: Batch, topic: str, partition: int) -> SourceChunk:
        """The messages as rows; ``next_offset`` is that behind the last of them."""
        offsets = np.array(batch.offsets, dtype=np.int64)
        records = pa.array(batch.values, pa.binary())
        decoded, good = self._decoded(records, self._value, self._options.format)
        columns = dict(zip([c.name for c in self._value], decoded.columns, strict=True))
        if self.wanted.keys and self._key_names and set(self._key_names) - self._shared:
            keys = pa.array(batch.keys, pa.binary())
            assert self._options.key_format is not None
            key_data, key_good = self._decoded(keys, self._key, self._options.key_format)
            both = good & key_good
            columns = {n: c.filter(pa.array(both[good])) for n, c in columns.items()}
            key_columns = zip(self._key_names, key_data.columns, strict=True)
            kept = pa.array(both[key_good])
            columns |= {n: c.filter(kept) for n, c in key_columns if n not in self._shared}
            good = both
        rows = pa.array(good)
        for name, key in self._metadata.items():
            columns[name] = self._meta(key, batch, offsets, topic, partition).filter(rows)
        arrays = [columns[column.name] for column in self._table.columns]
        names = [column.name for column in self._table.columns]
        table = pa.Table.from_arrays(arrays, names=names)
        table = table.append_column(OFFSET, pa.array(offsets[good]))
        table = table.append_column(RECORD, records.filter(rows))
        broker = _broker_times(batch.times)
        if broker is not None:
            table = table.append_column(BROKER_TIME, broker.filter(rows))
        refused = {"offset": pa.array(offsets[~good]), "record": records.filter(pa.array(~good))}
        return SourceChunk(table, pa.table(refused), int(offsets[-1]) + 1)

    def _decoded(
        self, records: pa.Array, schema: Schema, form: str
    ) -> tuple[pa.Table, npt.NDArray[np.bool_]]:
        """The rows that decode, and which they are."""
        there = pc.fill_null(pc.greater(pc.binary_length(records), 0), False)
        good = there.to_numpy(zero_copy_only=False).astype(np.bool_)
        present = records if good.all() else records.filter(there)
        decoded = self._values(present, schema, form)
        good[good] = decoded.good
        return decoded.data, good

    def _values(self, records: pa.Array, schema: Schema, form: str) -> Decoded:
        if form in ("json", "csv"):
            return self._text(_without_bom(records), schema, form)
        raise OptionsError(f"table '{self._table.name}': format '{form}' is not there yet")

    def _text(self, records: pa.Array, schema: Schema, form: str) -> Decoded:
        valid = lines.valid_utf8(records)
        text = lines.as_strings(records if valid is None else records.filter(pa.array(valid)))
        if form == "csv":
            decoded = csv_format.decode(
                text, schema, csv_options(self._table.options), self._engine
            )
        else:
            decoded = json_format.decode(text, schema, self._engine)
        if valid is None:
            return decoded
        good = valid.copy()
        good[valid] = decoded.good
        return Decoded(decoded.data, good)

    def _meta(
        self, key: str, batch: Batch, offsets: npt.NDArray[np.int64], topic: str, partition: int
    ) -> pa.Array:
        count = len(offsets)
        match key:
            case "topic":
                return pa.array([topic], pa.string()).take(pa.array(np.zeros(count, np.int64)))
            case "partition":
                return pa.array(np.full(count, partition, np.int32))
            case "offset":
                return pa.array(offsets)
            case "timestamp":
                assert batch.times is not None
                moments = [ms * 1000 if kind else None for kind, ms in batch.times]
                return pa.array(moments, pa.int64()).cast(_TIMESTAMPTZ)
            case "timestamp-type":
                assert batch.times is not None
                return pa.array([_TIMESTAMP_TYPES[kind] for kind, _ in batch.times])
            case "key":
                return pa.array(batch.keys, pa.binary())
            case "headers":
                assert batch.headers is not None
                return pa.array([_last_of_each(found) for found in batch.headers], _HEADERS)
            case "leader-epoch":
                return pa.array(batch.epochs, pa.int32())
        raise AssertionError(key)


def _last_of_each(headers: Any) -> list[tuple[str, bytes | None]]:
    """A map has each key once; of headers that repeat, the last counts, as in Flink."""
    return list(dict(headers or ()).items())


def _broker_times(times: list[tuple[int, int]] | None) -> pa.Array | None:
    """Microseconds of those messages that the broker has stamped; None when it stamps none."""
    if times is None or not any(kind == _LOG_APPEND_TIME for kind, _ in times):
        return None
    stamps = [ms * 1000 if kind == _LOG_APPEND_TIME else None for kind, ms in times]
    return pa.array(stamps, pa.int64())


def _without_bom(records: pa.Array) -> pa.Array:
    """``records`` without a byte order mark at their start; copied only if one has it."""
    marked = pc.starts_with(records, _BOM)
    if not pc.any(marked).as_py():
        return records
    cut = pc.binary_slice(records, len(_BOM))
    return pc.if_else(marked, cut, records)
