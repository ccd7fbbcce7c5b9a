"""IntervalJoin: joins rows whose times are close (S4, S5).

Contract. Rows of both sides in, those alike in the join's keys at one instance. A pair leaves at
the end of the epoch in which its second row came: it is final. A row without a partner, of a kind
of join that keeps it, leaves when both watermarks say that no partner can come; so do the rows of a
semi or anti join. A row without a time has no partner: it leaves at once, if at all.

With the watermarks L and R of the two times, and ``lower <= right - left <= upper``: the left rows
below ``min(L, R - upper)`` are all known and their partners too, and so are the right rows below
``min(R, L + lower)``. These two values are also the watermarks of the two times behind the join,
and, moved by their distance, of the columns in ``join.follow``. All others end here.

State: of each side the rows whose time is within the bounds of what may come on the other, and of
those that may yet have to leave alone; also of keys that never come again. New rows meet all rows
of the other side that are within their bounds: these are read again in each epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import chunks, held_back, least
from tidegate.executor.buffers.time_store import TimeStore, spanned
from tidegate.executor.columns import INT64_MAX, INT64_MIN
from tidegate.executor.joins.joining import Joining
from tidegate.executor.joins.pairing import among
from tidegate.plan.joins import Join, JoinKind
from tidegate.state import StateTable, get_int, put_int
from tidegate.types import END, Barrier, Chunk, Message, Status, Watermark

FINAL: Final = "final"
"""State value of a side: the rows below it have left alone, if they had to."""


class IntervalJoinExecutor(Joining):
    """One of the parallel instances; ``state`` gives the state of each side by its port."""

    def __init__(self, join: Join, engine: Engine, state: Callable[[int], StateTable]) -> None:
        super().__init__(join, engine)
        self._states = [state(port) for port in range(2)]
        self._stores = [TimeStore(self._states[port], join.times[port]) for port in range(2)]
        self._final = [get_int(table, FINAL, INT64_MIN) for table in self._states]
        self._back = (-join.upper, join.lower)
        """So far from the other side's watermark, a side's rows have no partner to come."""
        kind = join.kind
        self._settles = (kind.keeps_left or not kind.has_right, kind.keeps_right)
        """Whether a side's rows are looked at when they are final."""

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        left, right = self._taken(0), self._taken(1)
        if self._join.kind.has_right:  # new left with all right, old left with new right
            yield from self._joined(left, right + self._partners(0, left))
            yield from self._joined(self._partners(1, right), right)
        for store, rows in zip(self._stores, (left, right), strict=True):
            if rows:
                store.append(pa.concat_tables(rows))
        final, status = self._bounds()
        for port in range(2):
            bound = final[port]
            if bound is not None and self._settles[port] and bound > self._final[port]:
                yield from self._settle(port, bound)
                self._final[port] = bound
                put_int(self._states[port], FINAL, bound)
        self._forget(final)
        for column, side, distance in self._join.follow:
            yield Watermark(column, held_back(final[side], distance), status)
        yield barrier

    def _joined(self, lefts: list[pa.Table], rights: list[pa.Table]) -> Iterator[Chunk]:
        if lefts and rights:
            left, right = pa.concat_tables(lefts), pa.concat_tables(rights)
            rows, partners = self._pairing.pairs(left, right)
            yield from chunks(self._pairing.joined(left, right, rows, partners))

    def _partners(self, port: int, tables: list[pa.Table]) -> list[pa.Table]:
        """What the other side keeps within the bounds of the rows of this one."""
        span = spanned(tables, self._join.times[port])
        if span is None:
            return []
        lower, upper = self._join.lower, self._join.upper
        below, above = (lower, upper) if port == 0 else (-upper, -lower)
        return self._stores[1 - port].between(span[0] + below, span[1] + above)

    def _settle(self, port: int, bound: int) -> Iterator[Chunk]:
        """The rows that have become final, if they leave now."""
        high = INT64_MAX if bound == END else bound - 1
        tables = self._stores[port].between(self._final[port], high)
        if not tables:
            return
        rows = pa.concat_tables(tables)
        partners = self._partners(port, tables)
        kind, pairing = self._join.kind, self._pairing
        others = pa.concat_tables(partners) if partners else self._like[1 - port].empty_table()
        found = pairing.pairs(rows, others) if port == 0 else pairing.pairs(others, rows)
        chosen = rows.take(among(found[port], rows.num_rows, is_in=kind is JoinKind.SEMI))
        if kind.has_right:
            chosen = pairing.without_partner(chosen, port, self._like[1 - port])
        yield from chunks(chosen)

    def _bounds(self) -> tuple[tuple[int | None, int | None], Status]:
        """Below which time the rows of each side are final."""
        _, status = least(self._watermarks)
        left, right = self._passed
        if left is None or right is None:
            return (None, None), status
        return (
            min(left, held_back(right, self._back[0]) or 0),
            min(right, held_back(left, self._back[1]) or 0),
        ), status

    def _forget(self, final: tuple[int | None, int | None]) -> None:
        """Drops what can have no partner any more, and need not leave alone."""
        for port, store in enumerate(self._stores):
            others = [self._passed[1 - port]]  # on the other side
            others += [final[1 - port]] if self._settles[1 - port] else []
            limits = [held_back(other, self._back[port]) for other in others]
            limits += [final[port]] if self._settles[port] else []
            known = [limit for limit in limits if limit is not None]
            if len(known) == len(limits):
                store.drop(min(known))
            store.persist()
