"""WindowPartials: gives the partials of panes to the windows that they are parts of.

A row of overlapping windows would be aggregated once for each of them. All rows of a *pane* are in
the same windows, so a pane is aggregated first (`PartialAggregate`), and its few partials are
copied for each window (Flink's "slice sharing").

Contract. Partials of panes in, their start in ``node.pane``; out come partials as `FinalAggregate`
wants them (`aggregates.partial_schema` of ``node.aggregate``). A watermark of the pane gives those
of the windows' columns among the keys: a pane's start is a time like any other of the pane, so the
first window of any time from there on is that of the start. Others pass.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tidegate.executor.aggregation.aggregates import partial_schema
from tidegate.executor.base import Executor
from tidegate.executor.columns import event_times
from tidegate.executor.windows.fixed_windows import WindowExecutor
from tidegate.plan.physical import WindowPartials
from tidegate.types import Chunk, Message, Watermark


class WindowPartialsExecutor(Executor):
    """Copies partials for the windows that ``windows`` assigns."""

    def __init__(self, node: WindowPartials, windows: WindowExecutor) -> None:
        self.schema = partial_schema(node.aggregate)
        self._pane = node.pane
        self._windows = windows
        self._parts = dict(node.parts)

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        for partials in self._windows.pieces(chunk.data):
            yield Chunk(self._copied(partials), chunk.split)

    def _copied(self, partials: pa.Table) -> pa.Table:
        column = partials.column(self._pane)
        assigned = self._windows.assign(*event_times(column))
        data = assigned.taken(partials)
        parts = assigned.columns(column.type)
        columns = {
            name: parts[self._parts[name]] if name in self._parts else data.column(name)
            for name in (column.name for column in self.schema)
        }
        return pa.table(columns)

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        if watermark.column != self._pane:
            yield watermark
            return
        values = self._windows.watermarks(watermark.value)
        for name, part in self._parts.items():
            yield Watermark(name, values[part], watermark.status)
