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

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.aggregation.aggregates import merge_sql
from tidegate.executor.aggregation.group_state import GroupState
from tidegate.executor.aggregation.updating_aggregate import UpdatingAggregateExecutor
from tidegate.executor.buffers.time_queue import divided
from tidegate.executor.buffers.time_runs import NULL_BUCKET
from tidegate.executor.columns import INT64_MIN
from tidegate.plan.physical import EarlyAggregate
from tidegate.state import StateTable, get_int, put_int, take_until
from tidegate.types import TICK

CLOSED: Final = "early:closed"
"""State value: no waiting partial is of a group below it."""


class EarlyAggregateExecutor(UpdatingAggregateExecutor):
    """Holds groups until the watermark of the closing key has passed them."""

    def __init__(
        self, node: EarlyAggregate, engine: Engine, state: Callable[[str], StateTable]
    ) -> None:
        super().__init__(node, engine, state("said"))
        by_tick = replace(node.aggregate, keys=(*node.aggregate.keys, TICK))
        self._waiting = GroupState(state("waiting"), TICK, engine, merge_sql(by_tick, "rows_"))

    def _ready(self, closed: int) -> list[pa.Table]:
        tick = self._bound(TICK)
        return [*self._from_state(tick, closed), *self._from_epoch(tick, closed)]

    def _from_state(self, tick: int, closed: int) -> list[pa.Table]:
        """Takes the partials that waited for a tick below ``tick``, or are of groups that close.

        Those have no later tick than ``tick`` itself, the one that the watermark is short of.
        """
        table = self._waiting.table
        taken = take_until(table, tick)
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
