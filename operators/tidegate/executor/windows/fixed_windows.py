"""What all windows of fixed bounds share: rows in, the same rows with their windows out.

Contract. Each row stands in the output once for each window that has its time, in one chunk and in
the order of the windows' ends, with ``window_start`` and ``window_end`` of the time column's type
behind the visible columns; with a third, ``window_time``, a millisecond before the end, where the
node says so. A NULL time has NULL windows, once. A window that leaves int64 is held at its ends
(`END` - 1: below the watermark of a finished stream only). Integer arithmetic in the column's own
unit, on the column's memory: no engine call.

Watermarks (S4): ``W(t)`` gives ``W(t)``, and for each new column the smallest value that a row at
or above it can still have. ``window_time`` moves with ``window_end``.

Windows of a kind say which these are: `tumble`, `hop`, `cumulate`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.executor.base import Executor
from tidegate.executor.changes.as_changes import apart
from tidegate.executor.columns import (
    INT64_MIN,
    Bools,
    Int64s,
    event_times,
    is_hidden,
    times_column,
)
from tidegate.plan.derivation import window_columns
from tidegate.plan.derived import MILLISECOND_US, WINDOW_END, WINDOW_START, WINDOW_TIME
from tidegate.plan.windows import Session, Window
from tidegate.types import END, OP, Chunk, Message, Watermark

LOWEST: Final = INT64_MIN + 1
"""The first start that a window can have."""
ROWS_MAX: Final = 262_144
"""Of a chunk that leaves: a row may have thousands of windows."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """Windows of rows. ``rows`` are the rows' numbers, ascending; None: each once, in order.

    ``valid``: which of the windows are there.
    """

    rows: Int64s | None
    starts: Int64s
    ends: Int64s
    valid: Bools

    @property
    def times(self) -> dict[str, Int64s]:
        """The event times of all three columns, by name."""
        return {
            WINDOW_START: self.starts,
            WINDOW_END: self.ends,
            WINDOW_TIME: last_of(self.ends),
        }

    def columns(self, kind: pa.DataType) -> dict[str, pa.Array]:
        """All three columns by name, of the time's type."""
        found = self.times.items()
        return {name: times_column(values, self.valid, kind) for name, values in found}

    def taken(self, data: pa.Table) -> pa.Table:
        """``data`` with its rows as often as they have windows."""
        return data if self.rows is None else data.take(pa.array(self.rows))


class WindowExecutor(Executor):
    """Gives each row its windows by ``node.time_column``."""

    def __init__(self, node: Window) -> None:
        self.schema = node.schema
        self._node = node
        self._size, self._pane = node.size, node.pane
        self._offset = node.offset % node.size

    @abstractmethod
    def assign(self, times: Int64s, valid: Bools) -> Assigned:
        """The windows of ``times``, of which those that are not ``valid`` are NULL.

        The first window of a time has the least start and end of all that times from there on have.
        """

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        data = chunk.data
        if self._node.repeats and OP in data.column_names:
            data = apart(data)
        for rows in self.pieces(data):
            assigned = self.assign(*event_times(rows.column(self._node.time_column)))
            yield Chunk(with_windows(rows, self._node, assigned), chunk.split)

    def pieces(self, data: pa.Table) -> Iterator[pa.Table]:
        """``data`` in pieces that become no more than some `ROWS_MAX` rows with their windows."""
        if not self._node.repeats:
            yield data
            return
        step = max(1, ROWS_MAX * self._pane // self._size)
        for start in range(0, max(1, data.num_rows), step):
            yield data.slice(start, step) if data.num_rows > step else data

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        yield watermark
        if watermark.column != self._node.time_column:
            return
        values = self.watermarks(watermark.value)
        for name in window_columns(self._node.with_time):
            yield Watermark(name, values[name], watermark.status)

    def watermarks(self, value: int | None) -> dict[str, int | None]:
        """The watermark of each new column, by that of the time."""
        if value is None or value == END:
            return dict.fromkeys(window_columns(with_time=True), value)
        windows = self.assign(np.array([value], dtype=np.int64), np.array([True]))
        return {name: int(times[0]) for name, times in windows.times.items()}


def with_windows(data: pa.Table, node: Window | Session, assigned: Assigned) -> pa.Table:
    """``data`` with the columns that ``node`` adds, as its schema has them.

    One of such a name may be there already, of windows below.
    """
    kind = data.column(node.time_column).type
    data = assigned.taken(data)
    place = sum(not is_hidden(name) for name in data.column_names)
    names = [column.name for column in node.schema]
    added = window_columns(node.with_time)
    for name, values in reversed(assigned.columns(kind).items()):
        if name in added and name in names:
            data = data.add_column(place, name, values)
    hidden = [name for name in data.column_names if is_hidden(name) and name not in names]
    return data.select([*names, *hidden])


def floors(times: Int64s, size: int, offset: int) -> tuple[Int64s, Int64s]:
    """The largest ``offset + n * size`` that is not above each time, and its distance.

    ``offset`` is at least 0 and below ``size``. What leaves int64 is held at `LOWEST`.
    """
    # numpy's modulo has the sign of the divisor, which is the floor that windows need; taking
    # the two remainders apart keeps `times - offset` from wrapping around.
    past = times % size
    past -= offset
    past[past < 0] += size
    fits = times >= LOWEST + past
    return np.where(fits, times - past, LOWEST), past


def raised(times: Int64s, by: Int64s | int) -> Int64s:
    """``times + by``, held below `END`; ``by`` is above 0."""
    return np.where(times > END - 1 - by, END - 1, times + by)


def last_of(ends: Int64s) -> Int64s:
    """The last millisecond of windows, by their ends."""
    return np.maximum(ends, LOWEST + MILLISECOND_US) - MILLISECOND_US
