"""Parquet files: rows by row group, cast to the declared types (S2).

A column that a file lacks is NULL. A row with a value that does not cast to its declared type is
malformed, as it would be in json: nothing is rounded to an integer, infinity is no moment. The
record that the ledger keeps is the row as JSON (`tidegate.connectors.formats.parquet_record`).
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidegate.connectors.formats import parquet_seal, too_long
from tidegate.connectors.formats.json_format import Decoded
from tidegate.connectors.formats.json_shape import is_nested, kinds_of
from tidegate.connectors.formats.lines import all_malformed
from tidegate.connectors.formats.parquet_record import record_sql
from tidegate.connectors.formats.stored import cast_parts, prepared
from tidegate.connectors.formats.text_rules import is_text, stored_cast, stored_fits
from tidegate.connectors.formats.times import Misfit, either, rows_that_fit
from tidegate.engine.engine import Engine
from tidegate.errors import OptionsError, RunError, TrustError
from tidegate.plan.nodes import quoted
from tidegate.types import Schema

CHUNK_ROWS: Final = 65_536
_CHUNK_BYTES: Final = 16 << 20
"""Of what is decoded at once."""
_BATCH_BYTES: Final = 32 << 20
"""Of what is read at once, where rows are alike."""
_ROW_BYTES_MAX: Final = 256 << 20
"""Of a row on average: of longer ones none could be read alone."""
_ROWS_UNKNOWN: Final = 256
"""Read at once, where nothing tells how long values are that are stored by what they share."""
_VALUE_BYTES: Final = 8
"""Of a value at least: so many has a number when it is decoded, and a place in a dictionary."""
_TEXTS: Final = ("STRING", "NONE", "UNDEFINED")


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
    """Rows ``begin`` to ``stop`` (None: all) of an open file. Raises TrustError on a broken one.

    Only declared columns are read. What has any length stays a dictionary until it is decoded, and
    what is read and decoded at once is bounded: a file of a megabyte may have gigabytes. A row that
    is `too_long` is malformed.
    """
    try:
        # Without a coarser unit, years behind 2262 wrap around.
        plain = pq.ParquetFile(file, coerce_int96_timestamp_unit="us")
        there = plain.schema_arrow.names
        names = [c.name for c in schema if c.name in there] or there[:1]
        for name in names:
            if there.count(name) > 1:
                raise TrustError(
                    f"file '{path}' has {there.count(name)} columns called '{name}'",
                    hint="nothing says which is meant: write it anew with other names",
                )
        first = 0
        for group in range(plain.metadata.num_row_groups):
            rows = plain.metadata.row_group(group).num_rows
            low, high = max(begin - first, 0), rows if stop is None else min(stop - first, rows)
            first += rows
            if low < high:
                batches = _batches(plain, file, path, group, names)
                for batch in _joined(between(batches, low, high)):
                    yield from _decode_batch(batch, schema, engine)
    except (MemoryError, pa.ArrowMemoryError) as error:
        raise RunError(
            f"file '{path}' takes more memory than there is",
            detail=str(error),
            hint="give workers more, or fewer tasks at once (tidegate.parallelism); or write the"
            " file anew with smaller row groups and pages",
        ) from None
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from None


def _batches(plain: Any, file: Any, path: str, group: int, names: list[str]) -> Iterator[Any]:
    """A row group in as many rows at once as have `_BATCH_BYTES`, as far as it tells.

    Values with a dictionary may be much more than what is stored. They stay a dictionary, but where
    much is stored: Arrow would make one of a row group's values that have none, and keep it.
    """
    metadata, size, rows_max, repeated = plain.metadata.row_group(group), 0, CHUNK_ROWS, []
    for at in range(len(plain.schema)):
        stored, column = metadata.column(at), plain.schema.column(at)
        if not any(f"{column.path}.".startswith(f"{name}.") for name in names):
            continue
        # Of a list of nothing but one number, next to nothing is stored.
        width = max(column.length, _VALUE_BYTES)
        size += max(stored.total_uncompressed_size, stored.num_values * width)
        if stored.has_dictionary_page and column.physical_type == "BYTE_ARRAY":
            if stored.total_uncompressed_size > _BATCH_BYTES:
                rows_max = _ROWS_UNKNOWN
            elif column.logical_type.type in _TEXTS:
                repeated.append(column.path)
        elif "DELTA_BYTE_ARRAY" in stored.encodings:
            rows_max = _ROWS_UNKNOWN
    if size / metadata.num_rows > _ROW_BYTES_MAX:
        raise TrustError(
            f"file '{path}' has rows of {size // metadata.num_rows >> 20:,} MB, as its row group"
            f" {group} says, which are too large to be read",
            hint="write it anew without them, or declare fewer of its columns",
        )
    rows_max = max(1, min(rows_max, _BATCH_BYTES * metadata.num_rows // max(size, 1)))
    source = pq.ParquetFile(
        file,
        metadata=plain.metadata,
        read_dictionary=repeated,
        coerce_int96_timestamp_unit="us",
    )
    yield from source.iter_batches(rows_max, row_groups=[group], columns=names)


def between(batches: Iterable[Any], low: int, high: int) -> Iterator[Any]:
    """The rows ``low`` to ``high`` of ``batches``."""
    passed = 0
    for batch in batches:
        begin, end = max(low - passed, 0), min(high - passed, batch.num_rows)
        passed += batch.num_rows
        if begin < end:
            yield batch.slice(begin, end - begin)
        if passed >= high:
            return


def _joined(batches: Iterable[Any]) -> Iterator[Any]:
    """As one, what together is no more than is decoded at once: a call of the engine is dear."""
    held: list[Any] = []
    rows = size = 0
    for batch in batches:
        if held and (rows + batch.num_rows > CHUNK_ROWS or size + batch.nbytes > _CHUNK_BYTES):
            yield pa.concat_batches(held)
            held, rows, size = [], 0, 0
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
    if held:
        yield pa.concat_batches(held)


def _decode_batch(batch: Any, schema: Schema, engine: Engine) -> Iterator[Part]:
    """In pieces of no more than `_CHUNK_BYTES`, or of one row."""
    sizes = np.cumsum(sum(map(sizes_of, batch.columns), np.zeros(batch.num_rows, np.int64)))
    begin = before = 0
    while begin < batch.num_rows:
        end = max(begin + 1, int(np.searchsorted(sizes, before + _CHUNK_BYTES, "right")))
        size = int(sizes[end - 1]) - before
        if end == begin + 1 and size > too_long.RECORD_BYTES_MAX:
            record = pa.array([too_long.cut(b"", size)])
            yield Part(record, all_malformed(record, schema, engine))
        else:
            yield from decode(pa.table(batch.slice(begin, end - begin)), schema, engine)
        begin, before = end, int(sizes[end - 1])


def sizes_of(column: Any) -> npt.NDArray[np.int64]:
    """About how many bytes each value of ``column`` has when it is no dictionary any more."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        lengths = pc.binary_length(column.dictionary).take(column.indices)
    elif pa.types.is_list(kind) or pa.types.is_map(kind):
        places = column.offsets.to_numpy().astype(np.int64)
        values = column.values.slice(places[0], places[-1] - places[0])
        if pa.types.is_primitive(values.type):
            return _diff(places) * _VALUE_BYTES
        ends = np.concatenate(([0], np.cumsum(sizes_of(values))))
        return _diff(ends[places - places[0]])
    elif pa.types.is_struct(kind):
        return sum(map(sizes_of, column.flatten()), np.zeros(len(column), np.int64))
    elif pa.types.is_binary(kind) or is_text(kind):
        lengths = pc.binary_length(column)
    else:
        each = -(-column.nbytes // max(1, len(column)))
        return np.full(len(column), max(each, _VALUE_BYTES), np.int64)
    found: npt.NDArray[np.int64] = pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False)
    return found.astype(np.int64)


def _diff(places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return places[1:] - places[:-1]


def decode(table: pa.Table, schema: Schema, engine: Engine) -> Iterator[Part]:
    """The rows of a table that was read, as the declared columns, in their order."""
    try:
        yield _fitting(*prepared(table, schema), schema, engine)
    except duckdb.BinderException as error:
        raise OptionsError(
            f"the declared columns {table.column_names} cannot be read from the parquet file",
            detail=str(error).splitlines()[0],
            hint="declare them with the types that the file has",
        ) from error
    except duckdb.Error:
        # DuckDB fails on a value, which is in one of the halves.
        half = table.num_rows // 2
        if half:
            yield from decode(table.slice(0, half), schema, engine)
            yield from decode(table.slice(half), schema, engine)
        else:
            told = {name: str(table[name][0]) for name in table.column_names}
            record = json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")
            yield Part(pa.array([record]), all_malformed(pa.array([record]), schema, engine))


def _fitting(table: pa.Table, misfit: Misfit, schema: Schema, engine: Engine) -> Part:
    """What of ``table`` fits; ``misfit`` are rows that do not."""
    values, fits, parts = [], [], dict[int, Any]()
    for index, (column, kind) in enumerate(zip(schema, kinds_of(schema), strict=True)):
        if column.name not in table.column_names:
            values.append(f"CAST(NULL AS {column.type}) AS v{index}")
            continue
        name, given = quoted(column.name), table[column.name].type
        declared = duckdb.sqltype(column.type)
        if pa.types.is_nested(given) or is_nested(declared):
            values.append(f"NULL AS v{index}")
            stored = table[column.name].combine_chunks()
            parts[index], odd = cast_parts(stored, declared, engine)
            misfit = either([misfit, odd])
            continue
        value = stored_cast(column.type, name, given)
        values.append(f"{value} AS v{index}")
        fits.append(f"({name} IS NULL OR {stored_fits(kind, value, name, given)})")
    good_sql = " AND ".join(fits) or "true"
    result = engine.query(
        f"SELECT {record_sql(table, engine)} AS record, "
        f"coalesce({good_sql}, false) AS good, {', '.join(values)} FROM rows_",
        {"rows_": table},
    ).combine_chunks()
    good = result.column("good").combine_chunks().to_numpy(zero_copy_only=False).astype(np.bool_)
    if misfit is not None:
        good &= ~misfit
    columns = [column.combine_chunks() for column in result.columns[2:]]
    types = engine.arrow_schema(schema).types
    columns = [parts[at].cast(types[at]) if at in parts else c for at, c in enumerate(columns)]
    records = result.column("record").combine_chunks().cast(pa.binary())
    return Part(records, Decoded(*rows_that_fit(columns, good, schema, engine)))


def encode(data: pa.Table) -> bytes:
    """``data`` as one parquet file, in whose metadata is the SHA-256 of all of it (`intact`).

    Strings have a dictionary, and nothing else: of numbers and times zstd makes a quarter less
    without one, in two thirds of the time (25,000 rows of windows), and a BLOB is rarely repeated.
    """
    words = [field.name for field in data.schema if _is_word(field.type)]
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, data.schema, compression="zstd", use_dictionary=words) as writer:
        writer.write_table(data)
        writer.add_key_value_metadata({parquet_seal.KEY: parquet_seal.UNSEALED})
    return parquet_seal.seal(buffer.getvalue())


def _is_word(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
