"""Arrow arrays to Avro datums, a column at a time: every value becomes a binary, Arrow joins them.

The schema is the derived one (`connectors.avro.derive`) of the same types and unit: every value
stands behind the index of its branch, 0 for NULL and 1 else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.avro.cursor import Ints, Words
from tidegate.connectors.avro.derive import Unit

_NULL: Final = pa.scalar(b"\x00", pa.binary())
_THERE: Final = pa.scalar(b"\x02", pa.binary())
_END: Final = _NULL
_NOTHING: Final = pa.scalar(b"", pa.binary())
_MICROS: Final[Mapping[Unit, int]] = {"ms": 1000, "us": 1}


def write(columns: Sequence[pa.Array], unit: Unit) -> pa.Array:
    """The datums of the records with these fields (at least one), as binary."""
    return _joined([part for column in columns for part in _nullable(column, unit)])


def _joined(parts: list[Any]) -> pa.Array:
    return pc.binary_join_element_wise(*parts, _NOTHING)


def _nullable(values: pa.Array, unit: Unit) -> list[Any]:
    """The parts of the values with their branches, in their order."""
    if values.null_count == 0:
        return [_THERE, *_plain(values, unit)]
    there = values.is_valid()
    written = _joined([_THERE, *_plain(values.drop_null(), unit)])
    places = pc.subtract(pc.cumulative_sum(there.cast(pa.int64())), 1)
    places = pc.if_else(there, places, pa.scalar(None, pa.int64()))
    return [written.take(places).fill_null(_NULL)]


def _plain(values: pa.Array, unit: Unit) -> list[Any]:
    """The parts of the values of an array without NULLs; at least one is an array."""
    type_ = values.type
    if pa.types.is_struct(type_):
        return [part for child in values.flatten() for part in _nullable(child, unit)]
    if pa.types.is_map(type_):
        keys, items = _own(values, values.keys), _own(values, values.items)
        return _collection(values, _joined([*_plain(keys, unit), *_nullable(items, unit)]))
    if pa.types.is_list(type_):
        return _collection(values, _joined(_nullable(_own(values, values.values), unit)))
    for is_type, writer in _WRITERS:
        if is_type(type_):
            return writer(values, unit)
    raise AssertionError(f"{type_} has no writer")


def _own(values: Any, items: pa.Array) -> pa.Array:
    """Of the items that an array shares with others, those that are its own."""
    first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
    return items.slice(first, last - first)


def _collection(values: Any, written: pa.Array) -> list[Any]:
    """One block with its number of items, if there are any, and the end."""
    offsets = values.offsets.to_numpy()
    items = pa.ListArray.from_arrays(pa.array(offsets - offsets[0]), written)
    counts = np.diff(offsets.astype(np.int64))
    return [_varints(counts, np.sign(counts)), pc.binary_join(items, b""), _END]


def _varints(values: Ints, times: Any = 1) -> pa.Array:
    """Zigzag, seven bits in a byte; nothing where ``times`` is 0."""
    bits = ((values << 1) ^ (values >> 63)).view(np.uint64)
    sizes = np.maximum((_bit_length(bits) + 6) // 7, 1)
    places = np.arange(sizes.max(initial=1))
    data = (bits[:, None] >> (places * 7).astype(np.uint64)).astype(np.uint8) & 0x7F
    data[places < sizes[:, None] - 1] |= 0x80
    sizes = sizes * times
    return _binary(sizes, data[places < sizes[:, None]])


def _bit_length(words: Words) -> Ints:
    for shift in (1, 2, 4, 8, 16, 32):
        words = words | (words >> np.uint64(shift))
    return np.bitwise_count(words).astype(np.int64)


def _binary(sizes: Ints, data: Any) -> pa.Array:
    """``data`` cut into binaries of these sizes."""
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.binary(), len(sizes), buffers)


def _fixed(values: Any) -> pa.Array:
    return _binary(np.full(len(values), values.itemsize), values)


def _numbers(values: pa.Array) -> Any:
    return values.to_numpy(zero_copy_only=False)


def _booleans(values: pa.Array, _: Unit) -> list[pa.Array]:
    return [_fixed(_numbers(values.cast(pa.uint8())))]


def _integers(values: pa.Array, unit: Unit) -> list[pa.Array]:
    if pa.types.is_uint64(values.type):
        return _decimals(values.cast(pa.decimal128(20, 0)), unit)
    return [_varints(_numbers(values).astype(np.int64))]


def _floats(values: pa.Array, _: Unit) -> list[pa.Array]:
    return [_fixed(_numbers(values))]


def _blobs(values: pa.Array, _: Unit) -> list[pa.Array]:
    sizes = _numbers(pc.binary_length(values)).astype(np.int64)
    return [_varints(sizes), values.cast(pa.binary())]


def _days(values: pa.Array, _: Unit) -> list[pa.Array]:
    return [_varints(_numbers(values.view(pa.int32())).astype(np.int64))]


def _times(values: pa.Array, unit: Unit) -> list[pa.Array]:
    return [_varints(_numbers(values.view(pa.int64())) // _MICROS[unit])]


def _decimals(values: pa.Array, _: Unit) -> list[pa.Array]:
    """Two's complement, big-endian, without bytes that only repeat the sign."""
    stored = np.frombuffer(values.buffers()[1], np.uint8)[values.offset * 16 :]
    stored = stored[: len(values) * 16].reshape(-1, 16)
    words = stored.view(np.uint64)
    sign = (words[:, 1].view(np.int64) >> 63).view(np.uint64)
    low, high = words[:, 0] ^ sign, words[:, 1] ^ sign
    bits = np.where(high == 0, _bit_length(low), _bit_length(high) + 64)
    sizes = bits // 8 + 1
    used = np.arange(16, 0, -1) <= sizes[:, None]
    return [_varints(sizes), _binary(sizes, stored[:, ::-1][used])]


_Writer: TypeAlias = Callable[[Any, Unit], list[pa.Array]]
_WRITERS: Final[Sequence[tuple[Callable[[Any], bool], _Writer]]] = (
    (pa.types.is_boolean, _booleans),
    (pa.types.is_integer, _integers),
    (pa.types.is_floating, _floats),
    (pa.types.is_decimal, _decimals),
    (pa.types.is_string, _blobs),
    (pa.types.is_binary, _blobs),
    (pa.types.is_date32, _days),
    (pa.types.is_time64, _times),
    (pa.types.is_timestamp, _times),
)
