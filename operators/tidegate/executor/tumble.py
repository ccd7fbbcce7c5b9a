"""Tumble: adds ``window_start`` and ``window_end`` of tumbling windows to each row.

Contract. Rows in, the same rows out with two more columns of the time column's type, placed behind
the visible columns; with a third, ``window_time``, a millisecond before the end, where the node
says so. Window ``[start, start + size)``; starts are congruent to ``offset`` modulo
``size`` counted from the Unix epoch, also before it (floor, not truncation). Integer arithmetic in
the column's own unit, on the column's memory: no engine call. A NULL time has NULL windows. A
window that leaves int64 is held at its ends (`END` - 1: below the watermark of a finished stream
only).

Watermarks (S4): ``W(t)`` gives ``W(t)``, ``W(window_start) = tumble_start(w)``,
``W(window_end) = tumble_end(w)``; with 30 minutes 10:40 gives 10:40, 10:30 and 11:00 (RFC
"Watermark derivation"). ``window_time`` moves with ``window_end``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tidegate.executor.base import Executor
from tidegate.executor.columns import INT64_MIN, Int64s, event_times, is_hidden, times_column
from tidegate.executor.engine import Engine
from tidegate.plan.nodes import Tumble as TumbleNode
from tidegate.types import END, Chunk, Message, Watermark

START = "window_start"
STOP = "window_end"
TIME = "window_time"
_MILLISECOND_US = 1_000


class Tumble(Executor):
    """Assigns each row its window by ``node.time_column``."""

    def __init__(self, node: TumbleNode, engine: Engine | None = None) -> None:
        del engine  # every operator is built alike; this one needs none
        self.schema = node.schema
        self._time = node.time_column
        self._size = node.size
        self._offset = node.offset % node.size
        self._with_time = node.with_time

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        data = chunk.data
        column = data.column(self._time)
        times, valid = event_times(column)
        starts, ends = self._windows(times)
        place = sum(not is_hidden(name) for name in data.column_names)
        if self._with_time:
            data = data.add_column(place, TIME, times_column(_last(ends), valid, column.type))
        data = data.add_column(place, STOP, times_column(ends, valid, column.type))
        data = data.add_column(place, START, times_column(starts, valid, column.type))
        names = [column.name for column in self.schema]
        hidden = [name for name in data.column_names if is_hidden(name) and name not in names]
        yield Chunk(data.select([*names, *hidden]), chunk.split)

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        yield watermark
        if watermark.column != self._time:
            return
        value = watermark.value
        if value is None or value == END:
            start = stop = last = value
        else:
            starts, ends = self._windows(np.array([value], dtype=np.int64))
            start, stop, last = int(starts[0]), int(ends[0]), int(_last(ends)[0])
        yield Watermark(START, start, watermark.status)
        yield Watermark(STOP, stop, watermark.status)
        if self._with_time:
            yield Watermark(TIME, last, watermark.status)

    def _windows(self, times: Int64s) -> tuple[Int64s, Int64s]:
        """Start and end of the window of each time."""
        # numpy's modulo has the sign of the divisor, which is the floor that windows need; taking
        # the two remainders apart keeps `times - offset` from wrapping around.
        past = times % self._size
        past -= self._offset
        past[past < 0] += self._size
        fits = times >= INT64_MIN + 1 + past
        starts = np.where(fits, times - past, INT64_MIN + 1)
        ends = np.where(starts > END - 1 - self._size, END - 1, starts + self._size)
        return starts, ends


def _last(ends: Int64s) -> Int64s:
    """The last millisecond of windows, by their ends."""
    return np.maximum(ends, INT64_MIN + 1 + _MILLISECOND_US) - _MILLISECOND_US
