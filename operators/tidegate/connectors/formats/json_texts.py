"""Texts that are JSON: a list, map or struct in a field of CSV, in a text of parquet, or as the key
of a map; and the values and keys within documents.

Such a text is by itself one document of the declared type's form, an array or an object, and what
is in it is judged by the rules of json (`tidegate.connectors.formats.json_format`). ``null`` is
neither: a text that means NULL is told before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.formats.json_shape import JSON_FORMS, is_nested, kinds_of
from tidegate.connectors.formats.text_rules import cast_of, text_fits
from tidegate.connectors.formats.times import Misfit, either, read_times
from tidegate.engine.engine import Engine
from tidegate.types import Column, Schema

Mask = npt.NDArray[np.bool_]
Decode: TypeAlias = Callable[[pa.Array, Schema, Engine], tuple[pa.Table, Mask]]
"""Lines of JSON to the rows of those that are good, and which those are."""


def read_nested(texts: Any, type_: str, engine: Engine, decode: Decode) -> tuple[pa.Array, Mask]:
    """``texts`` as values of a nested type, and which of them fit; NULL remains NULL."""
    form = JSON_FORMS[duckdb.sqltype(type_).id]
    # A text that is no document alone might be part of one: `1,"w":2`.
    sql = f"""
        SELECT CASE WHEN t IS NULL THEN true WHEN json_valid(t) THEN json_type(t) = '{form}'
               ELSE false END AS good
        FROM texts"""
    result = engine.query(sql, {"texts": pa.table({"t": texts})}).column("good")
    alone = result.combine_chunks()
    if not pc.all(alone).as_py():
        texts = pc.if_else(alone, texts, pa.scalar(None, pa.string()))
    values, good = read_values(texts, type_, engine, decode)
    return values, good & alone.to_numpy(zero_copy_only=False).astype(np.bool_)


def read_values(
    documents: Any, type_: str, engine: Engine, decode: Decode
) -> tuple[pa.Array, Mask]:
    """``documents``, each of them valid JSON or NULL, as values of a type; and which fit."""
    schema = (Column("v", type_),)
    texts = documents.cast(pa.string()).fill_null("null")
    lines = pc.binary_join_element_wise('{"v":', texts, "}", "")
    data, good = decode(lines, schema, engine)
    rows = pa.array(np.cumsum(good) - 1, pa.int64(), mask=~good)
    return data.column(0).combine_chunks().take(rows), good


def read_keys(texts: Any, type_: str, engine: Engine, decode: Decode) -> tuple[pa.Array, Misfit]:
    """The keys of maps, which are texts, as values of a type: each as a field of CSV would be."""
    if type_ == "VARCHAR":
        return texts, None
    if is_nested(duckdb.sqltype(type_)):
        values, good = read_nested(texts, type_, engine, decode)
        return values, None if good.all() else ~good
    schema = (Column("v", type_),)
    value = cast_of(type_, "t")
    fits = text_fits(kinds_of(schema)[0], value, "t")
    sql = f"SELECT {value} AS v, coalesce({fits}, false) AS good FROM texts"
    result = engine.query(sql, {"texts": pa.table({"t": texts})}).combine_chunks()
    good = result.column("good").to_numpy().astype(np.bool_)
    (values,), misfit = read_times([result.column("v").combine_chunks()], schema, engine)
    return values, either([misfit, None if good.all() else ~good])


def repeated(keys: Any, offsets: Any, engine: Engine) -> Misfit:
    """The maps, given by their ``offsets``, in which two of the ``keys`` are equal."""
    starts = offsets.to_numpy().astype(np.int64)
    sizes = starts[1:] - starts[:-1]
    if (sizes < 2).all():
        return None
    if _is_exact(keys.type):
        codes = keys.slice(starts[0], starts[-1] - starts[0]).dictionary_encode()
        indices = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        owners = np.repeat(np.arange(len(sizes)), sizes)
        pairs = owners * (len(codes.dictionary) + 1) + indices + 1
        if len(np.unique(pairs)) == len(pairs):
            return None
    # As DuckDB judges it, which takes no map that has a key twice, be they 0.0 and -0.0.
    sql = "SELECT TRY(map(k, k)) IS NULL AS twice FROM maps"
    lists = pa.ListArray.from_arrays(offsets, keys)
    found = engine.query(sql, {"maps": pa.table({"k": lists})}).column("twice").to_numpy()
    return found.astype(np.bool_) if found.any() else None


def _is_exact(kind: pa.DataType) -> bool:
    """Whether equal values of a type are the same bits."""
    if pa.types.is_floating(kind) or pa.types.is_interval(kind):
        return False  # a month is 30 days
    found = (pa.types.is_primitive, pa.types.is_string, pa.types.is_binary, pa.types.is_decimal)
    return any(of(kind) for of in found)
