"""Texts of records become times (S15), by the rule of `tidegate.engine.texts`, and bytes.

Where all texts of a column are of the usual form Arrow reads them, in a quarter of the time; it
takes nothing that the rule does not take, but for an hour without minutes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.formats.base64_text import read_base64
from tidegate.engine.engine import Engine
from tidegate.engine.texts import READS
from tidegate.plan.nodes import quoted
from tidegate.types import Column, Schema

MOMENT_MIN: Final = -9_223_372_022_400_000_000
MOMENT_MAX: Final = 2**63 - 2
"""DuckDB's first and last TIMESTAMP in microseconds; beyond lie its infinities."""
_LATE: Final = (*READS, "BLOB")
"""The types whose texts are read here."""
_HOUR: Final = len("2024-05-01 01")
_UTC: Final = pa.timestamp("us", "UTC")

Misfit = npt.NDArray[np.bool_] | None
"""Rows with a text that is no such time; None where there is none."""


def as_texts(type_: str) -> str:
    """``type_`` with VARCHAR for times and bytes, inside of structs, lists and maps too."""
    return _as_texts(duckdb.sqltype(type_)) if _is_late(type_) else type_


def read_times(columns: list[Any], schema: Schema, engine: Engine) -> tuple[list[pa.Array], Misfit]:
    """``columns`` of ``schema`` with times for their texts; other columns are as they were."""
    return _read_all(columns, [duckdb.sqltype(column.type) for column in schema], engine)


def rows_that_fit(
    columns: list[Any], good: npt.NDArray[np.bool_], schema: Schema, engine: Engine
) -> tuple[pa.Table, npt.NDArray[np.bool_]]:
    """The ``good`` rows with times for their texts, without those that misfit; and which remain."""
    kept = [column.filter(pa.array(good)) for column in columns]
    values, misfit = read_times(kept, schema, engine)
    if misfit is not None:
        values = [column.filter(pa.array(~misfit)) for column in values]
        good = good.copy()
        good[good] = ~misfit
    return pa.Table.from_arrays(values, names=[column.name for column in schema]), good


def _is_late(type_: str) -> bool:
    return any(name in type_ for name in _LATE)


def _as_texts(type_: Any) -> str:
    match type_.id:
        case "struct":
            fields = (f"{quoted(name)} {_as_texts(kind)}" for name, kind in type_.children)
            return f"STRUCT({', '.join(fields)})"
        case "list":
            return f"{_as_texts(type_.children[0][1])}[]"
        case "map":
            return f"MAP({', '.join(_as_texts(kind) for _, kind in type_.children)})"
    return "VARCHAR" if str(type_) in _LATE else str(type_)


def _read(column: Any, type_: Any, engine: Engine) -> tuple[pa.Array, Misfit]:
    if not _is_late(str(type_)):
        return column, None
    match type_.id:
        case "struct":
            kinds = [kind for _, kind in type_.children]
            parts, misfit = _read_all(column.flatten(), kinds, engine)
            names = [name for name, _ in type_.children]
            return pa.StructArray.from_arrays(parts, names, mask=column.is_null()), misfit
        case "list":
            (values,), misfit = _read_all([column.values], [type_.children[0][1]], engine)
            lists = pa.ListArray.from_arrays(column.offsets, values, mask=column.is_null())
            return lists, rows_of(column.offsets, misfit)
        case "map":
            kinds = [kind for _, kind in type_.children]
            (keys, items), misfit = _read_all([column.keys, column.items], kinds, engine)
            return map_of(column, keys, items, misfit)
    if not pa.types.is_string(column.type):
        return column, None
    if type_.id == "blob":
        return read_base64(column, engine)
    return _read_texts(column, str(type_), engine)


def _read_all(
    columns: list[Any], types: list[Any], engine: Engine
) -> tuple[list[pa.Array], Misfit]:
    read = [_read(column, type_, engine) for column, type_ in zip(columns, types, strict=True)]
    return [column for column, _ in read], either(misfit for _, misfit in read)


def either(misfits: Iterable[Misfit]) -> Misfit:
    """The rows of any of them."""
    masks = [misfit for misfit in misfits if misfit is not None]
    return np.logical_or.reduce(masks) if masks else None


def rows_of(offsets: Any, misfit: Misfit) -> Misfit:
    """The lists, given by their ``offsets``, that have an element which does not fit."""
    if misfit is None:
        return None
    before = np.concatenate(([0], np.cumsum(misfit)))[offsets.to_numpy()]
    found: npt.NDArray[np.bool_] = before[1:] > before[:-1]
    return found


def map_of(column: Any, keys: Any, items: Any, misfit: Misfit) -> tuple[pa.Array, Misfit]:
    """The maps of ``column`` with other ``keys`` and ``items``, and those that have an entry which
    does not fit. A key that does not is NULL, which no map may have: such a map is empty."""
    if keys.null_count:
        misfit = either([misfit, keys.is_null().to_numpy(zero_copy_only=False)])
    odd, offsets = rows_of(column.offsets, misfit), column.offsets
    if odd is not None and keys.null_count:
        starts = offsets.to_numpy()
        sizes = np.diff(starts)
        kept = pa.array(starts[0] + np.flatnonzero(np.repeat(~odd, sizes)))
        keys, items = keys.take(kept), items.take(kept)
        offsets = pa.array(np.cumsum([0, *np.where(odd, 0, sizes)]), pa.int32())
    return pa.MapArray.from_arrays(offsets, keys, items, mask=column.is_null()), odd


def _read_texts(texts: Any, type_: str, engine: Engine) -> tuple[pa.Array, Misfit]:
    wanted = engine.arrow_schema((Column("t", type_),)).field(0).type
    read = None
    if type_ == "DATE":
        read = _by_arrow(texts, wanted)
    elif type_ != "TIME" and not _any(pc.equal(pc.binary_length(texts), _HOUR)):
        zoned = pc.all(pc.ends_with(texts, "Z")).as_py() is True
        if zoned and not _any(pc.equal(pc.binary_length(texts), _HOUR + 1)):
            read = _by_arrow(texts, _UTC)
        elif not zoned and (type_ == "TIMESTAMP" or engine.time_zone == "UTC"):
            read = _by_arrow(texts, pa.timestamp("us"))
    if read is not None:
        return read.cast(wanted), None
    sql = f"SELECT {READS[type_]}(t) AS t FROM texts"
    read = engine.query(sql, {"texts": pa.table({"t": texts})}).column("t").combine_chunks()
    if read.null_count == texts.null_count:
        return read, None
    misfit = pc.and_(read.is_null(), texts.is_valid())
    return read, misfit.to_numpy(zero_copy_only=False).astype(np.bool_)


def _by_arrow(texts: Any, type_: pa.DataType) -> Any:
    try:
        return texts.cast(type_)
    except pa.ArrowInvalid:
        return None


def _any(mask: Any) -> bool:
    return pc.any(mask).as_py() is True
