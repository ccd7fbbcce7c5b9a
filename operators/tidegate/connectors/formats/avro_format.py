"""Avro messages to columns and back (S2): formats ``avro`` and ``avro-confluent`` of Flink.

``avro``: the message is one datum of the schema that follows from the columns, as Flink derives it
(`connectors.avro.derive`); times are in milliseconds, what is finer is cut off when written.
``avro-confluent``: the message is a zero byte, the number of the writer's schema in a registry
(four bytes, big-endian), and one datum of it. Fields are found by name; one that the writer does
not have is NULL (also where the table's schema would have a default), one that is not declared is
ignored. Written are microseconds, under the derived schema, which is registered.

A row is malformed when its bytes are not exactly one datum, or a value does not fit its declared
type (`connectors.avro.target`); of a registry also when the schema is unknown, or no Avro.

The reader goes through all rows in lockstep, in numpy (`connectors.avro.read`). Measured with six
nullable columns on one core: 6 M rows/s read and 3 M written; fastavro, record by record, reads
0.12 M into Arrow and writes 0.1 M. Native readers of container files are as fast (DataFusion 7 M,
Polars 6 M) and were not taken: one bad message makes arrow-avro 58 loop without end, Polars panics
and knows no map or enum, and neither says which row is bad.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.avro.cursor import PADDING, Datums, Ints
from tidegate.connectors.avro.derive import Unit, derived
from tidegate.connectors.avro.read import read
from tidegate.connectors.avro.schema import Node, SchemaError, parse
from tidegate.connectors.avro.target import Target, misfits, target_of
from tidegate.connectors.avro.write import write
from tidegate.connectors.formats.json_format import Decoded
from tidegate.connectors.formats.schema_registry import Registry
from tidegate.engine.engine import Engine
from tidegate.types import Schema

PIECE_ROWS: Final = 16_384
PIECE_BYTES: Final = 16 << 20
"""How much is read in lockstep at once: numpy's intermediate results stay in the cache."""
_HEADER: Final = 5
_LOG: Final = logging.getLogger("tidegate.avro")
"""Says once in each process why all messages of a schema are malformed; the ledger has them."""


def check(schema: Schema) -> None:
    """Raises OptionsError when a column's name or type is not supported in Avro."""
    derived(schema, "us")


def decode(
    values: pa.Array, schema: Schema, engine: Engine, registry: Registry | None = None
) -> Decoded:
    """Decodes ``values`` (binary, none NULL): ``avro``, or with a registry ``avro-confluent``.

    Raises RunError when the registry does not answer.
    """
    target = target_of(schema, engine)
    if registry is None:
        return _decode(values, 0, parse(derived(schema, "ms")), target, engine)
    numbers = _schema_numbers(values)
    order: list[Ints] = []
    parts: list[pa.Table] = []
    good = np.zeros(len(values), np.bool_)
    for number in np.unique(numbers[numbers >= 0]).tolist():
        found = registry.schema(number)
        if found is None:
            continue
        node = _parsed(found.text, found.references, number, target)
        if node is None:
            continue
        rows = np.flatnonzero(numbers == number)
        if len(rows) == len(values):
            return _decode(values, _HEADER, node, target, engine)
        decoded = _decode(values.take(pa.array(rows)), _HEADER, node, target, engine)
        good[rows] = decoded.good
        order.append(rows[decoded.good])
        parts.append(decoded.data)
    if not parts:
        return Decoded(_empty(target), good)
    places = np.argsort(np.concatenate(order), kind="stable")
    return Decoded(pa.concat_tables(parts).take(pa.array(places)), good)


def _schema_numbers(values: pa.Array) -> Ints:
    """The number of each message's schema; -1 where it has no header."""
    heads = pc.binary_slice(values, 0, _HEADER)
    whole = pc.equal(pc.binary_length(heads), _HEADER)
    heads = pc.if_else(whole, heads, b"\xff" * _HEADER).cast(pa.binary(_HEADER))
    data = np.frombuffer(heads.buffers()[1], np.uint8)[heads.offset * _HEADER :]
    data = data[: len(values) * _HEADER].reshape(-1, _HEADER)
    numbers = np.ascontiguousarray(data[:, 1:]).view(">i4").astype(np.int64)[:, 0]
    return np.where(data[:, 0] == 0, numbers, -1)


@lru_cache(maxsize=1024)
def _parsed(text: str, references: tuple[str, ...], number: int, target: Target) -> Node | None:
    try:
        node = parse(text, references)
    except SchemaError as error:
        _LOG.warning("Avro schema %d: its messages are malformed: %s", number, error)
        return None
    for misfit in misfits(node, target):
        _LOG.warning("Avro schema %d: messages with a value are malformed: %s", number, misfit)
    return node


def _decode(values: pa.Array, header: int, node: Node, target: Target, engine: Engine) -> Decoded:
    """Messages with one writer's schema, whose datum begins behind ``header`` bytes."""
    tables: list[pa.Table] = []
    goods: list[npt.NDArray[np.bool_]] = []
    names = [name for name, _ in target.below]
    for datums in _pieces(values, header):
        cursor = datums.cursor()
        record = read(node, target, cursor, engine)
        cursor.finish()
        good = ~datums.bad
        if record.null_count:
            good &= record.is_valid().to_numpy(zero_copy_only=False)
        table = pa.Table.from_arrays(record.flatten(), names=names)
        tables.append(table if good.all() else table.filter(pa.array(good)))
        goods.append(good)
    data = pa.concat_tables(tables) if tables else _empty(target)
    return Decoded(data, np.concatenate(goods) if goods else np.zeros(0, np.bool_))


def _pieces(values: pa.Array, header: int) -> Iterator[Datums]:
    """``values`` in parts that fit the cache, each with its bytes and padding behind them."""
    _, places, buffer = values.buffers()
    if len(values) == 0:
        return
    offsets = np.frombuffer(places, np.int32, len(values) + 1, values.offset * 4).astype(np.int64)
    data = np.frombuffer(buffer or b"", np.uint8)
    start = 0
    while start < len(values):
        stop = int(np.searchsorted(offsets, offsets[start] + PIECE_BYTES, "right")) - 1
        stop = min(max(stop, start + 1), start + PIECE_ROWS, len(values))
        low, high = int(offsets[start]), int(offsets[stop])
        piece = np.zeros(high - low + PADDING, np.uint8)
        piece[: high - low] = data[low:high]
        yield Datums(piece, offsets[start : stop + 1] - low, header)
        start = stop


def _empty(target: Target) -> pa.Table:
    return pa.schema(list(target.arrow)).empty_table()


def encode(
    data: pa.Table,
    schema: Schema,
    engine: Engine,
    registry: Registry | None = None,
    subject: str = "",
) -> pa.Array:
    """``data`` as one message a row (binary); with a registry, the schema stands under ``subject``.

    Raises OptionsError when a column is not supported in Avro, RunError when the registry does not
    answer, and when it refuses the schema.
    """
    unit: Unit = "ms" if registry is None else "us"
    text = derived(schema, unit)
    arrow = engine.arrow_schema(schema)
    table = pa.Table.from_arrays([data.column(f.name).cast(f.type) for f in arrow], schema=arrow)
    header = b"" if registry is None else b"\x00" + registry.register(subject, text).to_bytes(4)
    parts = [pa.array([], pa.binary())]
    for batch in table.to_batches(max_chunksize=PIECE_ROWS):
        datums = write(batch.columns, unit)
        parts.append(
            pc.binary_join_element_wise(pa.scalar(header), datums, b"") if header else datums
        )
    return pa.concat_arrays(parts)
