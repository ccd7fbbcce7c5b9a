"""Messages as Spark rows: the format of every exchange (design §2 "Message").

A Spark row carries one message, and a chunk's body is an Arrow IPC stream of about 8 MiB at most,
so Spark moves few fat rows and no user row is a Spark row. A receiver takes its messages in the
order of (upstream, seq). ``upstream`` is the receiver's port and the sending actor's instance.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import pyarrow as pa

from tidegate.spark.exchange.columns import SPARK_SCHEMA
from tidegate.spark.exchange.ipc import packed, unpacked
from tidegate.types import (
    Barrier,
    Chunk,
    Message,
    Rejected,
    SplitStatus,
    Status,
    Watermark,
)

_TYPES: Final = {"int": "int32", "bigint": "int64", "tinyint": "int8", "binary": "binary"}
ARROW_SCHEMA: Final = pa.schema(
    [(name, _TYPES[kind]) for name, kind in map(str.split, SPARK_SCHEMA.split(", "))]
)
BODY_BYTES_MAX: Final = 8 << 20
BATCH_BYTES_MAX: Final = 16 << 20

_PORT_SHIFT: Final = 20
_SPLIT_KEY: Final = b"tidegate.split"


class Kind(enum.IntEnum):
    """What a row's body is."""

    CHUNK = 0
    WATERMARK = 1
    BARRIER = 2
    SPLIT_STATUS = 3
    REPORT = 4


class Row(NamedTuple):
    """One message on its way. ``fragment`` below zero: not to a fragment (see `epochs.targets`)."""

    route: int
    fragment: int
    vnode: int
    upstream: int
    seq: int
    kind: Kind
    body: bytes


def upstream_of(port: int, instance: int) -> int:
    """The ``upstream`` of the messages that actor ``instance`` sends to ``port``."""
    return port << _PORT_SHIFT | instance


def port_of(upstream: int) -> tuple[int, int]:
    """(port, instance) of an ``upstream``."""
    return upstream >> _PORT_SHIFT, upstream & ((1 << _PORT_SHIFT) - 1)


@dataclass(frozen=True, slots=True)
class AlignedBarrier:
    """A barrier as it travels: with the instances that send one on this port in this epoch."""

    barrier: Barrier
    peers: tuple[int, ...]


def encode(message: Message, peers: tuple[int, ...] = ()) -> Iterator[tuple[Kind, bytes]]:
    """The bodies of ``message``: one, or several for a large chunk."""
    match message:
        case Chunk() | Rejected():
            split = message.split if isinstance(message, Chunk) else None
            for body in encode_table(message.data, split):
                yield Kind.CHUNK, body
        case Watermark(column, value, status):
            yield Kind.WATERMARK, _json([column, value, int(status)])
        case SplitStatus(status, split, floors):
            yield Kind.SPLIT_STATUS, _json([int(status), split, floors])
        case Barrier(epoch, time_us):
            yield Kind.BARRIER, _json([epoch, time_us, list(peers)])


def decode(kind: Kind, body: bytes) -> Message | AlignedBarrier:
    """The message of a body."""
    if kind is Kind.CHUNK:
        return decode_chunk(body)
    values = json.loads(body)
    if kind is Kind.WATERMARK:
        return Watermark(values[0], values[1], Status(values[2]))
    if kind is Kind.SPLIT_STATUS:
        floors = tuple((filter_id, floor) for filter_id, floor in values[2])
        return SplitStatus(Status(values[0]), values[1], floors)
    assert kind is Kind.BARRIER, kind
    return AlignedBarrier(Barrier(values[0], values[1]), tuple(values[2]))


def encode_table(data: pa.Table, split: str | None) -> Iterator[bytes]:
    """``data`` as Arrow IPC streams of about `BODY_BYTES_MAX` at most, before compression.

    Each has one row at least.
    """
    if data.num_rows == 0:
        return
    parts = max(1, -(-data.nbytes // BODY_BYTES_MAX))
    rows = max(1, -(-data.num_rows // parts))
    schema = data.schema.remove_metadata()
    if split is not None:
        schema = schema.with_metadata({_SPLIT_KEY: split.encode()})
    for start in range(0, data.num_rows, rows):
        yield packed(data.slice(start, rows).cast(schema), "lz4")


def decode_chunk(body: bytes) -> Chunk:
    """The chunk of an IPC stream."""
    data = unpacked(body)
    split = (data.schema.metadata or {}).get(_SPLIT_KEY)
    return Chunk(data.replace_schema_metadata(None), split.decode() if split is not None else None)


def to_batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow batches of `ARROW_SCHEMA`, each of about `BATCH_BYTES_MAX` at most."""
    held: list[Row] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row.body)
        if size >= BATCH_BYTES_MAX:
            yield _batch(held)
            held, size = [], 0
    if held:
        yield _batch(held)


def _batch(rows: list[Row]) -> pa.RecordBatch:
    columns = zip(ARROW_SCHEMA, zip(*rows, strict=True), strict=True)
    arrays = [pa.array(values, field.type) for field, values in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
