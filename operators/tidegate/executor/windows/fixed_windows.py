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
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.executor.base import Executor
from tidegate.executor.columns import (
    INT64_MIN,
    Bools,
    Int64s,
    event_times,
    is_hidden,
    times_column,
)
from tidegate.plan.derivation import window_columns
from tidegate.plan.windows import Window
from tidegate.types import END, Chunk, Message, Schema, Watermark

START: Final = "window_start"
STOP: Final = "window_end"
TIME: Final = "window_time"
LOWEST: Final = INT64_MIN + 1
"""The first start that a window can have."""
ROWS_MAX: Final = 262_144
"""Of a chunk that leaves: a row may have thousands of windows."""
_MILLISECOND_US: Final = 1_000


@dataclass(frozen=True, slots=True)
class Assigned:
    """Windows of rows. ``rows`` are the rows' numbers, ascending; None: each once, in order.

    ``valid``: which of the windows are there.
    """

    rows: Int64s | None
    starts: Int64s
    ends: Int64s
    valid: Bools

    def columns(self, kind: pa.DataType) -> dict[str, pa.Array]:
        """All three columns by name, of the time's type."""
        found = {START: self.starts, STOP: self.ends, TIME: last_of(self.ends)}
        return {name: times_column(values, self.valid, kind) for name, values in found.items()}

    def taken(self, data: pa.Table) -> pa.Table:
        """``data`` with its rows as often as they have windows."""
        return data if self.rows is None else data.take(pa.array(self.rows))


class WindowExecutor(Executor):
    """Gives each row its windows by ``node.time_column``."""

    def __init__(self, node: Window) -> None:
        self.schema = node.schema
        self._time = node.time_column
        self._size = node.size
        self._offset = node.offset % node.size
        self._added = window_columns(node.with_time)
        self.per_row = node.size // node.pane
        """How many windows a time has at most."""

    @abstractmethod
    def assign(self, times: Int64s, valid: Bools) -> Assigned:
        """The windows of ``times``, of which those that are not ``valid`` are NULL."""

    @abstractmethod
    def next_window(self, time: int) -> tuple[int, int]:
        """The smallest start and the smallest end of a window of any time from ``time`` on."""

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        for rows in self.pieces(chunk.data):
            yield Chunk(self._with_windows(rows), chunk.split)

    def pieces(self, data: pa.Table) -> Iterator[pa.Table]:
        """``data`` in pieces that become no more than some `ROWS_MAX` rows with their windows."""
        step = max(1, ROWS_MAX // self.per_row)
        for start in range(0, max(1, data.num_rows), step):
            yield data.slice(start, step) if data.num_rows > step else data

    def _with_windows(self, data: pa.Table) -> pa.Table:
        assigned = self.assign(*event_times(data.column(self._time)))
        return with_windows(data, self._time, assigned, self.schema, self._added)

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        yield watermark
        if watermark.column != self._time:
            return
        values = self.watermarks(watermark.value)
        for name in self._added:
            yield Watermark(name, values[name], watermark.status)

    def watermarks(self, value: int | None) -> dict[str, int | None]:
        """The watermark of each new column, by that of the time."""
        if value is None or value == END:
            return dict.fromkeys((START, STOP, TIME), value)
        start, end = self.next_window(value)
        return {START: start, STOP: end, TIME: int(last_of(np.array([end], dtype=np.int64))[0])}


def with_windows(
    data: pa.Table, time: str, assigned: Assigned, schema: Schema, added: Collection[str]
) -> pa.Table:
    """``data`` with the columns of the windows of ``time`` that are ``added``, as ``schema`` has
    them; one of another name may be there already, of windows below."""
    kind = data.column(time).type
    data = assigned.taken(data)
    place = sum(not is_hidden(name) for name in data.column_names)
    names = [column.name for column in schema]
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
    return np.maximum(ends, LOWEST + _MILLISECOND_US) - _MILLISECOND_US
