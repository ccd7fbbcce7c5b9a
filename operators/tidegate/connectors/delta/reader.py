"""Worker side of the `delta` source: rows of a version, and what later ones changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.delta.history import BATCH_ROWS, DELETED, KIND, History
from tidegate.connectors.delta.planner import Place, place_of
from tidegate.connectors.formats import parquet_format
from tidegate.engine.engine import Engine
from tidegate.errors import TrustError
from tidegate.plan.tables import ChangingTable, Table
from tidegate.ports import SourceChunk, SplitRange, source_chunk
from tidegate.types import OP, Op


class DeltaReader:
    """Implements `tidegate.ports.SourceReader`."""

    def __init__(self, table: Table, engine: Engine) -> None:
        self._table = table
        self._engine = engine
        self._history = History(table.name, table.option("path"))

    def read(self, ranges: Sequence[SplitRange]) -> Iterator[tuple[str, SourceChunk]]:
        for wanted in ranges:
            end = place_of(wanted.end)
            if end is None:
                continue
            start = place_of(wanted.start) or Place(end.id, end.base, end.base, 0)
            offset = wanted.first_offset
            for rows in self._rows(start, end):
                for chunk in self._chunks(rows, offset):
                    offset = chunk.next_offset
                    yield wanted.split, chunk

    def take_lost(self) -> dict[str, list[tuple[int, int]]]:
        return {}  # what is gone stops the job

    def _rows(self, start: Place, end: Place) -> Iterator[pa.Table]:
        if start.rows < end.rows:
            yield from self._history.snapshot(end.base, start.rows, end.rows)
        for version in range(start.version + 1, end.version + 1):
            changes = self._history.changes(version, self._engine)
            for first in range(0, changes.num_rows, BATCH_ROWS):
                yield changes.slice(first, BATCH_ROWS)

    def _chunks(self, rows: pa.Table, offset: int) -> Iterator[SourceChunk]:
        ops = self._ops(rows)
        names = [c.name for c in self._table.columns if c.name in rows.column_names]
        rows = rows.select(names or rows.column_names[:1])
        done = 0
        for part in parquet_format.decode(rows, self._table.columns, self._engine):
            data, good = part.decoded.data, part.decoded.good
            if isinstance(self._table, ChangingTable):
                own = ops[done : done + len(good)][good]
                data = data.append_column(OP, pa.array(own))
            done += len(good)
            chunk = source_chunk(part.records, data, good, offset)
            offset = chunk.next_offset
            yield chunk

    def _ops(self, rows: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
        """What happens to each row. Raises TrustError where one goes of a table that has no key."""
        ops = np.full(rows.num_rows, int(Op.UPDATE_AFTER), np.int8)
        if KIND not in rows.column_names:
            return ops
        kinds = rows.column(KIND)
        ops[pc.equal(kinds, DELETED).to_numpy()] = int(Op.DELETE)
        came = pc.all(pc.equal(kinds, "insert")).as_py()
        if not (came or isinstance(self._table, ChangingTable)):
            raise TrustError(
                f"rows of the Delta table '{self._table.option('path')}' are changed or taken out,"
                f" and nothing tells the rows of '{self._table.name}' apart",
                hint="declare PRIMARY KEY (…) NOT ENFORCED, and begin with a new checkpoint",
            )
        return ops
