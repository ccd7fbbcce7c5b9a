"""Sort: EMIT ON WINDOW CLOSE sort on one vnode (RFC "Sort (Stateful)", seed 001).

Contract. Rows in any order in; when the watermark of ``column`` rises to w, the rows below w leave,
ascending by ``column``, then by ``keys`` and ``ties`` (`Sort.order`), all columns kept (the merge
behind needs the ties, hidden ones included); then the watermark. At `END` all rows leave, those
without a time last. Other columns' watermarks end here: rows that are held may be below them. The
input's watermark must be global (behind a merger), else the parallel sorts' outputs could not be
merged.

State. Rows of the epoch wait in memory; at the barrier what is left is appended to state as runs
per bucket of time (`time_runs`), and a watermark reads the buckets below it.

A bucket that the watermark cuts (the *straddled* one) is not rewritten: the rows below the last
watermark were emitted, which state remembers as the value `CUT`, and reading skips them. It is read
again with the next watermark, and deleted once it is exhausted; compaction drops emitted rows too.

A watermark that changes nothing is not passed on: the barrier repeats the current one anyway.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tidegate.executor.base import Executor
from tidegate.executor.columns import INT64_MIN, Bools, Int64s, event_times
from tidegate.executor.engine import Engine
from tidegate.executor.order import sorted_slices
from tidegate.executor.time_runs import append_by_time
from tidegate.plan.nodes import Sort as SortNode
from tidegate.state import StateTable
from tidegate.types import END, Barrier, Chunk, Message, Watermark

CUT = "sort:cut"
"""State value: the last watermark emitted at; rows below it that are still in runs have left."""
CHUNK_ROWS_MAX = 65_536
EMIT_ROWS_MAX = 262_144
"""Rows that are gathered before some leave: closing everything must not need all at once."""


class Sort(Executor):
    """One of the parallel sorts. ``hidden`` are the hidden columns that its rows have."""

    def __init__(
        self, node: SortNode, hidden: tuple[str, ...], engine: Engine, state: StateTable
    ) -> None:
        self.schema = node.schema
        self._node = node
        self._columns = [*(column.name for column in node.schema), *hidden]
        self._engine = engine
        self._state = state
        self._held: list[pa.Table] = []
        stored = state.get(CUT)
        self._cut = INT64_MIN if stored is None else int(stored)
        self._watermark = Watermark(node.column, None)

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        if chunk.data.num_rows:
            self._held.append(chunk.data.select(self._columns))
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        if watermark.column != self._node.column or watermark == self._watermark:
            return
        self._watermark = watermark
        if watermark.value is not None and watermark.value > self._cut:
            yield from self._emit(watermark.value)
            self._cut = watermark.value
        yield self._watermark

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        self._persist()
        if self._cut != INT64_MIN:
            self._state.put(CUT, str(self._cut).encode())
        yield self._watermark
        yield barrier

    def _emit(self, bound: int) -> Iterator[Chunk]:
        """The rows below ``bound``, in order; deletes the buckets that this exhausts."""
        pool, self._held = self._held, []
        rows = sum(part.num_rows for part in pool)
        buckets = [bucket for bucket in self._state.buckets() if bucket < bound]
        for index, bucket in enumerate(buckets):
            unread, rest = self._read(bucket, bound)
            pool += unread
            rows += sum(part.num_rows for part in unread)
            if not rest:
                self._state.delete_bucket(bucket)
            following = buckets[index + 1] if index + 1 < len(buckets) else bound
            if rows >= EMIT_ROWS_MAX and following < bound:
                # No row of a later bucket is below the name of the next one.
                ready, pool = self._divide(pool, following)
                rows = sum(part.num_rows for part in pool)
                yield from self._ordered(ready)
        ready, self._held = self._divide(pool, bound)
        yield from self._ordered(ready)

    def _read(self, bucket: int, bound: int) -> tuple[list[pa.Table], bool]:
        """The rows of ``bucket`` from the cut to ``bound``, and whether rows stay behind."""
        unread, rest = [], False
        for run in self._state.read(bucket):
            times, valid = event_times(run.column(self._node.column))
            below = _below(times, valid, bound)
            wanted = below & ~_below(times, valid, self._cut)
            rest = rest or not below.all()
            if wanted.any():
                unread.append(run if wanted.all() else run.filter(pa.array(wanted)))
        return unread, rest

    def _divide(self, tables: list[pa.Table], bound: int) -> tuple[list[pa.Table], list[pa.Table]]:
        """Rows below ``bound``, and the others."""
        ready, rest = [], []
        for table in tables:
            below = _below(*event_times(table.column(self._node.column)), bound)
            if below.all():
                ready.append(table)
            elif not below.any():
                rest.append(table)
            else:
                ready.append(table.filter(pa.array(below)))
                rest.append(table.filter(pa.array(~below)))
        return ready, rest

    def _ordered(self, tables: list[pa.Table]) -> Iterator[Chunk]:
        if tables:
            data = pa.concat_tables(tables)
            for piece in sorted_slices(self._engine, data, self._node.order, CHUNK_ROWS_MAX):
                yield Chunk(piece)

    def _persist(self) -> None:
        """Appends the rows that wait to state, in runs per bucket."""
        if not self._held:
            return
        data = pa.concat_tables(self._held)
        self._held = []
        append_by_time(self._state, data, self._node.column, self._compacted)

    def _compacted(self, runs: list[pa.Table]) -> pa.Table:
        _, rest = self._divide(runs, self._cut)
        return pa.concat_tables(rest or [runs[0].slice(0, 0)])


def _below(times: Int64s, valid: Bools, bound: int) -> Bools:
    """S1 for rows; a row without time is below nothing but the end."""
    if bound == END:
        return np.ones(len(times), dtype=np.bool_)
    return valid & (times < bound)
