"""Versions: the changes of a table as rows, each valid from its time on (S14).

Contract. Rows with `OP`, `OFFSET` and `SINCE` in; rows out without these: each that is put, with
its own time, and for each that is deleted one more, with the time from which it is gone. The first
column orders those of one time, and is odd where the row is gone. The time's watermark passes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tidegate.executor.base import Executor
from tidegate.executor.columns import event_times, single_array, times_column
from tidegate.plan.versions import Versions
from tidegate.types import OFFSET, OP, SINCE, Chunk, Message, Op, Watermark


class VersionsExecutor(Executor):
    """Makes versions of changes."""

    def __init__(self, node: Versions) -> None:
        self.schema = node.schema
        self._time = node.time

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        ops = single_array(chunk.data.column(OP)).to_numpy()
        data = chunk.data.filter(pa.array(ops != Op.UPDATE_BEFORE))
        if data.num_rows:
            gone = single_array(data.column(OP)).to_numpy() == Op.DELETE
            numbers = single_array(data.column(OFFSET)).to_numpy() * 2 + gone
            first, *others = (column.name for column in self.schema)
            columns = {first: pa.array(numbers)} | {name: data.column(name) for name in others}
            columns[self._time] = _since(data, self._time, gone)
            yield Chunk(pa.table(columns))

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        if watermark.column == self._time:
            yield watermark


def _since(data: pa.Table, time: str, gone: np.ndarray) -> pa.Array:
    """From when on each version is valid."""
    times, valid = event_times(data.column(time))
    since = single_array(data.column(SINCE)).to_numpy()
    times = np.where(gone, np.maximum(times, since), times)
    return times_column(times, valid, data.schema.field(time).type)
