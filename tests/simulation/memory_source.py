"""Sources in memory: splits that were read once, and are cut into epochs and chunks from there.

Real planners and readers are tested with real files elsewhere; a simulated job may have hundreds of
epochs, and reads each split through the table's reader only once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidegate.connectors.registry import connector_of
from tidegate.connectors.shares import share_rows
from tidegate.engine.engine import Engine
from tidegate.plan.tables import Table
from tidegate.ports import Position, SourceChunk, SourcePlanner, SourceReader, SplitPlan, SplitRange
from tidegate.types import OFFSET

_NO_MALFORMED = pa.schema([("offset", pa.int64()), ("record", pa.binary())]).empty_table()


@dataclass(frozen=True, slots=True)
class Split:
    """A whole split in memory: good rows and malformed ones, both by offset. ``finished``: there
    will be no more."""

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


class MemorySource:
    """Implements `tidegate.simulator.local.Source`, and what it gives. A position is an offset."""

    def __init__(self, splits: Mapping[str, Split], chunk_rows: int = 65_536) -> None:
        self.whole = dict(splits)
        self._chunk_rows = chunk_rows

    def planner(self, available_now: bool) -> SourcePlanner:
        del available_now
        return self

    def reader(self) -> SourceReader:
        return self

    def splits(self, *, begun: bool = False) -> Sequence[str]:
        del begun
        return sorted(self.whole)

    def plan(self, start: Mapping[str, Position], rows_max: int | None) -> dict[str, SplitPlan]:
        left = {split: self.there(split, at) - row_of(at) for split, at in start.items()}
        taken = left if rows_max is None else self.share(left, rows_max)
        return {split: self._planned(split, at, taken[split]) for split, at in start.items()}

    def there(self, split: str, at: Position) -> int:
        """How many rows of ``split`` there are by now, for one who has read it up to ``at``."""
        del at
        return self.whole[split].rows

    def share(self, left: Mapping[str, int], rows_max: int) -> dict[str, int]:
        """How many rows each split gives to an epoch of ``rows_max``, of those it has ``left``."""
        return share_rows(rows_max, sorted(left), lambda split, rows: min(rows, left[split]))

    def _planned(self, split: str, at: Position, rows: int) -> SplitPlan:
        whole, end = self.whole[split], row_of(at) + rows
        ends = whole.finished and end == whole.rows
        at_end = not ends and end == self.there(split, end)
        return SplitPlan(end or None, ends, rows, at_end, known_end=whole.rows)

    def check_gone(self, split: str, position: Position) -> None:
        del split, position

    def waiting(self, start: Mapping[str, Position]) -> list[str]:
        return [split for split, at in start.items() if self.there(split, at) > row_of(at)]

    def unread(self, start: Mapping[str, Position]) -> list[str]:
        del start
        return []

    def read(self, ranges: Sequence[SplitRange]) -> Iterator[tuple[str, SourceChunk]]:
        readings = {
            wanted.split: self.whole[wanted.split].between(
                row_of(wanted.start), row_of(wanted.end), self._chunk_rows
            )
            for wanted in ranges
        }
        while readings:
            split = self.turn(sorted(readings))
            chunk = next(readings[split], None)
            if chunk is None:
                del readings[split]
            else:
                yield split, chunk

    def turn(self, splits: Sequence[str]) -> str:
        """Whose rows come next, of those that have any left."""
        return splits[0]

    def take_lost(self) -> dict[str, list[tuple[int, int]]]:
        return {}


def row_of(position: Position) -> int:
    """The offset at a position."""
    assert position is None or isinstance(position, int)
    return position or 0


def _with_hidden(data: pa.Table) -> pa.Table:
    data = data.append_column(OFFSET, pa.array([], pa.int64()))
    return data.append_column("__record", pa.array([], pa.binary()))
