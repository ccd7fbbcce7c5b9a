"""JSON lines to columns (S2): which lines are records, and what their fields are.

One line is one object. A missing field is NULL, one that is not declared is ignored, ``null`` is
NULL. A line is malformed when it is no JSON object, names a declared field twice, or has a field
that does not fit its type:

- integers: JSON integers in range (not 1.0, not 1e3), or such a number in a string;
- DECIMAL: numbers and numeric strings in range, exact, rounded half up to the scale;
- DOUBLE: finite numbers, numeric strings, and the strings "NaN", "Infinity", "-Infinity";
- BOOLEAN: true and false; VARCHAR: strings, and any other value as its text, but null;
- TIMESTAMP, DATE, TIME: strings that are one as a whole (`tidegate.engine.texts`);
- BLOB: strings that are base64 (`tidegate.connectors.formats.base64_text`);
- STRUCT: objects, by these rules; lists: arrays whose elements fit; MAP: objects whose values do,
  and whose keys are texts that fit, as fields of csv do, no two of them equal.

Two paths give the same answer. The fast one is DuckDB's `json_transform_strict`, which fails as a
whole when one line is not plain (a field missing, twice, or misfit), after a scan for what it is
too kind to; the exact one (`tidegate.connectors.formats.json_exact`) judges each line.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.formats.json_exact import decode_exact
from tidegate.connectors.formats.json_scan import not_json, not_json_or_boolean, string_bytes
from tidegate.connectors.formats.json_shape import (
    NESTED,
    RAW,
    Branch,
    Kind,
    Leaf,
    has_typed_keys,
    kinds_inside,
    leaves,
    pointer,
    shape_of,
    structure,
)
from tidegate.connectors.formats.json_texts import Mask, read_nested
from tidegate.connectors.formats.times import read_times
from tidegate.engine.engine import Engine
from tidegate.types import Schema

PIECE_ROWS: Final = 8192
"""How many lines go to the exact path together when one of them is not plain."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """``data``: the rows of the lines where ``good`` is true, in order; its columns the table's.

    ``passed_over``: lines that are in order and are no rows; none of the good ones.
    """

    data: pa.Table
    good: npt.NDArray[np.bool_]
    passed_over: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    shape: Branch
    leaves: tuple[Leaf, ...]
    strict_sql: str
    prefixed: bool  # the lines get a RAW field, since no column is a DECIMAL
    kinds: frozenset[Kind]  # of all values, those inside of lists and maps too
    lenient: bool  # a list or map has what the strict transform takes from too much, or such keys


@lru_cache(maxsize=64)
def _plan_of(schema: Schema) -> _Plan:
    shape = shape_of(schema)
    found = tuple(leaves(shape))
    prefixed = not any(leaf.kind is Kind.DECIMAL for leaf in found)
    transform = structure(shape, None, raw=prefixed).replace("'", "''")
    sql = f"json_transform_strict(line, '{transform}') AS record"
    typed = [leaf for leaf in found if leaf.kind in (Kind.BOOLEAN, Kind.OTHER)]
    for index, leaf in enumerate(typed):
        path = pointer(leaf.steps).replace("'", "''")
        wanted = "BOOLEAN" if leaf.kind is Kind.BOOLEAN else "VARCHAR"
        sql += f", coalesce(json_type(line, '{path}'), 'NULL') IN ('{wanted}', 'NULL') AS ok{index}"
    nested = [kinds_inside(leaf.type) for leaf in found if leaf.kind in NESTED]
    lenient = any(kinds & {Kind.BOOLEAN, Kind.OTHER} for kinds in nested)
    lenient |= any(has_typed_keys(column.type) for column in schema)
    kinds = frozenset[Kind]().union(*(kinds_inside(column.type) for column in schema))
    return _Plan(shape, found, f"SELECT {sql} FROM lines", prefixed, kinds, lenient)


def decode(lines: pa.Array, schema: Schema, engine: Engine) -> Decoded:
    """Decodes ``lines`` (valid UTF-8 strings, none blank)."""
    plan = _plan_of(schema)
    if len(lines) == 0 or not schema:
        return Decoded(*decode_exact(lines, schema, plan.shape, engine))
    fast = _decode_fast(lines, schema, plan, engine)
    if fast is not None:
        return Decoded(fast, np.ones(len(lines), np.bool_))
    if len(lines) <= PIECE_ROWS:
        return Decoded(*decode_exact(lines, schema, plan.shape, engine))
    parts = [
        decode(lines.slice(start, PIECE_ROWS), schema, engine)
        for start in range(0, len(lines), PIECE_ROWS)
    ]
    data = pa.concat_tables([part.data for part in parts])
    return Decoded(data, np.concatenate([part.good for part in parts]))


def decode_texts(texts: pa.Array, type_: str, engine: Engine) -> tuple[pa.Array, Mask]:
    """``texts``, which are JSON, as values of a nested type, and which of them fit."""

    def whole(lines: pa.Array, schema: Schema, engine: Engine) -> tuple[pa.Table, Mask]:
        found = decode(lines, schema, engine)
        return found.data, found.good

    return read_nested(texts, type_, engine, whole)


def _decode_fast(lines: pa.Array, schema: Schema, plan: _Plan, engine: Engine) -> pa.Table | None:
    """All lines at once, or None when one of them needs a closer look."""
    if plan.lenient or _suspicious(lines, plan):
        return None
    if plan.prefixed:
        lines = pc.binary_replace_slice(lines, 0, 1, f'{{"{RAW}":0,')
    try:
        result = engine.query(plan.strict_sql, {"lines": pa.table({"line": lines})})
    except duckdb.Error:
        return None
    record = result.column(0).combine_chunks()
    for checks in result.columns[1:]:
        if not pc.all(checks).as_py():
            return None
    if record.null_count:  # a line that is `null`
        return None
    columns = record.flatten()[1 if plan.prefixed else 0 :]
    for leaf, column in _leaf_columns(plan.shape, columns):
        if not _plain(leaf, column):
            return None
    columns, misfit = read_times(columns, schema, engine)
    if misfit is not None:
        return None
    return pa.Table.from_arrays(columns, names=[column.name for column in schema])


def _suspicious(lines: pa.Array, plan: _Plan) -> bool:
    """Whether the bytes of ``lines`` hold something that the strict transform misjudges."""
    data, starts = string_bytes(lines)
    if (starts[1:] == starts[:-1]).any() or (data[starts[:-1]] != ord("{")).any():
        return True
    numeric = plan.kinds & {Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE}
    return not_json_or_boolean(data) if numeric else not_json(data)


def _leaf_columns(branch: Branch, columns: list[Any]) -> list[tuple[Leaf, Any]]:
    found: list[tuple[Leaf, Any]] = []
    for field, column in zip(branch.fields, columns, strict=True):
        if isinstance(field, Branch):
            found += _leaf_columns(field, column.flatten())
        else:
            found.append((field, column))
    return found


def _plain(leaf: Leaf, column: Any) -> bool:
    """Whether no value of ``column`` can come from what does not fit, or is an odd special."""
    match leaf.kind:
        case Kind.DOUBLE | Kind.LIST | Kind.MAP:
            return _finite(column)
        case _:
            return True


def _finite(column: Any) -> bool:
    """Whether it has no infinite number, inside of lists, maps and structs neither."""
    kind = column.type
    if pa.types.is_floating(kind):
        return pc.all(pc.is_finite(column)).as_py() is not False
    if pa.types.is_struct(kind):
        return all(map(_finite, column.flatten()))
    if pa.types.is_map(kind):
        return _finite(column.items)
    return not pa.types.is_list(kind) or _finite(column.values)
