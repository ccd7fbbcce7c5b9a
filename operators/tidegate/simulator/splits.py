"""The simulator's sources: every split decoded once, then cut into epochs as the seed says.

Real planners and readers are tested with real files elsewhere; a simulated job may have hundreds of
epochs, and reads each split through the table's reader only once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa

from tidegate.connectors.registry import connector_of
from tidegate.engine.engine import Engine
from tidegate.plan.nodes import Table
from tidegate.ports import SourceChunk, SplitRange
from tidegate.types import OFFSET


@dataclass(frozen=True, slots=True)
class Split:
    """A whole split in memory: good rows and malformed ones, both by offset."""

    data: pa.Table
    malformed: pa.Table
    rows: int
    finished: bool

    def between(self, start: int, end: int, chunk_rows: int) -> Iterator[SourceChunk]:
        """The rows with offsets from ``start`` to ``end``, in chunks of ``chunk_rows`` offsets."""
        offsets = self.data.column(OFFSET).to_numpy()
        bad = self.malformed.column("offset").to_numpy()
        for at in range(start, end, chunk_rows):
            stop = min(at + chunk_rows, end)
            first, last = np.searchsorted(offsets, [at, stop])
            first_bad, last_bad = np.searchsorted(bad, [at, stop])
            yield SourceChunk(
                self.data.slice(first, last - first),
                self.malformed.slice(first_bad, last_bad - first_bad),
                stop,
            )


def load(table: Table, engine: Engine) -> dict[str, Split]:
    """All splits of ``table``, as they are now."""
    planner = connector_of(table).planner(table, True)
    start = dict.fromkeys(planner.splits())
    reader = connector_of(table).reader(table, engine)
    loaded = {}
    for split, plan in planner.plan(start, None).items():
        ranges = [SplitRange(split, None, plan.end)] if plan.end is not None else []
        chunks = [chunk for _, chunk in reader.read(ranges)]
        if not chunks:
            empty = engine.empty(table.columns)
            chunks = [SourceChunk(_with_hidden(empty), _NO_MALFORMED, 0)]
        loaded[split] = Split(
            pa.concat_tables([chunk.data for chunk in chunks]),
            pa.concat_tables([chunk.malformed for chunk in chunks]),
            chunks[-1].next_offset,
            plan.finished,
        )
    return loaded


def cut(rng: Random, left: dict[str, int], rows_max: int | None) -> dict[str, int]:
    """How many rows of each split an epoch takes, of the ``left`` ones; ``rows_max`` in all.

    Always at least one while any is left, so that a job ends.
    """
    if rows_max is None:
        return dict(left)
    taken = dict.fromkeys(left, 0)
    for _ in range(rows_max):
        open_ = [split for split in sorted(left) if taken[split] < left[split]]
        if not open_:
            break
        taken[rng.choice(open_)] += 1
    return taken


_NO_MALFORMED = pa.schema([("offset", pa.int64()), ("record", pa.binary())]).empty_table()


def _with_hidden(data: pa.Table) -> pa.Table:
    data = data.append_column(OFFSET, pa.array([], pa.int64()))
    return data.append_column("__record", pa.array([], pa.binary()))
