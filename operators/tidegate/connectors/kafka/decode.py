"""Messages to columns: the value by the table's format, the key by its own, metadata as it is.

A message without a value (a tombstone), or with an empty one, is malformed: it is a row that came,
and nothing of it can be decoded. So is one without a key where columns are to come from the key.
Format ``raw`` is the exception, since it writes NULL as no bytes, and an empty text as none: there
both are read as that. A timestamp that no column can hold makes its row malformed, too, and a
header's name that is no UTF-8, if the table has them as a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME

from tidegate.connectors.formats import avro_format, lines, raw_format
from tidegate.connectors.formats.changes import of_column
from tidegate.connectors.formats.debezium import ENCODINGS, envelopes_of
from tidegate.connectors.formats.json_format import Decoded
from tidegate.connectors.formats.schema_registry import Registry
from tidegate.connectors.kafka.batch import UNREADABLE, Batch, Times, Wanted, joined
from tidegate.connectors.kafka.fits import check_source, columns_of_key_alone
from tidegate.connectors.kafka.options import METADATA, KafkaOptions, KafkaSourceOptions
from tidegate.engine.engine import Engine
from tidegate.plan.tables import Table
from tidegate.ports import SourceChunk, with_reasons
from tidegate.types import BROKER_TIME, OFFSET, OP, RECORD, Op, Schema

_BOM: Final = b"\xef\xbb\xbf"
_TIMESTAMP_TYPES: Final = ("NoTimestampType", "CreateTime", "LogAppendTime")
_HEADERS: Final = pa.map_(pa.string(), pa.binary())
_TIMESTAMPTZ: Final = pa.timestamp("us", tz="UTC")
_INT_MAX: Final = 2**31 - 1
_MS_MIN: Final = -9_223_372_022_400_000
_MS_MAX: Final = 9_223_372_036_854_775
"""What a TIMESTAMPTZ can hold, in milliseconds."""

Good = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Part:
    """Messages of one partition."""

    topic: str
    partition: int
    batch: Batch


class Decoder:
    """Decodes the messages of one table."""

    def __init__(self, table: Table, options: KafkaSourceOptions, engine: Engine) -> None:
        check_source(table, options)
        self._table = table
        self._options = options
        self._engine = engine
        beside = dict(table.metadata)
        physical = [column for column in table.columns if column.name not in beside]
        prefix = options.key_prefix
        only_key = columns_of_key_alone(table, options)
        self._value: Schema = tuple(c for c in physical if c.name not in only_key)
        # A column that is in the key and in the value is the value's.
        self._key_names = [c.name for c in physical if c.name in only_key]
        self._key: Schema = tuple(
            replace(c, name=c.name.removeprefix(prefix)) for c in physical if c.name in only_key
        )
        self._envelopes = envelopes_of(table, engine, self._value)
        self._metadata = {name: key for name, key in beside.items() if key in METADATA}
        self._of_format = [name for name in beside if name not in self._metadata]
        keys = set(self._metadata.values())
        self.wanted = Wanted(
            keys="key" in keys or bool(only_key),
            times=bool({"timestamp", "timestamp-type"} & keys),
            headers="headers" in keys,
            epochs="leader-epoch" in keys,
        )

    def chunks(self, parts: Sequence[Part]) -> list[SourceChunk]:
        """The messages of each part as rows; ``next_offset`` is that behind the last of them.

        All are decoded together: a call of the engine costs as much as some thousand messages.
        """
        batch = joined([part.batch for part in parts])
        table, good, malformed, passed_over = self._rows(batch, parts)
        bounds = np.cumsum([0, *(part.batch.rows for part in parts)])
        refused = np.flatnonzero(malformed)
        before = np.searchsorted(refused, bounds)  # how many are refused before each part
        passed = np.concatenate(([0], np.cumsum(good)))[bounds]
        rest = pa.table(
            {
                "offset": pa.array(batch.offsets[refused]),
                "record": batch.values.take(pa.array(refused)),
            }
        )
        if passed_over is not None:
            rest = with_reasons(rest, passed_over[refused])
        return [
            SourceChunk(
                table.slice(start, stop - start),
                rest.slice(skipped, skipped_to - skipped),
                int(part.batch.offsets[-1]) + 1,
            )
            for part, (start, stop), (skipped, skipped_to) in zip(
                parts, pairwise(passed.tolist()), pairwise(before.tolist()), strict=True
            )
        ]

    def _rows(
        self, batch: Batch, parts: Sequence[Part]
    ) -> tuple[pa.Table, Good, Good, Good | None]:
        """What can be decoded of ``batch``, which is all of ``parts``, and which rows that are;
        which are malformed, and of these which are passed over."""
        value = self._of_values(batch.values)
        decoded = [value]
        names = [[*(column.name for column in self._value), *self._of_format]]
        if self._key:
            decoded.append(self._decoded(batch.keys, self._key, self._options.key_form))
            names.append(self._key_names)
        good = np.logical_and.reduce([self._fits(batch), *(found.good for found in decoded)])
        columns = {
            name: _kept(column, good[found.good])
            for of_part, found in zip(names, decoded, strict=True)
            for name, column in zip(of_part, found.data.columns[: len(of_part)], strict=True)
        }
        for name, key in self._metadata.items():
            columns[name] = _kept(self._meta(key, batch, parts), good)
        table = pa.table({column.name: columns[column.name] for column in self._table.columns})
        table = table.append_column(OFFSET, pa.array(batch.offsets[good]))
        table = table.append_column(RECORD, _kept(batch.values, good))
        broker = _broker_times(batch.times)
        if broker is not None:
            table = table.append_column(BROKER_TIME, _kept(broker, good))
        if OP in value.data.column_names:
            table = table.append_column(OP, _kept(value.data.column(OP), good[value.good]))
        malformed = ~good
        if self._envelopes is not None:  # behind a delete Debezium sends one for the log's cleaner
            malformed &= batch.values.is_valid().to_numpy(zero_copy_only=False)
        return table, good, malformed, value.passed_over

    def _of_values(self, values: pa.Array) -> Decoded:
        """What ``values`` decode to; with `OP`, where the table changes."""
        options = self._options
        if self._envelopes is not None:
            form = ENCODINGS[options.format]
            there = values.is_valid().to_numpy(zero_copy_only=False)
            found = self._envelopes.decode(
                _kept(values, there), lambda records, schema: self._values(records, schema, form)
            )
            good, over = (_spread(mask, there) for mask in (found.good, found.passed_over))
            return Decoded(found.data, good, over)
        decoded = self._decoded(values, self._value, options.format)
        if options.type == "upsert":
            there = _is_there(values, options.format)
            decoded = _with_nulls(decoded, ~there)
            puts = there[decoded.good]
            ops = np.where(puts, Op.UPDATE_AFTER, Op.DELETE).astype(np.int8)
            columns = dict(zip(decoded.data.column_names, decoded.data.columns, strict=True))
            return Decoded(pa.table({**columns, OP: pa.array(ops)}), decoded.good)
        return of_column(decoded, options.op_column) if options.op_column else decoded

    def _decoded(self, records: pa.Array, schema: Schema, form: str) -> Decoded:
        """The rows that decode, and which they are."""
        there = _is_there(records, form)
        decoded = self._values(_kept(records, there), schema, form)
        found = Decoded(decoded.data, _spread(decoded.good, there))
        return _with_nulls(found, ~there) if form == "raw" else found

    def _values(self, records: pa.Array, schema: Schema, form: str) -> Decoded:
        match form:
            case "json" | "csv":
                text = _without_bom(records)
                text = _without_end(text) if form == "csv" else text
                return lines.decode(text, form, schema, self._options, self._engine)
            case "raw":
                return raw_format.decode(records, schema, self._engine)
            case "avro":
                return avro_format.decode(records, schema, self._engine)
        return avro_format.decode(records, schema, self._engine, registry_of(self._options))

    def _fits(self, batch: Batch) -> Good:
        """Of which messages the metadata fit the columns that they are to be in."""
        fits = np.ones(batch.rows, np.bool_)
        if "timestamp" in self._metadata.values():
            assert batch.times is not None
            moments = batch.times[:, 1]
            fits &= (moments >= _MS_MIN) & (moments <= _MS_MAX)
        if batch.headers is not None:
            fits &= np.fromiter((found is not UNREADABLE for found in batch.headers), np.bool_)
        return fits

    def _meta(self, key: str, batch: Batch, parts: Sequence[Part]) -> pa.Array:
        rows = [part.batch.rows for part in parts]
        match key:
            case "topic":
                places = np.repeat(np.arange(len(parts)), rows)
                return pa.array([part.topic for part in parts]).take(pa.array(places))
            case "partition":
                numbers = np.array([part.partition for part in parts], np.int32)
                return pa.array(np.repeat(numbers, rows))
            case "offset":
                return pa.array(batch.offsets)
            case "timestamp":
                assert batch.times is not None
                kinds, moments = batch.times[:, 0], batch.times[:, 1]
                fitting = np.clip(moments, _MS_MIN, _MS_MAX)
                return pa.array(fitting * 1000, mask=kinds == 0).cast(_TIMESTAMPTZ)
            case "timestamp-type":
                assert batch.times is not None
                return pa.array(_TIMESTAMP_TYPES).take(pa.array(batch.times[:, 0]))
            case "key":
                return batch.keys
            case "headers":
                assert batch.headers is not None
                found = [None if each is UNREADABLE else each for each in batch.headers]
                # A map has each key once; of headers that repeat, the last counts, as in Flink.
                maps = [list(dict(headers or ()).items()) for headers in found]
                return pa.array(maps, _HEADERS)
            case "leader-epoch":
                return pa.array(batch.epochs, pa.int32())
        raise AssertionError(key)


def _kept(column: Any, rows: Good) -> Any:
    """``column`` where ``rows``; not copied when that is everywhere."""
    return column if rows.all() else column.filter(pa.array(rows))


def _is_there(records: pa.Array, form: str) -> Good:
    """Which messages have something to decode."""
    there = records.is_valid()
    if form != "raw":
        there = pc.fill_null(pc.greater(pc.binary_length(records), 0), False)
    found: Good = there.to_numpy(zero_copy_only=False).astype(np.bool_)
    return found


def _spread(mask: Good | None, there: Good) -> Good:
    """``mask``, which is of the messages that are ``there``, as one of all."""
    found = np.zeros(len(there), np.bool_)
    if mask is not None:
        found[there] = mask
    return found


def _with_nulls(decoded: Decoded, absent: Good) -> Decoded:
    """``decoded``, with a row of NULL for each message that is ``absent``."""
    if not absent.any():
        return decoded
    good = decoded.good | absent
    if not decoded.data.num_columns:
        return Decoded(decoded.data, good)
    rows = np.cumsum(decoded.good) - 1
    data = decoded.data.take(pa.array(rows[good], mask=absent[good]))
    return Decoded(data, good)


def _broker_times(times: Times | None) -> pa.Array | None:
    """Microseconds of those messages that the broker has stamped; None when it stamps none."""
    if times is None:
        return None
    stamped = times[:, 0] == TIMESTAMP_LOG_APPEND_TIME
    return pa.array(times[:, 1] * 1000, mask=~stamped) if stamped.any() else None


def _without_bom(records: pa.Array) -> pa.Array:
    """``records`` without a byte order mark at their start; copied only if one has it."""
    return _cut(records, pc.starts_with(records, _BOM), 0, len(_BOM))


def _without_end(records: pa.Array) -> pa.Array:
    """``records`` without a line end behind them; copied only if one has it."""
    for end in (b"\n", b"\r"):
        records = _cut(records, pc.ends_with(records, end), -1, _INT_MAX)
    return records


def _cut(records: pa.Array, where: pa.Array, start: int, stop: int) -> pa.Array:
    """``records`` without the bytes from ``start`` to ``stop``, in those rows."""
    if not pc.any(where).as_py():
        return records
    # Not binary_slice, which pyarrow 26 gets wrong without a stop.
    cut = pc.binary_replace_slice(records.filter(where), start, stop, b"")
    return pc.replace_with_mask(records, where, cut)


def registry_of(options: KafkaOptions) -> Registry:
    """That of a table with format ``avro-confluent``."""
    user, ca_location = options.registry_user or "", options.registry_ca or ""
    return _registry(options.registry_url or "", user, ca_location)


_registry: Final = lru_cache(maxsize=8)(Registry)
"""One for all tables and epochs in this process: it remembers schemas."""
