"""Arrow columns as 64-bit event times and back, and rows for the ledger (S7, S12).

Event time is an int64 in the column's unit; every operator that looks at it works on numpy arrays
of it. The ways there and back are zero-copy for the types that are 64-bit integers underneath:

    TIMESTAMP, TIMESTAMPTZ  timestamp[us]    the integer itself, microseconds
    BIGINT                  int64            the integer itself
    DECIMAL(p<=18, s)       decimal128       the low word of the unscaled 128-bit integer

A NULL has no time; its place in the integer array is undefined and masked by the validity array.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.types import HIDDEN_PREFIX, LEDGER_SCHEMA, OFFSET, OP, RECORD, Op

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1


def is_hidden(name: str) -> bool:
    """Whether the engine carries the column for itself."""
    return name.startswith(HIDDEN_PREFIX)


def hidden_columns(data: pa.Table) -> list[str]:
    """The hidden columns of ``data``, in its order."""
    return [name for name in data.column_names if is_hidden(name)]


def puts(data: pa.Table) -> Bools:
    """Which rows of ``data``, of a changing table (S13), put a row; the others have no time."""
    found: Bools = data.column(OP).to_numpy() == int(Op.UPDATE_AFTER)
    return found


def single_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """``column`` as one array; copies only where it has several chunks."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return column.chunk(0)
        return pa.concat_arrays(column.chunks) if column.num_chunks else column.combine_chunks()
    return column


def event_times(column: pa.ChunkedArray | pa.Array) -> tuple[Int64s, Bools]:
    """The event times of ``column``, and which of them are there (not NULL)."""
    array = single_array(column)
    valid = (
        np.ones(len(array), dtype=np.bool_)
        if array.null_count == 0
        else array.is_valid().to_numpy(zero_copy_only=False)
    )
    kind = array.type
    if len(array) == 0:
        return np.empty(0, dtype=np.int64), valid
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        array = array.cast(pa.decimal128(kind.precision, kind.scale))
        kind = array.type
    if pa.types.is_decimal128(kind):
        words = np.frombuffer(array.buffers()[1], dtype=np.int64)
        return words[2 * array.offset : 2 * (array.offset + len(array)) : 2], valid
    if pa.types.is_timestamp(kind) and kind.unit != "us":
        array = array.cast(pa.timestamp("us", kind.tz), safe=False)
    elif pa.types.is_integer(kind) and kind != pa.int64():
        array = array.cast(pa.int64())
    elif not (pa.types.is_timestamp(kind) or kind == pa.int64()):
        raise TypeError(f"{kind} carries no event time")
    values = np.frombuffer(array.buffers()[1], dtype=np.int64)
    return values[array.offset : array.offset + len(array)], valid


def times_column(values: Int64s, valid: Bools, kind: pa.DataType) -> pa.Array:
    """The inverse of `event_times`: event times as an Arrow array of ``kind``."""
    mask = None if valid.all() else ~valid
    numbers = pa.array(values, type=pa.int64(), mask=mask)
    if pa.types.is_decimal128(kind):
        words = np.empty((len(values), 2), dtype=np.int64)
        words[:, 0] = values
        words[:, 1] = values >> 63  # the sign fills the high word
        return pa.Array.from_buffers(
            kind, len(values), [numbers.buffers()[0], pa.py_buffer(words.tobytes())]
        )
    if pa.types.is_timestamp(kind):
        return numbers.view(pa.timestamp("us", kind.tz))
    return numbers


def saturating_difference(left: Int64s, right: Int64s) -> Int64s:
    """``left - right``, held at the ends of int64 instead of wrapping around."""
    difference = left - right
    wrapped = ((left ^ right) & (left ^ difference)) < 0
    return np.where(wrapped, np.where(left < 0, INT64_MIN, INT64_MAX), difference)


def moved(times: Int64s, by: int) -> Int64s:
    """``times + by``, held at the ends of int64."""
    by = max(-(2**64), min(2**64, by))  # no time is further from another
    if not INT64_MIN <= by <= INT64_MAX:
        return moved(moved(times, by // 2), by - by // 2)
    if by >= 0:
        return np.minimum(times, INT64_MAX - by) + by
    return np.maximum(times, INT64_MIN - by) + by


def ledger_rows(
    rows: pa.Table,
    *,
    account: str,
    table: str,
    split: str,
    operator: str,
    reasons: pa.Array | str,
    **judged: pa.Array | pa.Scalar | str | None,
) -> pa.Table:
    """``rows`` (of a source chunk: `OFFSET`, `RECORD`) as rows of the ledger.

    ``judged`` are event_time, watermark, lateness and time_type where they are known.
    """
    count = rows.num_rows
    given: dict[str, object] = {
        "account": account,
        "table": table,
        "split": split,
        "operator": operator,
        "reason": reasons,
        "offset": rows.column(OFFSET) if OFFSET in rows.column_names else None,
        "record": rows.column(RECORD) if RECORD in rows.column_names else None,
        **judged,
    }
    return pa.table(
        [_filled(given.get(field.name), field.type, count) for field in LEDGER_SCHEMA],
        schema=LEDGER_SCHEMA,
    )


def _filled(value: object, kind: pa.DataType, count: int) -> pa.Array | pa.ChunkedArray:
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return value if value.type == kind else pc.cast(value, kind)
    if pa.types.is_dictionary(kind):
        words = pa.array([] if value is None else [value], kind.value_type)
        place = pa.scalar(None if value is None else 0, kind.index_type)
        return pa.DictionaryArray.from_arrays(pa.repeat(place, count), words)
    return pa.repeat(pa.scalar(value, type=kind), count)
