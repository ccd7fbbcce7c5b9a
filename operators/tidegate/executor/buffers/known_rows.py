"""What operators that look at rows in the order of time have in common (S5).

Rows wait until the watermark of the time has passed them. At the barrier those that are known now
are taken, in the order of time; then the watermarks follow: that of the time, and, moved by their
distance, those of other columns, all held back to the oldest row that still waits for others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from tidegate.executor.base import Executor, held_back, held_status
from tidegate.executor.buffers.time_queue import TimeQueue, slices
from tidegate.state import StateTable, compact
from tidegate.types import END, Barrier, Chunk, Message, Watermark

SLACK_ROWS: Final = 1_024
"""A log of fewer rows than twice what is needed and these is not written anew."""
LOG: Final = 0
"""The one bucket of a log."""


class KnownRows(Executor):
    """Keeps ``columns`` of rows in ``state`` until they are known by the watermark of ``time``.

    ``follow`` are the columns whose watermark follows from the time's: (column, distance from it).
    """

    def __init__(
        self,
        time: str,
        columns: Sequence[str],
        state: StateTable,
        follow: Sequence[tuple[str, int]],
    ) -> None:
        self._columns = list(columns)
        self._queue = TimeQueue(state, time)
        self._follow = follow
        self._word = Watermark(time, None)
        self._waiting = END
        """The time of the oldest known row that waits for others."""

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        self._queue.add(chunk.data.select(self._columns))
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        """Waits for the barrier: what is kept is read once in an epoch."""
        if watermark.column == self._word.column:
            self._word = watermark
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        bound, status = self._word.value, self._word.status
        if bound is not None and bound > self._queue.cut:
            for until, (tables,) in slices([self._queue], bound):
                yield from self._step(tables, until)
        self._settle()
        self._queue.persist()
        held = bound
        if bound is not None and bound != END:
            held = min(bound, self._waiting)
        status = held_status(held, bound, status)
        for column, distance in self._follow:
            yield Watermark(column, held_back(held, distance), status)
        yield barrier

    @abstractmethod
    def _step(self, tables: list[pa.Table], bound: int) -> Iterator[Chunk]:
        """All rows below ``bound`` are known now; those of ``tables``, if any, are new."""

    def _settle(self) -> None:
        """Behind the steps of an epoch: what is left to do with the state."""


def is_worn(rows: int, needed: int) -> bool:
    """Whether a log of ``rows``, of which so many are ``needed``, is to be written anew."""
    return rows > 2 * needed + SLACK_ROWS or (rows > 0 and not needed)


def keep(log: StateTable, stored: int, rows: pa.Table, kept: pa.Array, added: pa.Array) -> None:
    """Brings a log that has ``stored`` rows to what is needed: ``kept``, by numbers of ``rows``.

    Of these ``added`` are new. They are appended, unless the log is to be written anew.
    """
    if stored and is_worn(stored + len(added), len(kept)):
        log.delete_bucket(LOG)
        added = kept
    if len(added):
        log.append(LOG, rows.take(added))
        compact(log, LOG, pa.concat_tables)
