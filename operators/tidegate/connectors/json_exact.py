"""The exact path of json decoding: judges each line and each field of it.

`json_transform` gives NULL for what it cannot cast; the JSON type and the text of every declared
field tell such a NULL from a missing field, and refuse the casts that it is too kind about.
Everything is one SQL statement over the lines; the rules are those of
`tidegate.connectors.json_format`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.connectors.json_shape import (
    RAW,
    Branch,
    Kind,
    Leaf,
    branches,
    leaves,
    pointer,
    structure,
)
from tidegate.connectors.text_rules import literal, text_fits
from tidegate.executor.engine import Engine
from tidegate.types import Schema

_CANDIDATE: Final = r"(?i)[-:,\[\s](nan|inf)|,\s*[}\]]"
_LENIENT: Final = r"(?i)nan|inf|,\s*[}\]]"
_STRING: Final = r'"(\\.|[^"\\])*"'
_NO_NUMBER: Final = "('VARCHAR', 'BOOLEAN', 'OBJECT', 'ARRAY')"


def decode_exact(
    lines: pa.Array, schema: Schema, shape: Branch, engine: Engine
) -> tuple[pa.Table, npt.NDArray[np.bool_]]:
    """The rows of the lines that are good, and which those are."""
    result = engine.query(_sql(shape), {"lines": pa.table({"line": lines})})
    good = result.column(0).combine_chunks()
    mask = good.to_numpy(zero_copy_only=False).astype(np.bool_)
    record = result.column(1).combine_chunks().filter(good)
    columns = record.flatten()[1:]
    if not schema:
        return pa.table({}), mask
    names = [column.name for column in schema]
    return pa.Table.from_arrays(columns, names=names), mask


@lru_cache(maxsize=64)
def _sql(shape: Branch) -> str:
    values = literal(structure(shape, None, raw=True))
    texts = literal(structure(shape, "VARCHAR", raw=True))
    fields = list(leaves(shape))
    objects = list(branches(shape))
    paths = [pointer(field.steps) for field in fields + objects[1:]]
    types = f"json_type(doc, [{', '.join(literal(path) for path in paths)}])" if paths else "[]"
    keys = ", ".join(
        f"json_keys(doc, {literal(pointer(b.steps))}) AS k{i}" for i, b in _at(objects)
    )
    keys = keys.replace("json_keys(doc, '')", "json_keys(doc)")
    fits = [_fits(leaf, f"types[{index + 1}]") for index, leaf in enumerate(fields)]
    for index, branch in _at(objects[1:]):
        type_ = f"types[{len(fields) + index + 1}]"
        fits.append(f"({type_} IS NULL OR {type_} IN ('NULL', 'OBJECT'))")
    fits += [_once(branch, f"k{index}") for index, branch in _at(objects)]
    stripped = f"regexp_replace(line, {literal(_STRING)}, '\"\"', 'g')"
    kind = f"regexp_matches(line, {literal(_CANDIDATE)})"
    lenient = f"regexp_matches({stripped}, {literal(_LENIENT)})"
    odd = f"CASE WHEN {kind} THEN {lenient} ELSE false END"
    return f"""
        WITH judged AS MATERIALIZED (
            SELECT line, CASE WHEN json_valid(line) THEN NOT ({odd}) ELSE false END AS valid
            FROM lines
        ), documents AS MATERIALIZED (
            SELECT CASE WHEN valid AND json_type(CASE WHEN valid THEN line END) = 'OBJECT'
                   THEN line END AS doc
            FROM judged
        ), parts AS MATERIALIZED (
            SELECT doc, json_transform(doc, {values}) AS record,
                   json_transform(doc, {texts}) AS texts, {types} AS types, {keys}
            FROM documents
        )
        SELECT doc IS NOT NULL AND coalesce({" AND ".join(fits) or "true"}, false) AS good, record
        FROM parts"""


def _at(items: list[Branch]) -> list[tuple[int, Branch]]:
    return list(enumerate(items))


def _once(branch: Branch, keys: str) -> str:
    """No declared field is named twice."""
    names = ", ".join(literal(field.steps[-1]) for field in branch.fields)
    if not names:
        return "true"
    declared = f"list_filter({keys}, lambda key: key IN ({names}))"
    return (
        f"(len({keys}) = len(list_distinct({keys})) "
        f"OR len({declared}) = len(list_distinct({declared})))"
    )


def _fits(leaf: Leaf, type_: str) -> str:
    steps = "".join(f"[{literal(step)}]" for step in leaf.steps)
    value, text = f"record{steps}", f"texts{steps}"
    return f"({type_} IS NULL OR {type_} = 'NULL' OR ({_rule(leaf, type_, value, text)}))"


def _rule(leaf: Leaf, type_: str, value: str, text: str) -> str:
    number = f"{type_} NOT IN {_NO_NUMBER}"
    string = f"({type_} = 'VARCHAR' AND {text_fits(leaf.kind, value, text)})"
    match leaf.kind:
        case Kind.INTEGER:
            whole = f"{value} IS NOT NULL AND regexp_full_match({text}, '-?[0-9]+')"
            return f"({number} AND {whole}) OR {string}"
        case Kind.DECIMAL:
            return f"({number} AND {value} IS NOT NULL) OR {string}"
        case Kind.DOUBLE:
            return f"({number} AND isfinite({value})) OR {string}"
        case Kind.BOOLEAN:
            return f"{type_} = 'BOOLEAN'"
        case Kind.TEXT:
            return f"{type_} NOT IN ('OBJECT', 'ARRAY')"
        case Kind.LIST:
            wrapped = f"""'{{"{RAW}":0,"v":' || {text} || '}}'"""
            inner = structure(Branch((), (Leaf(("v",), leaf.type, Kind.LIST),)), None, raw=True)
            strict = f"TRY(json_transform_strict({wrapped}, {literal(inner)}))"
            return f"{type_} = 'ARRAY' AND {strict} IS NOT NULL"
        case _:
            return string
