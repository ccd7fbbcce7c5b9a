"""Values of one leaf of an Avro schema: bytes to an Arrow array of the declared type.

What fits as it is (`BIGINT` from a long, `TIMESTAMP` from timestamp-millis) never leaves numpy;
other pairs are cast by DuckDB, by the rules of json. Times count from the epoch in UTC, whatever
the session's time zone, and local ones too; what is finer than a microsecond is cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.avro.cursor import Bools, Cursor, Ints, Words, views
from tidegate.connectors.avro.schema import Leaf
from tidegate.connectors.avro.target import Target, fits, form_of
from tidegate.connectors.formats import lines
from tidegate.connectors.formats.json_shape import Kind
from tidegate.connectors.formats.text_rules import stored_cast, stored_fits
from tidegate.connectors.formats.times import MOMENT_MAX, MOMENT_MIN, read_times
from tidegate.engine.engine import Engine
from tidegate.types import Column

_DAY_MAX: Final = 2**31 - 2
_DAY_US: Final = 86_400_000_000
_TIMESTAMP: Final = pa.timestamp("us")
_SIGN: Final = np.uint64(63)


def skip_leaf(leaf: Leaf, cursor: Cursor) -> None:
    """Moves behind the values of ``leaf``; its bytes must be possible ones."""
    match leaf.form:
        case "null":
            pass
        case "int" | "long":
            _integers(leaf, cursor)
        case "enum":
            _symbols(leaf, cursor)
        case "bytes" | "string":
            cursor.span(cursor.varint())
        case "boolean":
            cursor.fail(cursor.byte() > 1)
        case "float":
            cursor.span(4)
        case "double":
            cursor.span(8)
        case "fixed":
            cursor.span(leaf.size)


def read_leaf(leaf: Leaf, target: Target, cursor: Cursor, engine: Engine) -> pa.Array:
    """The values of ``leaf`` as ``target``'s type; a row whose value does not fit becomes bad."""
    if leaf.form == "null":
        return pa.nulls(len(cursor), target.arrow)
    if not fits(leaf, target):
        skip_leaf(leaf, cursor)
        cursor.fail(np.ones(len(cursor), np.bool_))
        return pa.nulls(len(cursor), target.arrow)
    values = _READERS[form_of(leaf)](leaf, target, cursor)
    if values.type == target.arrow and _is_whole(target):
        return values
    return _cast(values, target, cursor, engine)


def _is_whole(target: Target) -> bool:
    """Whether the Arrow type says all of the declared type (a JSON or a UUID is a string too)."""
    return target.kind is not Kind.OTHER or target.type == "BLOB"


def _booleans(_: Leaf, __: Target, cursor: Cursor) -> pa.Array:
    values = cursor.byte()
    cursor.fail(values > 1)
    return pa.array(values != 0)


def _integers(leaf: Leaf, cursor: Cursor) -> Ints:
    values = cursor.varint()
    if leaf.form == "int":
        cursor.fail((values < -(2**31)) | (values >= 2**31))
    return values


def _whole_numbers(leaf: Leaf, target: Target, cursor: Cursor) -> pa.Array:
    """Of the target's width if that is an integer's."""
    values = _integers(leaf, cursor)
    if not pa.types.is_integer(target.arrow):
        return pa.array(values)
    dtype = target.arrow.to_pandas_dtype()
    limits = np.iinfo(dtype)
    cursor.fail((values < max(limits.min, -(2**63))) | (values > min(limits.max, 2**63 - 1)))
    return pa.array(values.astype(dtype))


def _floats(leaf: Leaf, target: Target, cursor: Cursor) -> pa.Array:
    values = pa.array(cursor.number("<f4" if leaf.form == "float" else "<f8"))
    return values.cast(pa.float64()) if target.type == "DOUBLE" else values


def _symbols(leaf: Leaf, cursor: Cursor) -> Ints:
    indices = cursor.varint()
    wrong = (indices < 0) | (indices >= len(leaf.symbols))
    if wrong.any():
        cursor.fail(wrong)
        indices[wrong] = 0
    return indices


def _enums(leaf: Leaf, _: Target, cursor: Cursor) -> pa.Array:
    return pa.array(leaf.symbols, pa.string()).take(pa.array(_symbols(leaf, cursor)))


def _days(leaf: Leaf, _: Target, cursor: Cursor) -> pa.Array:
    days = _integers(leaf, cursor)
    cursor.fail(np.abs(days) > _DAY_MAX)
    return pa.array(days.astype(np.int32)).view(pa.date32())


def _times(leaf: Leaf, _: Target, cursor: Cursor) -> pa.Array:
    values = _integers(leaf, cursor)
    unit = 1000 if leaf.logical.endswith("millis") else 1
    cursor.fail((values < 0) | (values >= _DAY_US // unit))
    return pa.array(values * unit).view(pa.time64("us"))


def _moments(leaf: Leaf, target: Target, cursor: Cursor) -> pa.Array:
    values = _integers(leaf, cursor)
    if leaf.logical.endswith("nanos"):
        micros = values // 1000
    else:
        unit = 1000 if leaf.logical.endswith("millis") else 1
        cursor.fail((values < -(-MOMENT_MIN // unit)) | (values > MOMENT_MAX // unit))
        micros = values * unit
    return pa.array(micros).view(
        target.arrow if pa.types.is_timestamp(target.arrow) else _TIMESTAMP
    )


def _bytes(leaf: Leaf, target: Target, cursor: Cursor) -> pa.Array:
    blobs = _blobs(cursor, leaf.size if leaf.form == "fixed" else cursor.varint())
    return blobs if target.type == "BLOB" else _texts(blobs, cursor)


def _blobs(cursor: Cursor, size: Any) -> pa.Array:
    """The next ``size`` bytes of each row."""
    start, size = cursor.span(size)
    sizes = np.broadcast_to(np.asarray(size, np.int64), start.shape)
    datums = cursor.datums
    buffers = [None, pa.py_buffer(views(datums, start, sizes)), pa.py_buffer(datums.data)]
    return pa.Array.from_buffers(pa.binary_view(), len(start), buffers).cast(pa.binary())


def _texts(blobs: pa.Array, cursor: Cursor) -> pa.Array:
    valid = lines.valid_utf8(blobs)
    if valid is not None:
        cursor.fail(~valid)
        blobs = pc.if_else(pa.array(valid), blobs, b"")
    return lines.as_strings(blobs)


def _decimals(leaf: Leaf, target: Target, cursor: Cursor) -> pa.Array:
    """Two's complement, big-endian, of any length; as the target's DECIMAL if the scale is its."""
    start, size = cursor.span(leaf.size if leaf.form == "fixed" else cursor.varint())
    sizes = np.broadcast_to(np.asarray(size, np.int64), start.shape)
    high, low = _words(start, sizes, cursor)
    type_ = pa.decimal128(38, leaf.scale)
    if pa.types.is_decimal(target.arrow) and target.arrow.scale == leaf.scale:
        type_ = target.arrow
    wide = _wide(high, low, 10**type_.precision)
    cursor.fail(wide | (sizes == 0))
    words = np.stack([low, high], axis=1)
    words[wide] = 0
    return pa.Array.from_buffers(type_, len(start), [None, pa.py_buffer(words)])


def _words(start: Ints, sizes: Ints, cursor: Cursor) -> tuple[Words, Words]:
    """High and low 64 bits of the numbers; one of more than 128 bits makes its row bad."""
    datums = cursor.datums
    if (sizes > 16).any():
        start, sizes = _shortened(start, sizes, cursor)
    big = datums.view(">u8")
    first, second = big[start].astype(np.uint64), big[start + 8].astype(np.uint64)
    signed = first.view(np.int64)
    sign = (signed >> 63).view(np.uint64)
    short = np.clip((8 - sizes) * 8, 0, 63)  # of at most 8 bytes: shifted down within one word
    low = (signed >> short).view(np.uint64)
    high = sign
    long = sizes > 8
    if long.any():
        up = np.clip((sizes - 8) * 8, 0, 64).astype(np.uint64)
        down = np.clip((16 - sizes) * 8, 0, 63).astype(np.int64)
        below = np.where(down == 0, second, second >> down.astype(np.uint64))
        above = np.where(up == 64, 0, first << (up & _SIGN))
        low = np.where(long, above | below, low)
        high = np.where(long, (signed >> down).view(np.uint64), high)
    empty = sizes == 0
    return np.where(empty, 0, high), np.where(empty, 0, low)


def _shortened(start: Ints, sizes: Ints, cursor: Cursor) -> tuple[Ints, Ints]:
    """The last 16 bytes of longer numbers, if the bytes before them only repeat the sign."""
    data, wrong = cursor.datums.data, np.zeros(len(start), np.bool_)
    for row in np.flatnonzero(sizes > 16):
        cut = int(start[row] + sizes[row] - 16)
        fill = 0xFF if data[cut] >= 0x80 else 0
        wrong[row] = bool((data[start[row] : cut] != fill).any())
    cursor.fail(wrong)
    long = (sizes > 16) & ~wrong
    sizes = np.where(wrong, 0, sizes)
    return np.where(long, start + sizes - 16, start), np.where(long, 16, sizes)


def _wide(high: Words, low: Words, limit: int) -> Bools:
    """Whether the absolute value is at least ``limit``."""
    negative = high >> _SIGN != 0
    above = np.where(negative, ~high + (low == 0), high)
    below = np.where(negative, ~low + np.uint64(1), low)
    limit_above, limit_below = np.uint64(limit >> 64), np.uint64(limit & (2**64 - 1))
    found: Bools = (above > limit_above) | ((above == limit_above) & (below >= limit_below))
    return found


def _cast(values: pa.Array, target: Target, cursor: Cursor, engine: Engine) -> pa.Array:
    """``values`` cast by DuckDB; rows whose value does not fit become bad."""
    assert target.kind is not None
    value = stored_cast(target.type, "v", values.type)
    fitting = stored_fits(target.kind, value, "v", values.type)
    sql = f"SELECT {value} AS v, coalesce({fitting}, false) AS good FROM leaf"
    result = engine.query(sql, {"leaf": pa.table({"v": values})}).combine_chunks()
    good = result.column("good").combine_chunks()
    cursor.fail(~good.to_numpy(zero_copy_only=False).astype(np.bool_))
    (read,), misfit = read_times(
        [result.column("v").combine_chunks()], (Column("v", target.type),), engine
    )
    if misfit is not None:
        cursor.fail(misfit)
    return read


_READERS: Final[Mapping[str, Callable[[Leaf, Target, Cursor], pa.Array]]] = {
    "boolean": _booleans,
    "int": _whole_numbers,
    "long": _whole_numbers,
    "float": _floats,
    "double": _floats,
    "decimal": _decimals,
    "string": _bytes,
    "bytes": _bytes,
    "fixed": _bytes,
    "enum": _enums,
    "date": _days,
    "time": _times,
    "timestamp": _moments,
}
