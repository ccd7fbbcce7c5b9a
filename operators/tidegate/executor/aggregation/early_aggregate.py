"""EarlyAggregate: the second phase of an aggregation that shows results before they are final (S5).

Contract. Partials by the group's keys and by `TICK` in (`aggregates.partial_schema`), changes out:
``node.schema`` and the hidden column `OP` (`group_changes`). At the barrier results leave of groups

- that have partials whose tick the watermark of `TICK` has passed: their rows lie before a tick
  that event time has reached, so all that do are here (`plan.early`);
- that the watermark of the closing key has passed, which shows all of their rows: the last result.

Both at once is one change. So a group has a result once an interval of event time at the most, and
one more when it closes, and which follows from the watermark, however the rows came (S6).

Watermarks. That of the closing key, and those ``derived`` from it, leave behind the epoch's
changes, as of `UpdatingAggregate`. That of `TICK` ends here.

State. In the table ``waiting`` partials by their ticks: each is read once, when its tick is there,
but for the tick that the watermark is short of. Rows of groups that close may have that one, as
may, in a bucket of their own, rows without a time; so the partials there are written anew where
groups closed. In the table ``said`` what `GroupChanges` remembers of groups until they close.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.aggregation.aggregates import merge_sql
from tidegate.executor.aggregation.group_changes import GroupChanges
from tidegate.executor.aggregation.group_state import NULL_BUCKET, GroupState, with_derived
from tidegate.executor.base import Executor
from tidegate.executor.buffers.time_queue import divided
from tidegate.executor.columns import INT64_MIN
from tidegate.plan.physical import EarlyAggregate
from tidegate.state import StateTable, get_int, put_int, scan_until
from tidegate.types import TICK, Barrier, Chunk, Message, Watermark

CLOSED: Final = "early:closed"
"""State value: no waiting partial is of a group below it."""


class EarlyAggregateExecutor(Executor):
    """Holds groups until the watermark of the closing key has passed them."""

    def __init__(
        self, node: EarlyAggregate, engine: Engine, state: Callable[[str], StateTable]
    ) -> None:
        aggregate = node.aggregate
        self.schema = aggregate.schema
        self._key = aggregate.closing_key
        self._derived = node.derived
        self._engine = engine
        self._changes = GroupChanges(aggregate, engine, state("said"))
        self._merge = merge_sql(replace(aggregate, keys=(*aggregate.keys, TICK)), "rows_")
        self._waiting = GroupState(state("waiting"), TICK, self._merged)
        self._new: list[pa.Table] = []
        self._watermarks: dict[str, Watermark] = {}

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        if chunk.data.num_rows:
            self._new.append(chunk.data)
        return iter(())

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        """Waits for the barrier: what came with it changes groups first."""
        if watermark.column in (self._key, TICK):
            self._watermarks[watermark.column] = watermark
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        tick, closed = self._bound(TICK), self._bound(self._key)
        ready = [*self._from_state(tick, closed), *self._from_epoch(tick, closed)]
        if ready:
            yield from self._changes.of(ready, barrier.epoch, closed)
        self._changes.forget(closed)
        if self._key in self._watermarks:
            yield from with_derived(self._watermarks[self._key], self._derived)
        yield barrier

    def _bound(self, column: str) -> int:
        known = self._watermarks.get(column)
        return INT64_MIN if known is None or known.value is None else known.value

    def _from_state(self, tick: int, closed: int) -> list[pa.Table]:
        """Takes the partials that waited for a tick below ``tick``, or are of groups that close.

        Those have no later tick than ``tick`` itself, the one that the watermark is short of.
        """
        table = self._waiting.table
        taken = [run for _, runs in scan_until(table, tick) for run in runs]
        table.delete_until(tick)
        if closed <= get_int(table, CLOSED, INT64_MIN):
            return taken
        put_int(table, CLOSED, closed)
        for bucket in {tick, NULL_BUCKET}.intersection(table.buckets()):
            closing, rest = divided(table.read(bucket), self._key, closed)
            if closing:
                table.delete_bucket(bucket)
                self._keep(rest)
            taken += closing
        return taken

    def _from_epoch(self, tick: int, closed: int) -> list[pa.Table]:
        """The partials of the epoch that need not wait; the others go to state."""
        passed, rest = divided(self._new, TICK, tick)
        self._new = []
        closing, rest = divided(rest, self._key, closed)
        self._keep(rest)
        return [*passed, *closing]

    def _keep(self, partials: list[pa.Table]) -> None:
        if partials:
            self._waiting.add(pa.concat_tables(partials))

    def _merged(self, partials: list[pa.Table]) -> pa.Table:
        return self._engine.query(self._merge, {"rows_": pa.concat_tables(partials)})
