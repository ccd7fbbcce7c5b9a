"""Rows that wait for their epoch as Parquet files on the checkpoint's store.

For sinks whose committer puts an epoch's rows into place by itself, in one transaction: what it
needs is there when the epoch's entry is, and until it has been published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.connectors.formats import parquet_format
from tidegate.connectors.staging import Stager, Staging, read_staged, removed, sink_errors
from tidegate.ports import StagedFile
from tidegate.types import OP


class ParquetStager(Stager):
    """Stages the columns of the table, and `OP` if any."""

    name = "{}.parquet"

    def _encoded(self, parts: Sequence[pa.Table]) -> bytes:
        rows = pa.concat_tables(parts)
        more = [OP] if OP in rows.column_names else []
        return parquet_format.encode(rows.select([*(c.name for c in self._columns), *more]))


def staged_parts(staging: Staging, files: Sequence[StagedFile], what: str) -> Iterator[pa.Table]:
    """The rows of staged files, in order, in tables of at most 64 Ki rows.

    Raises TrustError when a file is gone or was changed; ``what`` names the table that it was for.
    """
    for file in files:
        with sink_errors("read", file.path):
            try:
                source = pa.BufferReader(read_staged(staging.filesystem, file))
            except FileNotFoundError:
                raise removed(f"a staged file of {what} is lost: '{file.path}'") from None
            for batch in pq.ParquetFile(source).iter_batches(parquet_format.CHUNK_ROWS):
                yield pa.Table.from_batches([batch])
