"""Messages that are one value: format ``raw`` of Flink, for a table of one column.

Text is UTF-8, numbers have their width in bytes, big-endian; a BOOLEAN is one byte, 0 for false.
A message of another length is malformed, and one that is no UTF-8. NULL is written as NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.formats import lines
from tidegate.connectors.formats.json_format import Decoded
from tidegate.engine.engine import Engine
from tidegate.errors import OptionsError
from tidegate.types import Column, Schema

_NUMBERS: Final[Mapping[str, str]] = {
    "BOOLEAN": "u1",
    "TINYINT": "i1",
    "SMALLINT": ">i2",
    "INTEGER": ">i4",
    "BIGINT": ">i8",
    "FLOAT": ">f4",
    "DOUBLE": ">f8",
}
_BYTES: Final = ("VARCHAR", "BLOB")


def check(schema: Schema) -> Column:
    """The one column. Raises OptionsError when there are more, or its type has no form."""
    if len(schema) != 1:
        names = ", ".join(column.name for column in schema)
        raise OptionsError(
            f"format 'raw' is for one column, not for {len(schema)}" + f" ({names})" * bool(names),
            hint="declare one column, of type STRING or BYTES",
        )
    column = schema[0]
    if column.type not in (*_BYTES, *_NUMBERS):
        raise OptionsError(
            f"column '{column.name}' is {column.type}, which format 'raw' does not support",
            hint="declare it STRING, BYTES, BOOLEAN, an integer, FLOAT or DOUBLE",
        )
    return column


def decode(values: pa.Array, schema: Schema, engine: Engine) -> Decoded:
    """Decodes ``values`` (binary, none NULL). Raises OptionsError as `check`."""
    column = check(schema)
    if column.type == "VARCHAR":
        valid = lines.valid_utf8(values)
        good = np.ones(len(values), np.bool_) if valid is None else valid
        kept = values if valid is None else values.filter(pa.array(valid))
        data = lines.as_strings(kept)
    elif column.type == "BLOB":
        good, data = np.ones(len(values), np.bool_), values
    else:
        dtype = np.dtype(_NUMBERS[column.type])
        fits = pc.equal(pc.binary_length(values), dtype.itemsize)
        good = fits.to_numpy(zero_copy_only=False).astype(np.bool_)
        kept = values.filter(fits).cast(pa.binary(dtype.itemsize))
        numbers = np.frombuffer(kept.buffers()[1] or b"", dtype)[kept.offset :][: len(kept)]
        native = numbers.astype(np.bool_ if column.type == "BOOLEAN" else dtype.newbyteorder("="))
        data = pa.array(native)
    return Decoded(pa.table({column.name: data}, engine.arrow_schema(schema)), good)


def encode(data: pa.Table, schema: Schema, engine: Engine) -> pa.Array:
    """``data`` as one message a row (binary, NULL where NULL). Raises OptionsError as `check`."""
    column = check(schema)
    type_ = engine.arrow_schema(schema).field(0).type
    values = data.column(column.name).combine_chunks().cast(type_)
    if column.type in _BYTES:
        return values.cast(pa.binary())
    dtype = np.dtype(_NUMBERS[column.type])
    if column.type == "BOOLEAN":
        values = values.cast(pa.uint8())
    there = values.is_valid()
    zero = pa.scalar(0, values.type)
    numbers = values.fill_null(zero).to_numpy(zero_copy_only=False).astype(dtype)
    fixed = pa.Array.from_buffers(
        pa.binary(dtype.itemsize), len(values), [None, pa.py_buffer(np.ascontiguousarray(numbers))]
    )
    return pc.if_else(there, fixed.cast(pa.binary()), pa.scalar(None, pa.binary()))
