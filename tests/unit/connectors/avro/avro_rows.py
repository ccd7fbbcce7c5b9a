"""What `read` makes of datums, as plain Python values to compare with `avro_kit.reference`."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from tidegate.connectors.avro.cursor import PADDING, Datums
from tidegate.connectors.avro.read import read
from tidegate.connectors.avro.schema import parse
from tidegate.connectors.avro.target import target_of
from tidegate.engine.engine import Engine
from tidegate.types import Column, Schema
from unit.connectors.avro.avro_kit import reference, same

ENGINE = Engine()


def decode_all(datums: list[bytes], writer: Any, schema: Schema) -> list[dict[str, Any] | None]:
    """What `read` makes of datums, in one piece."""
    lengths = [len(datum) for datum in datums]
    offsets = [sum(lengths[:index]) for index in range(len(datums) + 1)]
    data = pa.array([b"".join(datums) + bytes(PADDING)], pa.binary())
    found = Datums(np.frombuffer(data[0].as_py(), np.uint8), np.array(offsets, np.int64))
    cursor = found.cursor()
    rows = read(parse(json.dumps(writer)), target_of(schema, ENGINE), cursor, ENGINE)
    cursor.finish()
    assert rows.type == pa.struct(list(ENGINE.arrow_schema(schema)))
    rows.filter(pa.array(~found.bad)).validate(full=True)
    return [
        None if bad else row for row, bad in zip(values_of(rows), found.bad.tolist(), strict=True)
    ]


def rows_of(
    datums: list[bytes], writer: Any, *columns: tuple[str, str]
) -> list[dict[str, Any] | None]:
    """`decode_all` and `reference`, which must agree, of columns (name, type)."""
    schema = tuple(Column(*column) for column in columns)
    rows = decode_all(datums, writer, schema)
    assert same(rows, [reference(datum, writer, schema) for datum in datums])
    return rows


def values_of(array: Any) -> list[Any]:
    """An Arrow array in plain Python: moments as microseconds, dates as days."""
    type_ = array.type
    if pa.types.is_struct(type_):
        children = [values_of(child) for child in array.flatten()]
        names = [field.name for field in type_]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*children, strict=True)]
        return _where_valid(array, rows)
    if pa.types.is_map(type_):
        keys, items_ = values_of(array.keys), values_of(array.items)
        bounds = array.offsets.to_pylist()
        maps = [dict(zip(keys[a:b], items_[a:b], strict=True)) for a, b in pairwise(bounds)]
        return _where_valid(array, maps)
    if pa.types.is_list(type_):
        inner, bounds = values_of(array.values), array.offsets.to_pylist()
        return _where_valid(array, [inner[a:b] for a, b in pairwise(bounds)])
    if pa.types.is_date32(type_):
        return list(array.view(pa.int32()).to_pylist())
    if pa.types.is_timestamp(type_) or pa.types.is_time64(type_):
        return list(array.view(pa.int64()).to_pylist())
    return list(array.to_pylist())


def _where_valid(array: Any, rows: list[Any]) -> list[Any]:
    valid = array.is_valid().to_pylist()
    return [row if there else None for row, there in zip(rows, valid, strict=True)]
