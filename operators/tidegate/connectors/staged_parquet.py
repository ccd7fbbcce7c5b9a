"""Rows that wait for their epoch: Parquet files on the checkpoint's store, one for each writer.

For sinks whose committer puts an epoch's rows into place by itself, in one transaction: what it
needs is there when the epoch's entry is, and until it has been published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.connectors.formats import parquet_format
from tidegate.connectors.locations import open_location
from tidegate.connectors.staging import (
    is_file,
    make_directory,
    sink_errors,
    unique_token,
    write_durable,
)
from tidegate.errors import TrustError
from tidegate.plan.nodes import Table
from tidegate.ports import Stage, StagedFile, order_of
from tidegate.types import OP


class ParquetStager:
    """Implements `tidegate.ports.SinkWriter`: columns of the table, and `OP` if any."""

    def __init__(self, table: Table, stage: Stage) -> None:
        self._columns = [column.name for column in table.columns]
        self._filesystem, self._directory = open_location(stage.staging)
        name = f"{stage.epoch}-{stage.writer}-{unique_token()}"
        self._path = f"{self._directory}/{name}.parquet"
        self._writer = stage.writer
        self._parts: list[pa.Table] = []

    def write(self, data: pa.Table) -> None:
        if data.num_rows:
            more = [OP] if OP in data.column_names else []
            self._parts.append(data.select([*self._columns, *more]))

    def close(self) -> list[StagedFile]:
        if not self._parts:
            return []
        rows = pa.concat_tables(self._parts)
        content = parquet_format.encode(rows)
        with sink_errors("write to", self._directory):
            make_directory(self._filesystem, self._directory)
            write_durable(self._filesystem, self._path, content)
        order = order_of(self._writer, 0)
        return [StagedFile(self._path, order, rows.num_rows, len(content))]

    def abort(self) -> None:
        self._parts.clear()
        with suppress(OSError):  # what went wrong before says more
            if is_file(self._filesystem, self._path):
                self._filesystem.delete_file(self._path)


def staged_parts(filesystem: Any, paths: Sequence[str], what: str) -> Iterator[pa.Table]:
    """The rows of staged files, in order, in tables of at most 64 Ki rows.

    Raises TrustError when a file is gone; ``what`` names the table that it was for.
    """
    for path in paths:
        with sink_errors("read", path):
            try:
                with filesystem.open_input_file(path) as source:
                    for batch in pq.ParquetFile(source).iter_batches(parquet_format.CHUNK_ROWS):
                        yield pa.Table.from_batches([batch])
            except FileNotFoundError:
                raise TrustError(
                    f"a staged file of {what} is lost: '{path}'",
                    hint="something removed it: start the job again with a new checkpoint",
                ) from None


def delete_files(filesystem: Any, directory: str, paths: Sequence[str]) -> None:
    """Removes staged files that are published."""
    with sink_errors("clean", directory):
        for path in paths:
            if is_file(filesystem, path):
                filesystem.delete_file(path)
