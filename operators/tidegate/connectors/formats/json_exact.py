"""The exact path of json decoding: judges each line and each field of it.

`json_transform` gives NULL for what it cannot cast; the JSON type of every declared field tells
such a NULL from a missing field, and refuses the casts that it is too kind about. A field's text is
looked at only where its type leaves a doubt (CASE evaluates nothing for other rows). A field is
named twice when more declared keys occur in an object than declared fields are there. The rules are
those of `tidegate.connectors.formats.json_format`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.formats.json_scan import not_json, string_bytes
from tidegate.connectors.formats.json_shape import (
    NESTED,
    Branch,
    Kind,
    Leaf,
    branches,
    element_type,
    key_type,
    leaves,
    pointer,
    shape_of,
    structure,
)
from tidegate.connectors.formats.json_texts import Mask, read_keys, read_values, repeated
from tidegate.connectors.formats.text_rules import literal, text_fits
from tidegate.connectors.formats.times import either, map_of, rows_of, rows_that_fit
from tidegate.engine.engine import Engine
from tidegate.types import Schema

_CANDIDATE: Final = r"(?i)[-:,\[\s](nan|inf)|,\s*[}\]]"
_LENIENT: Final = r"(?i)nan|inf|,\s*[}\]]"
_STRING: Final = r'"(\\.|[^"\\])*"'


def decode_exact(
    lines: pa.Array, schema: Schema, shape: Branch, engine: Engine
) -> tuple[pa.Table, Mask]:
    """The rows of the lines that are good, and which those are."""
    sql = _sql(shape, not_json(string_bytes(lines)[0]))
    result = engine.query(sql, {"lines": pa.table({"line": lines})}).combine_chunks()
    columns = [column.combine_chunks() for column in result.columns]
    mask: Mask = columns[0].to_numpy(zero_copy_only=False).astype(np.bool_)
    for branch, keys, present in zip(branches(shape), columns[2::2], columns[3::2], strict=True):
        names = [field.steps[-1] for field in branch.fields]
        mask &= _occurrences(keys, names) <= present.to_numpy(zero_copy_only=False)
    if not schema:
        return pa.table({}), mask
    values, misfit = _opened(shape, columns[1].flatten()[1:], engine)
    return rows_that_fit(values, mask & ~misfit, schema, engine)


def _opened(branch: Branch, columns: list[Any], engine: Engine) -> tuple[list[Any], Mask]:
    """The fields of a branch, what is in lists and maps decoded; and rows where that misfits."""
    misfit, opened = np.zeros(len(columns[0]), np.bool_), list(columns)
    for index, field in enumerate(branch.fields):
        column = columns[index]
        if isinstance(field, Branch):
            parts, bad = _opened(field, column.flatten(), engine)
            names = [part.steps[-1] for part in field.fields]
            opened[index] = pa.StructArray.from_arrays(parts, names, mask=column.is_null())
            misfit |= bad
        elif field.kind in NESTED:
            opened[index], bad = _elements(field, column, engine)
            misfit |= bad
    return opened, misfit


def _elements(leaf: Leaf, column: Any, engine: Engine) -> tuple[pa.Array, Mask]:
    """A list or map of JSON texts: each is decoded as a record of one field."""
    offsets, absent = column.offsets, column.is_null()
    inner = element_type(leaf.type)
    if leaf.kind is Kind.LIST:
        values, good = read_values(column.values, inner, engine, _decode)
        odd = rows_of(offsets, ~good)
        lists = pa.ListArray.from_arrays(offsets, values, mask=absent)
        return lists, np.zeros(len(column), np.bool_) if odd is None else odd
    values, good = read_values(column.items, inner, engine, _decode)
    keys, misfit = read_keys(column.keys, key_type(leaf.type), engine, _decode)
    maps, odd = map_of(column, keys, values, either([~good, misfit]))
    twice = None if keys is column.keys else repeated(keys, offsets, engine)
    bad = either([odd, twice])
    return maps, np.zeros(len(column), np.bool_) if bad is None else bad


def _decode(lines: pa.Array, schema: Schema, engine: Engine) -> tuple[pa.Table, Mask]:
    return decode_exact(lines, schema, shape_of(schema), engine)


def _occurrences(keys: Any, names: list[str]) -> npt.NDArray[np.int64]:
    """How many of each row's ``keys`` (a list) are among ``names``."""
    declared = pc.is_in(pc.list_flatten(keys), value_set=pa.array(names, pa.string()))
    rows = pc.list_parent_indices(keys).filter(declared)
    return np.bincount(rows.to_numpy(zero_copy_only=False), minlength=len(keys))


@lru_cache(maxsize=64)
def _sql(shape: Branch, suspicious: bool) -> str:
    """Gives ``good``, ``record``, then for every branch its keys and how many fields it has.

    ``suspicious``: some line may be JSON only to DuckDB (see `json_scan`).
    """
    record = f"json_transform(doc, {literal(structure(shape, None, raw=True, elements=False))})"
    fields: list[Leaf | Branch] = [*leaves(shape), *list(branches(shape))[1:]]
    type_of = {field.steps: f"types[{index + 1}]" for index, field in enumerate(fields)}
    paths = ", ".join(literal(pointer(field.steps)) for field in fields)
    types = f"json_type(doc, [{paths}])" if fields else "[]"
    fits = [
        f"({type_of[f.steps]} IS NULL OR {type_of[f.steps]} = 'NULL'"
        f" OR ({_rule(f, type_of[f.steps])}))"
        for f in fields
    ]
    counted = ""
    for index, branch in enumerate(branches(shape)):
        path = f", {literal(pointer(branch.steps))}" if branch.steps else ""
        there = [f"({type_of[field.steps]} IS NOT NULL)::BIGINT" for field in branch.fields]
        counted += f", json_keys(doc{path}) AS keys{index}, {' + '.join(there) or '0'} AS n{index}"
    stripped = f"regexp_replace(line, {literal(_STRING)}, '\"\"', 'g')"
    lenient = f"regexp_matches({stripped}, {literal(_LENIENT)})"
    odd = f"CASE WHEN regexp_matches(line, {literal(_CANDIDATE)}) THEN {lenient} ELSE false END"
    judged = f"json_valid(line) AND NOT ({odd})" if suspicious else "json_valid(line)"
    return f"""
        WITH valid AS (
            SELECT CASE WHEN {judged} THEN line END AS text FROM lines
        ), documents AS (
            SELECT CASE WHEN json_type(text) = 'OBJECT' THEN text END AS doc FROM valid
        ), parts AS MATERIALIZED (
            SELECT doc, {record} AS record, {types} AS types FROM documents
        )
        SELECT coalesce(doc IS NOT NULL AND {" AND ".join(fits) or "true"}, false) AS good,
               record{counted}
        FROM parts"""


def _rule(field: Leaf | Branch, type_: str) -> str:
    """DuckDB SQL: whether a field of a JSON type other than null fits."""
    if isinstance(field, Branch):
        return f"{type_} = 'OBJECT'"
    value = "record" + "".join(f"[{literal(step)}]" for step in field.steps)
    there = f"{value} IS NOT NULL"
    text = f"json_extract_string(doc, {literal(pointer(field.steps))})"
    string = text_fits(field.kind, value, text)
    match field.kind:
        case Kind.BOOLEAN:
            return f"{type_} = 'BOOLEAN'"
        case Kind.TEXT:
            return "true"
        case Kind.MOMENT | Kind.TIME:
            return f"{type_} = 'VARCHAR'"  # which is read as a time behind this
        case Kind.INTEGER:
            number = f"CASE WHEN {type_} = 'DOUBLE' THEN {_whole(field)} ELSE {there} END"
        case Kind.DECIMAL:
            number = there
        case Kind.DOUBLE:
            number = f"isfinite({value})"
        case Kind.LIST:
            return f"{type_} = 'ARRAY'"
        case Kind.MAP:
            return f"{type_} = 'OBJECT' AND {there}"  # no key occurs twice
        case _:
            number = "false"
    no_number = f"{type_} IN ('BOOLEAN', 'OBJECT', 'ARRAY')"
    return (
        f"CASE WHEN {type_} = 'VARCHAR' THEN {string} WHEN {no_number} THEN false ELSE {number} END"
    )


def _whole(leaf: Leaf) -> str:
    """A number that json_type calls DOUBLE: an integer of more than 64 bits, or none at all."""
    if "HUGEINT" not in leaf.type:
        return "false"
    raw = literal(structure(_only(leaf), "VARCHAR", raw=True))
    steps = "".join(f"[{literal(step)}]" for step in leaf.steps)
    value = "record" + steps
    text = f"(json_transform(doc, {raw})){steps}"
    return f"{value} IS NOT NULL AND regexp_full_match({text}, '-?[0-9]+')"


def _only(leaf: Leaf) -> Branch:
    """A shape that has nothing but ``leaf``."""
    field: Leaf | Branch = leaf
    for depth in range(len(leaf.steps) - 1, 0, -1):
        field = Branch(leaf.steps[:depth], (field,))
    return Branch((), (field,))
