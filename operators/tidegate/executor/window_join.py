"""WindowJoin: joins rows of the same time once the watermarks have passed it (S5).

Contract. Rows of both sides in, those alike in the join's keys at one instance. When the lesser of
the two watermarks rises to w, the pairs of all rows whose time is below w leave, and the rows
without a partner that the kind of the join keeps, in no particular order; of a semi or anti join,
the rows of the left side. So each result leaves once, when it is final. Rows without a time have no
partner: they leave at once, if at all.

Watermarks. What leaves later is at or above w: that is the watermark of both times, and, moved by
their distance, of the columns in ``join.follow``. All others end here.

State: a `TimeQueue` for each side, of the rows whose time the lesser watermark has not passed, also
of keys that never come again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

import pyarrow as pa

from tidegate.executor.base import Junction, least
from tidegate.executor.engine import Engine
from tidegate.executor.pairing import Pairing, among, chunks, divided_by_time, held_back
from tidegate.executor.time_queue import TimeQueue
from tidegate.plan.joins import Join, JoinKind
from tidegate.state import StateTable
from tidegate.types import Barrier, Chunk, Message, Watermark

EMIT_ROWS_MAX: Final = 262_144
"""Rows of both sides that are gathered before they are joined: closing all must not need all."""


class WindowJoin(Junction):
    """One of the parallel instances; ``state`` gives the state of each side by its port."""

    def __init__(self, join: Join, engine: Engine, state: Callable[[int], StateTable]) -> None:
        super().__init__(2)
        self.schema = join.schema
        self._join = join
        self._pairing = Pairing(join, engine)
        self._columns = [[column.name for column in side.schema] for side in join.inputs]
        self._like = [engine.arrow_schema(side.schema) for side in join.inputs]
        self._queues = [TimeQueue(state(port), join.times[port]) for port in range(2)]
        self._words: list[Watermark | None] = [None, None]

    def on_rows(self, port: int, data: pa.Table) -> Iterator[Message]:
        if data.num_rows == 0:
            return
        rows = data.select(self._columns[port])
        self._like[port] = rows.schema
        timed, timeless = divided_by_time(rows, self._join.times[port])
        if timeless.num_rows:
            alone = self._pairing.at_once(timeless, port, self._like[1 - port])
            yield from chunks(alone) if alone is not None else ()
        self._queues[port].add(timed)

    def on_word(self, port: int, watermark: Watermark) -> Iterator[Message]:
        """Waits for the barrier: what is read to join is read once in an epoch."""
        if watermark.column == self._join.times[port]:
            self._words[port] = watermark
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        bound, status = least(self._words)
        if bound is not None and bound > self._queues[0].cut:
            yield from self._until(bound)
        for queue in self._queues:
            queue.persist()
        for column, _, distance in self._join.follow:
            yield Watermark(column, held_back(bound, distance), status)
        yield barrier

    def _until(self, bound: int) -> Iterator[Chunk]:
        left, right = self._queues
        named = [frozenset(queue.buckets(bound)) for queue in self._queues]
        for bucket, following in pairwise([*sorted(named[0] | named[1]), bound]):
            for queue, names in zip(self._queues, named, strict=True):
                if bucket in names:
                    queue.load(bucket, bound)
            if left.rows + right.rows >= EMIT_ROWS_MAX and following < bound:
                yield from self._joined(left.take(following, bound), right.take(following, bound))
        yield from self._joined(left.take(bound, bound), right.take(bound, bound))

    def _joined(self, lefts: list[pa.Table], rights: list[pa.Table]) -> Iterator[Chunk]:
        kind, pairing = self._join.kind, self._pairing
        left = pa.concat_tables(lefts or [self._like[0].empty_table()])
        right = pa.concat_tables(rights or [self._like[1].empty_table()])
        rows, partners = pairing.pairs(left, right)
        if not kind.has_right:
            chosen = among(rows, left.num_rows, is_in=kind is JoinKind.SEMI)
            yield from chunks(left.take(chosen))
            return
        yield from chunks(pairing.joined(left, right, rows, partners))
        if kind.keeps_left:
            alone = left.take(among(rows, left.num_rows, is_in=False))
            yield from chunks(pairing.without_partner(alone, 0, self._like[1]))
        if kind.keeps_right:
            alone = right.take(among(partners, right.num_rows, is_in=False))
            yield from chunks(pairing.without_partner(alone, 1, self._like[0]))
