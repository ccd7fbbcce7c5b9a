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

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import chunks, held_back, least
from tidegate.executor.buffers.time_queue import TimeQueue, slices
from tidegate.executor.joins.joining import Joining
from tidegate.plan.joins import Join
from tidegate.state import StateTable
from tidegate.types import Barrier, Chunk, Message, Watermark


class WindowJoinExecutor(Joining):
    """One of the parallel instances; ``state`` gives the state of each side by its port."""

    def __init__(self, join: Join, engine: Engine, state: Callable[[int], StateTable]) -> None:
        super().__init__(join, engine)
        self._queues = [TimeQueue(state(port), join.times[port]) for port in range(2)]

    def keep(self, port: int, rows: pa.Table) -> None:
        self._queues[port].add(rows)

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        bound, status = least(self._watermarks)
        if bound is not None and bound > self._queues[0].cut:
            for _, (left, right) in slices(self._queues, bound):
                yield from self._joined(left, right)
        for queue in self._queues:
            queue.persist()
        for column, _, distance in self._join.follow:
            yield Watermark(column, held_back(bound, distance), status)
        yield barrier

    def _joined(self, lefts: list[pa.Table], rights: list[pa.Table]) -> Iterator[Chunk]:
        left = pa.concat_tables(lefts or [self._like[0].empty_table()])
        right = pa.concat_tables(rights or [self._like[1].empty_table()])
        for rows in self._pairing.results(left, right):
            yield from chunks(rows)
