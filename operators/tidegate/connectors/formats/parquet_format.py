"""Parquet files: rows by row group, cast to the declared types (S2).

A column that a file lacks is NULL. A row with a value that does not cast to its declared type is
malformed, as it would be in json: nothing is rounded to an integer, infinity is no moment. The
record that the ledger keeps is the row as JSON, with the declared columns that the file has.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.connectors.formats.json_format import Decoded
from tidegate.connectors.formats.json_shape import kinds_of
from tidegate.connectors.formats.text_rules import stored_cast, stored_fits
from tidegate.connectors.formats.times import rows_that_fit
from tidegate.engine.engine import Engine
from tidegate.errors import OptionsError, TrustError
from tidegate.plan.nodes import quoted
from tidegate.types import Schema

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


def _decode(stored: pa.Table, schema: Schema, engine: Engine) -> Part:
    # Only declared columns are looked at: others may have types that the engine does not know.
    table = stored.select([c.name for c in schema if c.name in stored.column_names])
    values, fits = [], []
    for index, (column, kind) in enumerate(zip(schema, kinds_of(schema), strict=True)):
        if column.name not in table.column_names:
            values.append(f"CAST(NULL AS {column.type}) AS v{index}")
            continue
        name, stored = quoted(column.name), table[column.name].type
        value = stored_cast(column.type, name, stored)
        values.append(f"{value} AS v{index}")
        fits.append(f"({name} IS NULL OR {stored_fits(kind, value, name, stored)})")
    good_sql = " AND ".join(fits) or "true"
    try:
        result = engine.query(
            f"SELECT CAST(to_json(rows_) AS VARCHAR) AS record, "
            f"coalesce({good_sql}, false) AS good, {', '.join(values)} FROM rows_",
            {"rows_": table},
        ).combine_chunks()
    except duckdb.Error as error:
        raise OptionsError(
            f"the declared columns {table.column_names} cannot be read from the parquet file",
            detail=str(error).splitlines()[0],
            hint="declare them with the types that the file has",
        ) from error
    good = result.column("good").combine_chunks().to_numpy(zero_copy_only=False).astype(np.bool_)
    columns = [column.combine_chunks() for column in result.columns[2:]]
    records = result.column("record").combine_chunks().cast(pa.binary())
    return Part(records, Decoded(*rows_that_fit(columns, good, schema, engine)))


def encode(data: pa.Table) -> bytes:
    """``data`` as one parquet file.

    Strings have a dictionary, and nothing else: of numbers and times zstd makes a quarter less
    without one, in two thirds of the time (25,000 rows of windows), and a BLOB is rarely repeated.
    """
    words = [field.name for field in data.schema if _is_word(field.type)]
    buffer = io.BytesIO()
    pq.write_table(data, buffer, compression="zstd", use_dictionary=words)
    return buffer.getvalue()


def _is_word(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
