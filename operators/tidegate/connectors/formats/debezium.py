"""Debezium's envelope, in JSON or Avro: ``{"before": …, "after": …, "op": "u", "source": …}``.

``c``, ``r`` and ``u`` put what is ``after``; ``d`` deletes what is ``before``, of which only the
key counts (and the version, where there is one). A put whose row had another key before has that as
`OLD_KEY`: the row of that key is gone. A truncate (``t``), a message (``m``) and a change
of the schema say nothing of a row, and are passed over. JSON may have its schema beside it, as
``{"schema": …, "payload": …}``: each record is looked at by itself, whatever stands around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import starmap
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.formats import json_encode
from tidegate.connectors.formats.changes import Mask, ops_of
from tidegate.connectors.formats.debezium_times import struct_of, times_of, with_times
from tidegate.connectors.formats.json_format import Decoded
from tidegate.connectors.formats.lines import as_strings, valid_utf8
from tidegate.connectors.option_types import TIME_UNIT
from tidegate.engine.engine import Engine
from tidegate.plan.tables import ChangingTable, Table
from tidegate.types import OLD_KEY, OP, Column, Op, Schema

JSON: Final = "debezium-json"
AVRO: Final = "debezium-avro-confluent"
ENCODINGS: Final[Mapping[str, str]] = {JSON: "json", AVRO: "avro-confluent"}
"""The format of the envelope itself."""
Read: TypeAlias = Callable[[pa.Array, Schema], Decoded]
"""Records, in a format, to columns."""

_PASSED_OVER: Final = {
    "t": "a truncate, of which the table keeps its rows",
    "m": "a message of the database",
}
"""What other words of ``op`` mean."""
_MS: Final = ("ts_ms", "BIGINT")
_SOURCE: Final[Mapping[str, tuple[str, str]]] = {
    "source.timestamp": _MS,
    "source.database": ("db", "VARCHAR"),
    "source.schema": ("schema", "VARCHAR"),
    "source.table": ("table", "VARCHAR"),
    "source.lsn": ("lsn", "BIGINT"),
    "source.txId": ("txId", "BIGINT"),
    "source.file": ("file", "VARCHAR"),
    "source.pos": ("pos", "BIGINT"),
    "source.row": ("row", "BIGINT"),
    "source.gtid": ("gtid", "VARCHAR"),
    "source.scn": ("scn", "VARCHAR"),
    "source.commit_lsn": ("commit_lsn", "VARCHAR"),
    "source.change_lsn": ("change_lsn", "VARCHAR"),
    "source.sequence": ("sequence", "VARCHAR"),
    "source.snapshot": ("snapshot", "VARCHAR"),
}
"""Fields of ``source`` by the key of the metadata, with their types."""
_TIMES: Final = ("ingestion-timestamp", "source.timestamp")
METADATA: Final[Mapping[str, str]] = {
    "op": "VARCHAR",
    "ingestion-timestamp": "TIMESTAMP WITH TIME ZONE",
    **{key: "TIMESTAMP WITH TIME ZONE" if key in _TIMES else t for key, (_, t) in _SOURCE.items()},
}
"""What of the envelope may be METADATA columns, with DuckDB's types."""
_TIMESTAMPTZ: Final = pa.timestamp("us", tz="UTC")
_MS_MAX: Final = 9_223_372_036_854_775
_OF_SCHEMAS: Final = ("ddl", "tableChanges")
"""Fields of messages about changes of schemas."""


class Envelopes:
    """Decodes the envelopes of ``table``: ``columns`` are those of its rows; ``metadata``, by name,
    have keys of `METADATA`."""

    def __init__(
        self, table: ChangingTable, columns: Schema, metadata: Mapping[str, str], engine: Engine
    ) -> None:
        self._is_json = table.format == JSON
        self._engine = engine
        self._columns = columns
        self._keys = [column.name for column in columns if column.name in table.key]
        counts = (*table.key, *table.version)
        self._of_deletes = tuple(column for column in columns if column.name in counts)
        self._metadata = metadata
        self._times = times_of(columns, table.option(TIME_UNIT)) if self._is_json else {}
        self._sides = {"after": columns, "before": self._of_deletes}
        if not self._of_deletes:
            del self._sides["before"]
        source = sorted({_SOURCE[key] for key in metadata.values() if key in _SOURCE})
        schema = [Column("op", "VARCHAR")]
        schema += (Column(side, struct_of(of, self._times)) for side, of in self._sides.items())
        if "ingestion-timestamp" in metadata.values():
            schema.append(Column(*_MS))
        if source:
            schema.append(Column("source", struct_of(tuple(starmap(Column, source)), {})))
        self._schema = tuple(schema)
        self._wrapped = (Column("payload", struct_of(self._schema, {})),)

    def decode(self, records: pa.Array, read: Read) -> Decoded:
        """The rows that ``records`` put and delete, with `OP`; ``read`` reads the envelope's own
        format."""
        found = self._envelopes(records, read)
        if self._times:
            found = with_times(found, self._sides, self._times, self._engine)
        envelopes, good = found.data, found.good
        words = envelopes.column("op").combine_chunks()
        ops, known, over = ops_of(words, envelope=True)
        silent = words.is_null().to_numpy(zero_copy_only=False)
        if self._is_json and silent.any():
            among = np.flatnonzero(good)[silent]
            over[silent] |= self._of_schemas(records.take(pa.array(among)), read)
        there = envelopes.column("after").combine_chunks().is_valid()
        is_put = ops == int(Op.UPDATE_AFTER)
        known &= ~is_put | there.to_numpy(zero_copy_only=False)
        known &= self._are_held(envelopes)
        passed = np.zeros(len(good), np.bool_)
        passed[good] = over
        good = good.copy()
        good[good] = known
        if not known.all():
            envelopes, is_put = envelopes.filter(pa.array(known)), is_put[known]
        rows = self._rows(envelopes, pa.array(is_put)).append_column(OP, pa.array(ops[known]))
        old = self._old_keys(envelopes, is_put)
        return Decoded(rows if old is None else rows.append_column(OLD_KEY, old), good, passed)

    def _envelopes(self, records: pa.Array, read: Read) -> Decoded:
        """The envelopes that can be read, and of which records they are."""
        if not self._is_json:
            return read(records, self._schema)
        wrapped = self._are_wrapped(records)
        if not wrapped.any():
            return read(records, self._schema)
        if wrapped.all():
            return self._unwrapped(records, read)
        plain = read(records.filter(pa.array(~wrapped)), self._schema)
        other = self._unwrapped(records.filter(pa.array(wrapped)), read)
        good = np.zeros(len(records), np.bool_)
        good[~wrapped], good[wrapped] = plain.good, other.good
        places = np.concatenate([np.flatnonzero(part & good) for part in (~wrapped, wrapped)])
        data = pa.concat_tables([plain.data, other.data])
        return Decoded(data.take(pa.array(np.argsort(places))), good)

    def _are_wrapped(self, records: pa.Array) -> Mask:
        """Which records have their envelope in ``payload``: those without an ``op`` beside it."""
        mentions = pc.match_substring(records, b'"payload"')
        found: Mask = mentions.to_numpy(zero_copy_only=False).astype(np.bool_)
        valid = valid_utf8(records)
        if valid is not None:
            found &= valid
        if found.any():
            texts = pa.table({"t": as_strings(records.filter(pa.array(found)))})
            sql = (
                "SELECT CASE WHEN json_valid(t) THEN json_type(t, '/payload') = 'OBJECT'"
                " AND coalesce(json_type(t, '/op'), 'NULL') = 'NULL' ELSE false END AS w FROM texts"
            )
            is_wrapped = pc.fill_null(self._engine.query(sql, {"texts": texts}).column("w"), False)
            found[found] = is_wrapped.to_numpy().astype(np.bool_)
        return found

    def _unwrapped(self, records: pa.Array, read: Read) -> Decoded:
        found = read(records, self._wrapped)
        payload = found.data.column("payload").combine_chunks()
        names = [column.name for column in self._schema]
        return Decoded(pa.table(payload.flatten(), names=names), found.good)

    def _of_schemas(self, records: pa.Array, read: Read) -> Mask:
        """Which records, none of which has an ``op``, are about a change of a schema."""
        of_schemas = tuple(Column(name, "VARCHAR") for name in _OF_SCHEMAS)
        inside = (*of_schemas, Column("payload", struct_of(of_schemas, {})))
        found = read(records, inside)
        said = [found.data.column(name).combine_chunks().is_valid() for name in _OF_SCHEMAS]
        payload = found.data.column("payload").combine_chunks().flatten()
        said += [part.is_valid() for part in payload]
        mask = np.zeros(len(records), np.bool_)
        mask[found.good] = reduce(pc.or_, said).to_numpy(zero_copy_only=False)
        return mask

    def _are_held(self, envelopes: pa.Table) -> Mask:
        """Of which envelopes the times can be held by a column that asks for them."""
        held = np.ones(envelopes.num_rows, np.bool_)
        for key in set(self._metadata.values()) & set(_TIMES):
            values = self._meta(envelopes, key, raw=True)
            fits = pc.and_(pc.greater_equal(values, -_MS_MAX), pc.less_equal(values, _MS_MAX))
            fits = pc.fill_null(fits, True)
            fits = fits.combine_chunks() if isinstance(fits, pa.ChunkedArray) else fits
            held &= fits.to_numpy(zero_copy_only=False).astype(np.bool_)
        return held

    def _rows(self, envelopes: pa.Table, is_put: pa.Array) -> pa.Table:
        """The rows that are put, and what counts of those that are deleted."""
        columns = dict[str, Any]()
        after = _fields(envelopes, "after", [column.name for column in self._columns])
        all_put = pc.all(is_put).as_py() is not False
        for column, values in zip(self._columns, after, strict=True):
            nothing = pa.scalar(None, values.type)
            columns[column.name] = values if all_put else pc.if_else(is_put, values, nothing)
        if self._of_deletes and not all_put:
            names = [column.name for column in self._of_deletes]
            for name, values in zip(names, _fields(envelopes, "before", names), strict=True):
                columns[name] = pc.if_else(is_put, columns[name], values)
        for name, key in self._metadata.items():
            columns[name] = self._meta(envelopes, key)
        return pa.table(columns)

    def _old_keys(self, envelopes: pa.Table, is_put: Mask) -> pa.Array | None:
        """The keys of before, of puts that give a row another one."""
        if not self._keys or not is_put.any():
            return None
        olds, news = (_fields(envelopes, side, self._keys) for side in ("before", "after"))
        differ = [pc.not_equal(old, new) for old, new in zip(olds, news, strict=True)]
        whole = [old.is_valid() for old in olds]
        moved = pc.and_(reduce(pc.or_kleene, differ), reduce(pc.and_, whole)).fill_null(False)
        moved = moved.to_numpy(zero_copy_only=False).astype(np.bool_) & is_put
        if not moved.any():
            return None
        return pa.StructArray.from_arrays(olds, self._keys, mask=pa.array(~moved))

    @staticmethod
    def _meta(envelopes: pa.Table, key: str, *, raw: bool = False) -> Any:
        if key == "op":
            return envelopes.column("op")
        name, _ = _SOURCE.get(key, _MS)
        (values,) = _fields(envelopes, "source", [name]) if key in _SOURCE else [envelopes[name]]
        return _moments(values) if key in _TIMES and not raw else values


def encode(data: pa.Table, schema: Schema, engine: Engine) -> pa.Array:
    """Each row as an envelope (binary), in JSON: what is put is ``c``, what goes ``d``, and so the
    halves of an update are two, as Flink's format has it."""
    rows = json_encode.encode_lines(data, schema, engine)
    if isinstance(rows, pa.ChunkedArray):
        rows = rows.combine_chunks()
    came = pc.binary_join_element_wise('{"before":null,"after":', rows, ',"op":"c"}', "")
    if OP not in data.column_names:
        return came.cast(pa.binary())
    went = pc.binary_join_element_wise('{"before":', rows, ',"after":null,"op":"d"}', "")
    gone = pa.array([int(Op.DELETE), int(Op.UPDATE_BEFORE)], pa.int8())
    goes = pc.is_in(data.column(OP).combine_chunks(), value_set=gone)
    return pc.if_else(goes, went, came).cast(pa.binary())


def cause(fields: Mapping[str, Any]) -> str:
    """Why an envelope says nothing of a row, if all fields of its row fit."""
    op, after = fields.get("op"), fields.get("after")
    if op is None:
        of_schema = any(fields.get(name) is not None for name in _OF_SCHEMAS)
        return "a change of the schema: passed over" if of_schema else "it has no 'op'"
    if op in _PASSED_OVER:
        return f"{_PASSED_OVER[op]}: passed over"
    if op not in ("c", "r", "u", "d"):
        return f"'op' is none of c, r, u and d: {str(op)[:60]!r}"
    if op == "d" and fields.get("before") is None:
        return "it deletes, and has no 'before': its key is not known"
    if op != "d" and after is None:
        return f"it puts a row ('op' is {op!r}), and has no 'after'"
    return "the key, or the version that counts, is not there"


def envelopes_of(table: Table, engine: Engine, columns: Schema | None = None) -> Envelopes | None:
    """The decoder of ``table``, if its records are envelopes; with ``columns`` in them."""
    if table.format not in ENCODINGS or not isinstance(table, ChangingTable):
        return None
    metadata = {name: key for name, key in table.metadata if key in METADATA}
    if columns is None:
        columns = tuple(column for column in table.columns if column.name not in metadata)
    return Envelopes(table, columns, metadata, engine)


def _fields(envelopes: pa.Table, side: str, names: Sequence[str]) -> list[pa.Array]:
    """Fields of a struct, NULL where that is."""
    struct = envelopes.column(side).combine_chunks()
    parts = struct.flatten()
    return [parts[struct.type.get_field_index(name)] for name in names]


def _moments(values: Any) -> Any:
    """Milliseconds as times."""
    return pc.multiply(values, 1000).cast(_TIMESTAMPTZ)
