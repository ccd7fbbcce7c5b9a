"""Recompute: results that follow from the rows alike in a key, which come and go (S14).

Contract. Rows in, those alike in the keys of their port at one instance; with `OP` they are changes
of a table, which take back rows that were there. At the barrier the rows of the keys that have got
changes are looked at as they were and as they are now, and what the block makes of both differs by
what leaves: ``+``, ``-``, and the neighbours ``U-`` and ``U+`` of rows that a key tells apart. So
the fold of what has left is what the block says of the fold of what has come, at every barrier.

Watermarks end here: a row may be taken back at any time. Those of a changing table alone pass, at
the barrier, behind its changes: no row that comes later is below them.

State: the rows of each port by the hash of their keys (`buffers.kept`), but those that the block
has no need of, and those whose time to live is over, which take back no result. An epoch reads and
writes the rows of the keys that it touches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import Junction
from tidegate.executor.buffers.kept import Kept
from tidegate.executor.buffers.keyed_rows import (
    HASH,
    UInt64s,
    by_hash,
    hashes_of,
    stretch,
    with_hashes,
)
from tidegate.executor.changes.as_changes import as_changes
from tidegate.executor.changes.block import Block
from tidegate.plan.changes import changing_key, is_changing
from tidegate.plan.normalize import Normalize
from tidegate.plan.physical import Recompute
from tidegate.state import StateTable
from tidegate.types import (
    OP,
    SPLIT,
    Barrier,
    Chunk,
    Column,
    Message,
    SplitReport,
    Watermark,
)

HASHES_MAX: Final = 65_536
"""Keys that are looked at together."""
_TOLD: Final = "told"
"""State value: the result of no rows has left."""
_TYPES: Final = {SPLIT: "VARCHAR", OP: "TINYINT"}
"""Of hidden columns that are no BIGINT."""


class RecomputeExecutor(Junction):
    """One of the parallel instances; ``state`` gives the state of each input by its port."""

    def __init__(
        self, node: Recompute, block: Block, engine: Engine, state: Callable[[int], StateTable]
    ) -> None:
        super().__init__(len(node.parts))
        self.schema = node.schema
        self._engine = engine
        self._block = block
        self._keys = node.keys
        self._told_apart = changing_key(node.of)
        self._changes = is_changing(node.of)
        schemas = [
            (*part.schema, *(Column(name, _TYPES.get(name, "BIGINT")) for name in hidden))
            for part, hidden in zip(node.parts, node.hidden, strict=True)
        ]
        self._columns = [[column.name for column in schema] for schema in schemas]
        self._empty = [
            engine.empty(schema).append_column(HASH, pa.array([], pa.uint64()))
            for schema in schemas
        ]
        ttls = node.ttls or (0,) * self.ports
        self._rows = [
            Kept(state(port), empty, ttl)
            for port, (empty, ttl) in enumerate(zip(self._empty, ttls, strict=True))
        ]
        self._told = state(0)
        self._new: list[list[pa.Table]] = [[] for _ in node.parts]
        self._passes = isinstance(node.of, Normalize)
        self._watermarks: dict[str, Watermark] = {}

    def on_rows(self, port: int, data: pa.Table) -> Iterator[Message]:
        """Rows wait for the barrier: then it shows what has become of a key."""
        if data.num_rows:
            names = dict.fromkeys(
                [*self._columns[port], *([OP] if OP in data.column_names else [])]
            )
            self._new[port].append(data.select([*names]))
        return iter(())

    def on_port_watermark(self, port: int, watermark: Watermark) -> Iterator[Message]:
        del port
        if self._passes:
            self._watermarks[watermark.column] = watermark
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        for kept in self._rows:
            kept.begin(barrier.time_us)
        changes = [self._taken(port) for port in range(self.ports)]
        touched = np.unique(np.concatenate([hashes_of(rows) for rows in changes]))
        is_first = self._is_first()
        if is_first:
            touched = np.zeros(1, np.uint64)
            self._told.put(_TOLD, b"1")
        for start in range(0, len(touched), HASHES_MAX):
            yield from self._recomputed(touched[start : start + HASHES_MAX], changes, is_first)
        yield from self._block.take_refused()
        for rows in self._rows:
            rows.settle()
        yield from self._watermarks.values()
        yield barrier

    def _is_first(self) -> bool:
        """Whether nothing was told yet of a result that is there without rows, too."""
        known = not self._block.has_result_of_nothing or self._told.get(_TOLD) is not None
        return not known and not self._rows[0].find(np.zeros(1, np.uint64)).num_rows

    def reports(self) -> Iterator[SplitReport]:
        return self._block.reports()

    def _taken(self, port: int) -> pa.Table:
        """The changes of an input since the last barrier, with hashes."""
        tables, self._new[port] = self._new[port], []
        if not tables:
            return self._empty[port]
        if any(OP in table.column_names for table in tables):
            tables = [as_changes(table) for table in tables]
        return by_hash(with_hashes(pa.concat_tables(tables), self._keys[port], self._engine))

    def _recomputed(
        self, hashes: UInt64s, changes: list[pa.Table], is_first: bool
    ) -> Iterator[Chunk]:
        """What leaves of these keys; ``is_first``: no result has left yet, not even of no rows."""
        before = [rows.find(hashes) for rows in self._rows]
        parts = [stretch(new, hashes) for new in changes]
        after = [
            self._block.after(rows, part) if part.num_rows else rows
            for rows, part in zip(before, parts, strict=True)
        ]
        old, _ = self._block.results(before)
        old = old.slice(0, 0) if is_first else old
        new, kept = self._block.results(after)
        out = self._block.changes(old, new, self._told_apart)
        if out.num_rows:
            yield Chunk(out if self._changes else out.drop_columns([OP]))
        for port, rows in enumerate(kept):
            if after[port] is not before[port]:
                self._rows[port].replace(rows, np.unique(hashes_of(parts[port])))
