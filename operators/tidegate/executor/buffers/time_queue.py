"""Rows that wait for a watermark: kept by their time, taken once, in the order of time.

Rows of the running epoch wait in memory; at the barrier what is left goes to state, in runs per
bucket of time (`time_runs`). A watermark reads the buckets below it.

A bucket that the watermark cuts (the *straddled* one) is not rewritten: the rows below the last
watermark were taken, which state remembers as the value `CUT`, and reading skips them. It is read
again with the next watermark, and deleted once it is exhausted; compaction drops taken rows too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.errors import InvariantError
from tidegate.executor.buffers.time_runs import append_by_time
from tidegate.executor.columns import INT64_MIN, Bools, Int64s, event_times
from tidegate.state import StateTable, get_int, put_int
from tidegate.types import END

CUT: Final = "sort:cut"
"""State value: rows below it have been taken, though they may still be in runs."""
EMIT_ROWS_MAX: Final = 262_144
"""Rows that are gathered before some are taken: closing everything must not need all at once."""


class TimeQueue:
    """Rows by the times in ``column``; one without a time is behind all others."""

    def __init__(self, state: StateTable, column: str) -> None:
        self._state = state
        self._column = column
        self._pool: list[pa.Table] = []  # rows in memory: new ones, and those read for `take`
        self.cut = get_int(state, CUT, INT64_MIN)

    def add(self, rows: pa.Table) -> None:
        """New rows, none of them below the cut: those would be lost without a word."""
        if rows.num_rows == 0:
            return
        below = _below(*event_times(rows.column(self._column)), self.cut)
        if self.cut != END and below.any():
            raise InvariantError(
                f"{int(below.sum())} rows come behind the watermark of {self._column}",
                detail=f"the watermark is {self.cut}",
            )
        self._pool.append(rows)

    @property
    def rows(self) -> int:
        """Rows in memory."""
        return sum(part.num_rows for part in self._pool)

    def buckets(self, bound: int) -> list[int]:
        """The buckets in state that have rows below ``bound``, ascending.

        No row of a bucket is below its name.
        """
        return [bucket for bucket in self._state.buckets() if bucket < bound]

    def load(self, bucket: int, bound: int) -> None:
        """Reads the rows of ``bucket`` that are below ``bound``; if these are all, it goes."""
        unread, rest = self._read(bucket, bound)
        self._pool += unread
        if not rest:
            self._state.delete_bucket(bucket)

    def take(self, until: int, bound: int) -> list[pa.Table]:
        """The rows below ``until``; all buckets below it have been loaded.

        With ``until`` at ``bound`` the rest waits for a higher one.
        """
        taken, self._pool = divided(self._pool, self._column, until)
        if until == bound:
            self.cut = bound
        return taken

    def persist(self) -> None:
        """Writes what is in memory, and how far rows have been taken. Call at the barrier."""
        if self._pool:
            data = pa.concat_tables(self._pool)
            self._pool = []
            append_by_time(self._state, data, self._column, self._compacted)
        if self.cut != INT64_MIN:
            put_int(self._state, CUT, self.cut)

    def _read(self, bucket: int, bound: int) -> tuple[list[pa.Table], bool]:
        """The rows of ``bucket`` from the cut to ``bound``, and whether rows stay behind."""
        unread, rest = [], False
        for run in self._state.read(bucket):
            times, valid = event_times(run.column(self._column))
            below = _below(times, valid, bound)
            wanted = below & ~_below(times, valid, self.cut)
            rest = rest or not below.all()
            if wanted.any():
                unread.append(run if wanted.all() else run.filter(pa.array(wanted)))
        return unread, rest

    def _compacted(self, runs: list[pa.Table]) -> pa.Table:
        _, rest = divided(runs, self._column, self.cut)
        return pa.concat_tables(rest or [runs[0].slice(0, 0)])


def slices(
    queues: Sequence[TimeQueue], bound: int
) -> Iterator[tuple[int, tuple[list[pa.Table], ...]]]:
    """Takes the rows of all ``queues`` below ``bound``, in the order of time, some at once.

    Gives a time, and of each queue the rows below it that have not been taken yet. The last of
    these times is ``bound``; it comes in any case.
    """
    named = [frozenset(queue.buckets(bound)) for queue in queues]
    for bucket, following in pairwise([*sorted(frozenset().union(*named)), bound]):
        for queue, names in zip(queues, named, strict=True):
            if bucket in names:
                queue.load(bucket, bound)
        if following < bound and sum(queue.rows for queue in queues) >= EMIT_ROWS_MAX:
            yield following, tuple(queue.take(following, bound) for queue in queues)
    yield bound, tuple(queue.take(bound, bound) for queue in queues)


def divided(
    tables: list[pa.Table], column: str, bound: int
) -> tuple[list[pa.Table], list[pa.Table]]:
    """The rows whose ``column`` is below ``bound``, and the others."""
    ready, rest = [], []
    for table in tables:
        below = _below(*event_times(table.column(column)), bound)
        if below.all():
            ready.append(table)
        elif not below.any():
            rest.append(table)
        else:
            ready.append(table.filter(pa.array(below)))
            rest.append(table.filter(pa.array(~below)))
    return ready, rest


def _below(times: Int64s, valid: Bools, bound: int) -> Bools:
    """S1 for rows; a row without time is below nothing but the end."""
    if bound == END:
        return np.ones(len(times), dtype=np.bool_)
    return valid & (times < bound)
