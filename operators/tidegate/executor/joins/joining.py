"""What the joins have in common: rows without a time leave at once, all others wait (S5)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import Junction, chunks
from tidegate.executor.joins.pairing import Pairing, divided_by_time
from tidegate.plan.joins import Join, UntimedJoin
from tidegate.types import Message, Watermark


class Joining(Junction):
    """Gathers the rows of both sides, and the last watermark of each, until the barrier.

    ``hidden`` are the hidden columns of each side that are kept with its rows.
    """

    def __init__(
        self,
        join: Join,
        engine: Engine,
        hidden: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
    ) -> None:
        super().__init__(2)
        self.schema = join.schema
        self._join = join
        self._pairing = Pairing(join, engine)
        self._visible = [[column.name for column in side.schema] for side in join.inputs]
        self._columns = [[*names, *hidden[port]] for port, names in enumerate(self._visible)]
        self._like = [engine.arrow_schema(side.schema) for side in join.inputs]
        self._watermarks = [Watermark(time, None) for time in join.times]
        self._new: list[list[pa.Table]] = [[], []]

    @property
    def _passed(self) -> tuple[int | None, int | None]:
        """The watermark of each side."""
        left, right = self._watermarks
        return left.value, right.value

    def keep(self, port: int, rows: pa.Table) -> None:
        """Rows of a side arrived, all of which have a time."""
        self._new[port].append(rows)

    def _taken(self, port: int) -> list[pa.Table]:
        """What was kept of a side since the last call."""
        rows, self._new[port] = self._new[port], []
        return rows

    def on_rows(self, port: int, data: pa.Table) -> Iterator[Message]:
        if data.num_rows == 0:
            return
        rows = data.select(self._columns[port])
        self._like[port] = rows.select(self._visible[port]).schema
        timed, timeless = divided_by_time(rows, self._join.times[port])
        if timeless.num_rows:
            alone = self._pairing.at_once(timeless, port, self._like[1 - port])
            yield from chunks(alone) if alone is not None else ()
        self.keep(port, timed)

    def on_port_watermark(self, port: int, watermark: Watermark) -> Iterator[Message]:
        """Waits for the barrier: what is read to join is read once in an epoch."""
        if watermark.column == self._join.times[port]:
            self._watermarks[port] = watermark
        return iter(())


class UntimedJoining(Joining):
    """The same of joins without times: all rows are gathered, and the left side's watermarks."""

    def __init__(
        self,
        join: UntimedJoin,
        engine: Engine,
        hidden: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
    ) -> None:
        super().__init__(join, engine, hidden)
        self._left_watermarks: dict[str, Watermark] = {}

    def on_rows(self, port: int, data: pa.Table) -> Iterator[Message]:
        if data.num_rows:
            self.keep(port, data.select(self._columns[port]))
        return iter(())

    def on_port_watermark(self, port: int, watermark: Watermark) -> Iterator[Message]:
        if port == 0:
            self._left_watermarks[watermark.column] = watermark
        return iter(())
