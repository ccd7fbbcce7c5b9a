"""Columns of parquet as DuckDB reads them right: what it would read otherwise, or fail on (S15).

- Times are in microseconds, finer ones cut off, as in a text. One that DuckDB cannot hold fails for
  all rows that it is asked with: it becomes the infinity of its sign, and its row misfits.
- Texts, and bytes that are declared as text, are UTF-8, or misfit: DuckDB takes any bytes for a
  text, and makes ``\\xC3\\xA9`` of ``é`` in bytes. A text declared as bytes is its UTF-8.
- Decimals of more digits than DuckDB has, and fractions of 16 bits, which it does not know, are
  read as what has room for them.
- What is in lists, maps and structs is cast part by part: DuckDB makes NULL of one that misfits.
  A text becomes one of these as JSON, and one of these a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.formats.json_encode import value_text
from tidegate.connectors.formats.json_format import decode_texts
from tidegate.connectors.formats.json_shape import Kind, is_nested, kinds_of
from tidegate.connectors.formats.json_texts import repeated
from tidegate.connectors.formats.lines import as_strings, valid_utf8
from tidegate.connectors.formats.text_rules import is_text, stored_cast, stored_fits
from tidegate.connectors.formats.times import (
    MOMENT_MAX,
    MOMENT_MIN,
    Misfit,
    either,
    map_of,
    read_times,
    rows_of,
)
from tidegate.engine.engine import Engine
from tidegate.types import Column, Schema

_DIGITS_MAX: Final = 38
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_INFINITE: Final = {32: 2**31 - 1, 64: 2**63 - 1}
"""What DuckDB has for the infinite date and timestamp, by the bits of their numbers. (A scalar of
Arrow is no constant of a module: the first one loads pandas, half a second.)"""


def prepared(table: pa.Table, schema: Schema) -> tuple[pa.Table, Misfit]:
    """``table`` for a cast to the declared types, and the rows that have a value which misfits."""
    types = {column.name: duckdb.sqltype(column.type) for column in schema}
    found = [
        _prepared(_unsliced(column.combine_chunks()), types.get(name))
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    columns = [column for column, _ in found]
    return pa.table(columns, names=table.column_names), either(misfit for _, misfit in found)


def _unsliced(column: Any) -> Any:
    """Arrow makes no list with a mask from a part of another's offsets."""
    if column.offset and pa.types.is_nested(column.type):
        return column.take(pa.array(np.arange(len(column))))
    return column


def _prepared(column: Any, type_: Any) -> tuple[Any, Misfit]:
    """``type_``: the declared one as DuckDB's, None where none is."""
    kind = column.type
    if pa.types.is_struct(kind):
        names = [kind.field(at).name for at in range(kind.num_fields)]
        declared = _children(type_, "struct")
        found = [
            _prepared(part, declared.get(name))
            for name, part in zip(names, column.flatten(), strict=True)
        ]
        parts = [part for part, _ in found]
        whole = pa.StructArray.from_arrays(parts, names, mask=column.is_null())
        return whole, either(misfit for _, misfit in found)
    if pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _prepared(column.cast(pa.list_(kind.value_type)), type_)
    if pa.types.is_list(kind):
        values, misfit = _prepared(column.values, _children(type_, "list").get("child"))
        lists = pa.ListArray.from_arrays(column.offsets, values, mask=column.is_null())
        return lists, rows_of(column.offsets, misfit)
    if pa.types.is_map(kind):
        declared = _children(type_, "map")
        keys, odd_keys = _prepared(column.keys, declared.get("key"))
        items, odd_items = _prepared(column.items, declared.get("value"))
        return map_of(column, keys, items, either([odd_keys, odd_items]))
    if pa.types.is_dictionary(kind):
        values, odd = _prepared(column.dictionary, type_)
        whole = pa.DictionaryArray.from_arrays(column.indices, values)
        if odd is None:
            return whole, None
        misfit = pc.fill_null(pa.array(odd).take(column.indices), False)
        return whole, misfit.to_numpy(zero_copy_only=False).astype(np.bool_)
    if pa.types.is_decimal256(kind):
        return _wide(column, type_)
    if pa.types.is_float16(kind):
        return column.cast(pa.float32()), None
    if is_text(kind) and type_ is not None and type_.id == "blob":
        return column.cast(pa.binary()), None
    if is_text(kind) or (is_bytes(kind) and type_ is not None and type_.id == "varchar"):
        return _text(column)
    if pa.types.is_date32(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        return _moments(column)
    return column, None


def _children(type_: Any, wanted: str) -> Mapping[str, Any]:
    return dict(type_.children) if type_ is not None and type_.id == wanted else {}


def is_bytes(kind: pa.DataType) -> bool:
    """Whether it is bytes of any form."""
    found = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(of(kind) for of in found)


def _text(column: Any) -> tuple[Any, Misfit]:
    """One that is no UTF-8 has signs for what is none, so that the ledger tells."""
    data = column.cast(pa.binary())
    valid = valid_utf8(data)
    if valid is None:
        return as_strings(data), None
    odd = pa.array(~valid)
    told = [text.decode("utf-8", "replace").encode() for text in data.filter(odd).to_pylist()]
    return as_strings(pc.replace_with_mask(data, odd, pa.array(told, pa.binary()))), ~valid


def _wide(column: Any, type_: Any) -> tuple[Any, Misfit]:
    """Decimals of up to 76 digits: of 38 where they all are, else texts, which are judged alike."""
    scale = column.type.scale
    if scale <= _DIGITS_MAX:
        try:
            return column.cast(pa.decimal128(_DIGITS_MAX, scale)), None
        except pa.ArrowInvalid:
            pass
    found = [None if value is None else f"{value:f}" for value in column.to_pylist()]
    texts = pa.array(found, pa.string())
    kind = None if type_ is None else kinds_of((Column("v", str(type_)),))[0]
    if kind is Kind.INTEGER:
        texts = pc.replace_substring_regex(texts, r"\.0*$", "")
    fits = kind in (None, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE, Kind.TEXT)
    return texts, None if fits else texts.is_valid().to_numpy(zero_copy_only=False)


def cast_parts(column: Any, type_: Any, engine: Engine) -> tuple[Any, Misfit]:
    """A `prepared` list, map or struct, or what is declared as one, as the declared ``type_`` of
    DuckDB, and the rows with a part that does not fit. Fields of structs are found by name."""
    kind, absent = column.type, column.is_null()
    if type_.id == "struct" and pa.types.is_struct(kind):
        parts = column.flatten()
        given = {kind.field(at).name: part for at, part in enumerate(parts)}
        none = pa.nulls(len(column))
        found = [cast_parts(given.get(name, none), part, engine) for name, part in type_.children]
        names = [name for name, _ in type_.children]
        whole = pa.StructArray.from_arrays([part for part, _ in found], names, mask=absent)
        return whole, either(misfit for _, misfit in found)
    if type_.id == "list" and pa.types.is_list(kind):
        values, misfit = cast_parts(column.values, type_.children[0][1], engine)
        lists = pa.ListArray.from_arrays(column.offsets, values, mask=absent)
        return lists, rows_of(column.offsets, misfit)
    if type_.id == "map" and pa.types.is_map(kind):
        (_, key_type), (_, item_type) = type_.children
        keys, odd_keys = cast_parts(column.keys, key_type, engine)
        items, odd_items = cast_parts(column.items, item_type, engine)
        maps, odd = map_of(column, keys, items, either([odd_keys, odd_items]))
        twice = None if keys.type == kind.key_type else repeated(keys, column.offsets, engine)
        return maps, either([odd, twice])
    schema = (Column("v", str(type_)),)
    if is_nested(type_) and is_text(kind):
        values, good = decode_texts(column.cast(pa.string()), str(type_), engine)
        return values, None if good.all() else ~good
    if pa.types.is_nested(kind) and type_.id == "varchar":
        return texts_of(column, engine), None
    if pa.types.is_nested(kind) or is_nested(type_):
        none = pa.nulls(len(column), engine.arrow_schema(schema).field(0).type)
        return none, column.is_valid().to_numpy(zero_copy_only=False)
    value = stored_cast(str(type_), "s", kind)
    fits = stored_fits(kinds_of(schema)[0], value, "s", kind)
    sql = f"SELECT {value} AS v, coalesce(s IS NULL OR {fits}, false) AS good FROM parts"
    result = engine.query(sql, {"parts": pa.table({"s": column})}).combine_chunks()
    good = result.column("good").to_numpy().astype(np.bool_)
    (read,), misfit = read_times([result.column("v").combine_chunks()], schema, engine)
    return read, either([misfit, None if good.all() else ~good])


def texts_of(column: Any, engine: Engine) -> pa.Array:
    """Each value of ``column`` as its JSON text."""
    table = pa.table({"s": column})
    (type_,) = types_of(table, engine)
    sql = f"SELECT {value_text('s', type_)} AS v FROM parts"
    return engine.query(sql, {"parts": table}).column("v").combine_chunks()


def types_of(table: pa.Table, engine: Engine) -> list[Any]:
    """What the columns of ``table`` are to DuckDB."""
    found = engine.query("DESCRIBE SELECT * FROM stored", {"stored": table})
    return [duckdb.sqltype(text) for text in found.column("column_type").to_pylist()]


def _moments(column: Any) -> tuple[Any, Misfit]:
    kind = column.type
    numbers = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    low, high = _bounds(kind)
    ends = pc.min_max(numbers)
    odd = None
    if ends["min"].is_valid and (ends["min"].as_py() < low or ends["max"].as_py() > high):
        odd = pc.fill_null(pc.or_(pc.less(numbers, low), pc.greater(numbers, high)), False)
        column = pc.if_else(odd, pa.scalar(None, kind), column)
    if pa.types.is_timestamp(kind):
        column = _floored(column) if kind.unit == "ns" else column.cast(pa.timestamp("us", kind.tz))
    elif pa.types.is_time(kind):
        column = column.cast(pa.time64("us"), safe=False)
    if odd is None:
        return column, None
    if not pa.types.is_time(kind):  # which has no infinity
        last = pa.scalar(_INFINITE[kind.bit_width], numbers.type)
        infinite = pc.if_else(pc.less(numbers, 0), pc.negate(last), last).view(column.type)
        column = pc.if_else(odd, infinite, column)
    return column, odd.to_numpy(zero_copy_only=False).astype(np.bool_)


def _floored(column: Any) -> Any:
    """Nanoseconds as microseconds. Arrow's own floor wraps around at the first of them."""
    cut = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    numbers, whole = column.view(pa.int64()), cut.view(pa.int64())
    below = pc.less(pc.subtract(numbers, pc.multiply(whole, 1000)), 0)
    return pc.subtract(whole, below.cast(pa.int64())).view(cut.type)


def _bounds(kind: pa.DataType) -> tuple[int, int]:
    """The first and the last value of a type that DuckDB can hold, in the type's unit."""
    if pa.types.is_date32(kind):
        return 2 - 2**31, 2**31 - 2
    if pa.types.is_time(kind):
        return 0, 86_400 * _PER_SECOND[kind.unit]
    each = _PER_SECOND["us"] // _PER_SECOND[kind.unit]
    return (-(-MOMENT_MIN // each), MOMENT_MAX // each) if each else (-(2**63), 2**63 - 1)
