"""SessionRows: gives each row its session, once that is over.

Contract. Rows in, of all splits as one stream, of which each value of ``session.keys`` comes to one
instance; when the watermark of the time column rises to w, the rows of all sessions that end at or
below w leave, with ``window_start`` and ``window_end`` (and ``window_time``) behind the visible
columns, ordered by session. A session is ``[first, last + gap)``, and a row exactly one gap behind
the last begins the next one (S4); NULL is a key like any other. At `END` all leave. A row without a
time is in no session: its windows are NULL, and it leaves at `END`.

Watermarks. Sessions that leave later end above w, so ``W(window_end)`` is the next value, w + 1: an
operator behind closes a session's group with the session. Their rows lie at or above the first row
that is still kept, or w: that is ``W(window_start)`` and ``W(t)``. Others end here.

State. Rows are kept in buckets of time (`time_runs`). When a session may be over, the rows below
the watermark are read, and those of sessions that are not over are written again: the price of a
row's way through here is how often that is while its session lasts. Nothing is read while no
session can be over: the first moment at which one can be is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import CHUNK_ROWS_MAX, Executor, held_status
from tidegate.executor.buffers.time_runs import NULL_BUCKET, append_by_time
from tidegate.executor.columns import INT64_MIN, Bools, Int64s, event_times
from tidegate.executor.windows.fixed_windows import Assigned, last_of, raised, with_windows
from tidegate.plan.derivation import window_columns
from tidegate.plan.nodes import quoted
from tidegate.plan.physical import SessionRows
from tidegate.state import StateTable, get_int, put_int, take_until
from tidegate.types import END, Barrier, Chunk, Message, Watermark

FIRST: Final = "session:first"
"""State value: the time of the first row that is kept."""
NEXT: Final = "session:next"
"""State value: no session can end below this watermark."""
_ROW: Final = "__row"


class SessionRowsExecutor(Executor):
    """Keeps rows until the watermark says that their session is over."""

    def __init__(self, node: SessionRows, engine: Engine, state: StateTable) -> None:
        session = node.session
        self._session = session
        self.schema = session.schema
        self._time = session.time_column
        self._gap = session.gap
        self._columns = [*(column.name for column in session.input.schema), *node.hidden]
        self._keys = list(dict.fromkeys(session.keys))
        keys = ", ".join(quoted(key) for key in self._keys)
        self._ranks = f"SELECT {_ROW}, dense_rank() OVER (ORDER BY {keys}) FROM rows_"
        self._engine = engine
        self._state = state
        self._held: list[pa.Table] = []
        self._first = get_int(state, FIRST, END)
        self._next = get_int(state, NEXT, END)
        self._watermark = Watermark(self._time, None)
        self._done = INT64_MIN

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        if chunk.data.num_rows:
            rows = chunk.data.select(self._columns)
            self._held.append(rows)
            times, valid = event_times(rows.column(self._time))
            if valid.any():
                lowest = int(times[valid].min())
                self._first = min(self._first, lowest)
                self._next = min(self._next, lowest + self._gap)
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        """Waits for the barrier: what is read to end a session is read once in an epoch."""
        if watermark.column == self._time:
            self._watermark = watermark
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        value = self._watermark.value
        if value is not None and value > self._done:
            self._done = value
            if value >= self._next or value == END:
                yield from self._end_sessions(value)
        self._persist()
        yield from self._watermarks()
        yield barrier

    def _watermarks(self) -> Iterator[Watermark]:
        value, status = self._watermark.value, self._watermark.status
        kept = end = last = value
        if value is not None and value != END:
            kept, end = min(self._first, value), min(value + 1, END - 1)
            last = int(last_of(np.array([end], dtype=np.int64))[0])
        held = held_status(kept, value, status)
        yield Watermark(self._time, kept, held)
        shown = ((kept, held), (end, status), (last, status))
        added = window_columns(self._session.with_time)
        for name, (watermark, of) in zip(added, shown, strict=False):
            yield Watermark(name, watermark, of)

    def _end_sessions(self, bound: int) -> Iterator[Chunk]:
        """The rows of sessions that are over at ``bound``; the others are kept."""
        parts, self._held = self._held, []
        parts += take_until(self._state, bound)
        if not parts:
            return
        data = pa.concat_tables(parts)
        times, valid = event_times(data.column(self._time))
        sessions = self._sessions(data, times, valid)
        over = sessions.ends <= bound if bound != END else np.ones(len(times), dtype=np.bool_)
        kept = data.filter(pa.array(~over))
        if kept.num_rows:
            self._held.append(kept)
        open_ = valid & ~over
        unread = min([END, *(bucket for bucket in self._state.buckets() if bucket != NULL_BUCKET)])
        self._first = min(int(times[open_].min(initial=END)), unread)
        self._next = min(int(sessions.ends[open_].min(initial=END)), unread + self._gap)
        order = np.lexsort((times, sessions.starts, sessions.ends))
        order = order[over[order]]
        for start in range(0, len(order), CHUNK_ROWS_MAX):
            rows = order[start : start + CHUNK_ROWS_MAX]
            of = Assigned(None, sessions.starts[rows], sessions.ends[rows], valid[rows])
            part = data.take(pa.array(rows))
            yield Chunk(with_windows(part, self._session, of))

    def _sessions(self, data: pa.Table, times: Int64s, valid: Bools) -> Assigned:
        """The session of each row; one without a time has one of its own, without bounds."""
        groups = self._groups(data)
        order = np.lexsort((times, groups, ~valid))
        ordered, of, timed = times[order], groups[order], valid[order]
        # Of ascending times the difference fits 64 bits without a sign.
        apart = ordered[1:].view(np.uint64) - ordered[:-1].view(np.uint64)
        others = (of[1:] != of[:-1]) | (timed[1:] != timed[:-1])
        begins = np.concatenate(([True], others | (apart >= np.uint64(self._gap))))
        first = np.flatnonzero(begins)
        last = np.append(first[1:], len(order)) - 1
        number = np.cumsum(begins) - 1
        starts, ends = np.empty_like(times), np.empty_like(times)
        starts[order] = ordered[first][number]
        ends[order] = raised(ordered[last], self._gap)[number]
        ends[~valid] = END
        return Assigned(None, starts, ends, valid)

    def _groups(self, data: pa.Table) -> Int64s:
        """A number for each row, the same for rows of the same keys."""
        groups = np.zeros(data.num_rows, dtype=np.int64)
        if self._keys:
            rows = pa.array(np.arange(data.num_rows, dtype=np.int64))
            keyed = data.select(self._keys).append_column(_ROW, rows)
            found = self._engine.query(self._ranks, {"rows_": keyed})
            groups[found.column(0).to_numpy()] = found.column(1).to_numpy()
        return groups

    def _persist(self) -> None:
        if self._held:
            append_by_time(self._state, pa.concat_tables(self._held), self._time)
            self._held = []
        put_int(self._state, FIRST, self._first)
        put_int(self._state, NEXT, self._next)
