"""The declared columns as json decoding sees them: one `Leaf` or `Branch` per field.

A field's *kind* decides which JSON values fit it. `structure` is what DuckDB's `json_transform`
takes; paths are JSON pointers.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import duckdb

from tidegate.connectors.formats.times import as_texts
from tidegate.types import Schema

RAW: Final = "__raw"
"""A field of this name (no user column has it) and of a DECIMAL type.

It makes DuckDB read every number as its text: without a DECIMAL in the structure it reads 1.5 as a
double first, which even the strict transform then rounds to the BIGINT 2.
"""
RAW_TYPE: Final = "DECIMAL(1,0)"


class Kind(enum.Enum):
    """What a declared type takes."""

    INTEGER = enum.auto()
    DECIMAL = enum.auto()
    DOUBLE = enum.auto()
    BOOLEAN = enum.auto()
    TEXT = enum.auto()
    MOMENT = enum.auto()  # TIMESTAMP, TIMESTAMPTZ, DATE: may be infinite in DuckDB
    TIME = enum.auto()
    LIST = enum.auto()
    MAP = enum.auto()  # from objects
    OTHER = enum.auto()  # UUID, BLOB, INTERVAL: from strings only


_KINDS: Final = {
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint", "hugeint"), Kind.INTEGER),
    **dict.fromkeys(("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"), Kind.INTEGER),
    "decimal": Kind.DECIMAL,
    "float": Kind.DOUBLE,
    "double": Kind.DOUBLE,
    "boolean": Kind.BOOLEAN,
    "varchar": Kind.TEXT,
    "timestamp": Kind.MOMENT,
    "timestamp with time zone": Kind.MOMENT,
    "date": Kind.MOMENT,
    "time": Kind.TIME,
    "list": Kind.LIST,
    "map": Kind.MAP,
}
NESTED: Final = (Kind.LIST, Kind.MAP)
"""Kinds of leaves that have values inside."""
JSON_FORMS: Final = {"list": "ARRAY", "map": "OBJECT", "struct": "OBJECT"}
"""What a value of a type of DuckDB is in JSON, where it has values inside."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field without declared fields below it. ``steps`` are the names on the way to it."""

    steps: tuple[str, ...]
    type: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Branch:
    """An object with declared fields."""

    steps: tuple[str, ...]
    fields: tuple[Field, ...]


Field: TypeAlias = "Leaf | Branch"


def shape_of(schema: Schema) -> Branch:
    """The whole record as a branch."""
    fields = tuple(_field((c.name,), duckdb.sqltype(c.type)) for c in schema)
    return Branch((), fields)


def kinds_of(schema: Schema) -> list[Kind]:
    """The kind of each column; a STRUCT's is `Kind.OTHER`."""
    return [f.kind if isinstance(f, Leaf) else Kind.OTHER for f in shape_of(schema).fields]


def _field(steps: tuple[str, ...], type_: Any) -> Field:
    if type_.id == "struct":
        return Branch(steps, tuple(_field((*steps, name), child) for name, child in type_.children))
    text = str(type_)
    return Leaf(steps, text, Kind.OTHER if text == "JSON" else _KINDS.get(type_.id, Kind.OTHER))


def structure(branch: Branch, leaf_type: str | None, *, raw: bool, elements: bool = True) -> str:
    """``branch`` as `json_transform` takes it; ``leaf_type`` in the place of every leaf's type.

    Times are texts there, for `tidegate.connectors.formats.times` to read. Without ``elements``
    what is in lists and maps is JSON, and keys are texts.
    """
    tree = _tree(branch, leaf_type, elements)
    return json.dumps({RAW: RAW_TYPE, **tree} if raw else tree)


def _tree(branch: Branch, leaf_type: str | None, elements: bool) -> dict[str, Any]:
    return {
        field.steps[-1]: _tree(field, leaf_type, elements)
        if isinstance(field, Branch)
        else leaf_type or _leaf_type(field, elements)
        for field in branch.fields
    }


def _leaf_type(leaf: Leaf, elements: bool) -> Any:
    def of(type_: Any) -> Any:
        if type_.id == "list":
            return [of(type_.children[0][1])]
        if type_.id == "struct":
            return {name: of(child) for name, child in type_.children}
        return as_texts(str(type_))

    if leaf.kind is Kind.LIST:
        return of(duckdb.sqltype(leaf.type)) if elements else ["JSON"]
    if leaf.kind is Kind.MAP and not elements:
        return "MAP(VARCHAR, JSON)"
    return as_texts(leaf.type)


def element_type(type_: str) -> str:
    """Of the elements of a list, or the values of a map."""
    return str(duckdb.sqltype(type_).children[-1][1])


def key_type(type_: str) -> str:
    """Of the keys of a map."""
    return str(duckdb.sqltype(type_).children[0][1])


def has_typed_keys(type_: str) -> bool:
    """Whether a map in it, or it itself, has keys that are no texts."""
    found: Any = duckdb.sqltype(type_)
    if found.id == "map" and found.children[0][1].id != "varchar":
        return True
    return is_nested(found) and any(has_typed_keys(str(inner)) for _, inner in found.children)


def is_nested(type_: Any) -> bool:
    """Whether values of a type of DuckDB have values inside."""
    return type_.id in JSON_FORMS


def kinds_inside(type_: str) -> set[Kind]:
    """The kinds of all that is in a type, lists, structs and maps opened."""
    found = duckdb.sqltype(type_)
    if is_nested(found):
        return set().union(*(kinds_inside(str(inner)) for _, inner in found.children))
    return {Kind.OTHER if str(found) == "JSON" else _KINDS.get(found.id, Kind.OTHER)}


def leaves(branch: Branch) -> Iterator[Leaf]:
    """Every leaf, in declared order."""
    for field in branch.fields:
        if isinstance(field, Branch):
            yield from leaves(field)
        else:
            yield field


def branches(branch: Branch) -> Iterator[Branch]:
    """Every branch, this one first."""
    yield branch
    for field in branch.fields:
        if isinstance(field, Branch):
            yield from branches(field)


def pointer(steps: tuple[str, ...]) -> str:
    """``steps`` as a JSON pointer."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)
