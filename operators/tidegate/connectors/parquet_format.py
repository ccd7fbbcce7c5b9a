"""Parquet files: rows by row group, cast to the declared types (S2).

A column that a file lacks is NULL. A row with a value that does not cast to its declared type is
malformed. The record that the ledger keeps is the row as JSON, with all columns of the file.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.connectors.json_format import Decoded
from tidegate.errors import TrustError
from tidegate.executor.engine import Engine
from tidegate.plan.nodes import quoted
from tidegate.types import Column, Schema

CHUNK_ROWS: Final = 65_536


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of a file: their records (JSON, binary) and what they decode to."""

    records: pa.Array
    decoded: Decoded


def unreadable(path: str, error: Exception) -> TrustError:
    """The error for a file that is no parquet, or a broken one."""
    return TrustError(
        f"file '{path}' is not readable as parquet",
        detail=str(error).splitlines()[0] if str(error) else "",
        hint="remove or replace it; files must be complete when they appear",
    )


def read(
    file: Any, path: str, begin: int, stop: int | None, schema: Schema, engine: Engine
) -> Iterator[Part]:
    """Rows ``begin`` to ``stop`` (None: all) of an open file. Raises TrustError on a broken one."""
    try:
        source = pq.ParquetFile(file)
        first = 0
        for group in range(source.metadata.num_row_groups):
            rows = source.metadata.row_group(group).num_rows
            low, high = max(begin - first, 0), rows if stop is None else min(stop - first, rows)
            first += rows
            if low < high:
                table = source.read_row_group(group).slice(low, high - low)
                for start in range(0, table.num_rows, CHUNK_ROWS):
                    yield _decode(table.slice(start, CHUNK_ROWS), schema, engine)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from None


def _decode(table: pa.Table, schema: Schema, engine: Engine) -> Part:
    there = set(table.column_names)
    values, fits = [], []
    for index, column in enumerate(schema):
        if column.name not in there:
            values.append(f"CAST(NULL AS {column.type}) AS v{index}")
            continue
        name = quoted(column.name)
        values.append(f"TRY_CAST({name} AS {column.type}) AS v{index}")
        cast = f"TRY_CAST({name} AS {column.type})"
        whole = (
            f" AND {cast} = {name}" if _rounds(table.schema.field(column.name).type, column) else ""
        )
        fits.append(f"({name} IS NULL OR {cast} IS NOT NULL{whole})")
    good_sql = " AND ".join(fits) or "true"
    result = engine.query(
        f"SELECT CAST(to_json(input) AS VARCHAR) AS record, {good_sql} AS good, "
        f"{', '.join(values)} FROM input",
        {"input": table},
    ).combine_chunks()
    good = result.column("good").combine_chunks()
    names = [column.name for column in schema]
    data = pa.Table.from_arrays([c.filter(good) for c in result.columns[2:]], names=names)
    records = result.column("record").combine_chunks().cast(pa.binary())
    return Part(records, Decoded(data, good.to_numpy(zero_copy_only=False).astype(np.bool_)))


def _rounds(stored: pa.DataType, column: Column) -> bool:
    """Whether a cast would round instead of failing: 1.5 is no integer."""
    fractional = pa.types.is_floating(stored) or pa.types.is_decimal(stored)
    return fractional and column.type.endswith(("INT", "INTEGER"))


def encode(data: pa.Table) -> bytes:
    """``data`` as one parquet file."""
    buffer = io.BytesIO()
    pq.write_table(data, buffer, compression="zstd")
    return buffer.getvalue()
