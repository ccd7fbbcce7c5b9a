"""Dispatch: the sending end of an exchange (S3): chunks by vnode, watermarks and barriers to all.

Contract. `Dispatch.route` gives (vnode, message); vnode None is a broadcast to every output. Rows
of a chunk keep their order within a vnode. Watermarks and barriers are broadcast; statuses of
splits go only where splits are kept; rejected rows, which belong to the ledger, go to one output
(vnode 0) if they come here at all.

    HASH      a row's vnode is DuckDB's hash of the key columns modulo ``vnodes``
    SPREAD    contiguous slices of a chunk, round robin from vnode ``first``
    GATHER    all to vnode 0
    BY_SPLIT  the chunk as it is, with its split, to the vnode of the split's name (CRC-32)

DuckDB does not promise that ``hash()`` stays what it is between releases, and state lies where it
said. So a job's manifest keeps `hash_probe`, and a job that finds another one on start must not
run.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.errors import InvariantError
from tidegate.executor.columns import single_array
from tidegate.plan.nodes import quoted
from tidegate.plan.physical import Distribution
from tidegate.types import Barrier, Chunk, Message, Rejected, SplitStatus, Watermark

SLICE_ROWS_MIN = 1024
"""A slice that SPREAD cuts is not smaller: an output costs more than so many rows."""


class Dispatch:
    """Routes the messages of one output.

    ``first`` is where SPREAD begins: another one for each sender, else all begin with the same.
    """

    def __init__(
        self,
        keys: tuple[str, ...],
        vnodes: int,
        engine: Engine,
        mode: Distribution = Distribution.HASH,
        first: int = 0,
    ) -> None:
        self._keys = keys
        self._vnodes = vnodes
        self._engine = engine
        self._mode = mode
        self._next = first % vnodes
        if mode is Distribution.HASH and not keys:
            raise InvariantError("dispatch: HASH without key columns")

    def route(self, message: Message) -> Iterator[tuple[int | None, Message]]:
        """Where ``message`` goes: (vnode, message), vnode None for a broadcast."""
        match message:
            case Chunk():
                if message.data.num_rows:
                    yield from self._route_chunk(message)
            case Watermark() | Barrier():
                yield None, message
            case SplitStatus():
                if self._mode is Distribution.BY_SPLIT:
                    yield self._of_split(message.split), message
            case Rejected():
                yield 0, message

    def _route_chunk(self, chunk: Chunk) -> Iterator[tuple[int | None, Message]]:
        if self._mode is Distribution.BY_SPLIT:
            if chunk.split is None:
                raise InvariantError("dispatch by split: a chunk without a split")
            yield self._of_split(chunk.split), chunk
        elif self._vnodes == 1 or self._mode is Distribution.GATHER:
            yield 0, chunk
        elif self._mode is Distribution.SPREAD:
            yield from self._spread(chunk)
        else:
            yield from self._hash(chunk)

    def _of_split(self, split: str) -> int:
        return zlib.crc32(split.encode()) % self._vnodes

    def _spread(self, chunk: Chunk) -> Iterator[tuple[int, Message]]:
        rows = chunk.data.num_rows
        step = max(SLICE_ROWS_MIN, -(-rows // self._vnodes))
        for start in range(0, rows, step):
            yield self._next, Chunk(chunk.data.slice(start, step), chunk.split)
            self._next = (self._next + 1) % self._vnodes

    def _hash(self, chunk: Chunk) -> Iterator[tuple[int, Message]]:
        keys = ", ".join(quoted(key) for key in self._keys)
        sql = f"SELECT CAST(hash({keys}) % {self._vnodes} AS INTEGER) FROM rows_"
        result = self._engine.query(sql, {"rows_": chunk.data.select(list(self._keys))})
        vnodes = single_array(result.column(0)).to_numpy()
        first = int(vnodes[0])
        if (vnodes == first).all():
            yield first, chunk
            return
        # One stable sort by vnode, then slices: each row is copied once, whatever the vnodes.
        small = vnodes.astype(np.uint16) if self._vnodes <= 1 << 16 else vnodes
        data = chunk.data.take(pa.array(np.argsort(small, kind="stable")))
        counts = np.bincount(vnodes, minlength=self._vnodes)
        stops = np.cumsum(counts)
        for vnode in np.flatnonzero(counts).tolist():
            rows = int(counts[vnode])
            yield vnode, Chunk(data.slice(int(stops[vnode]) - rows, rows), chunk.split)


def hash_probe(engine: Engine) -> str:
    """A fingerprint of DuckDB's hash: the same as long as rows go to the same vnodes."""
    values = (
        "NULL::BIGINT",
        "0::BIGINT",
        "-1::BIGINT",
        "42::INTEGER",
        "true",
        "1.5::DOUBLE",
        "12.34::DECIMAL(28,10)",
        "''",
        "'tidegate'",
        "'a text of more than twelve bytes'",
        "DATE '2022-10-20'",
        "TIMESTAMP '2022-10-20 10:40:00'",
        "TIMESTAMPTZ '2022-10-20 10:40:00+00'",
    )
    hashes = [f"hash({value})" for value in values]
    hashes.append("hash(1::BIGINT, 'a', NULL::BIGINT)")
    row = engine.query(f"SELECT {', '.join(f'{h} AS h{i}' for i, h in enumerate(hashes))}")
    text = ",".join(str(column[0].as_py()) for column in row.columns)
    return f"{zlib.crc32(text.encode()):08x}"
