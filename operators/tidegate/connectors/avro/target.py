"""The declared columns as Avro decoding sees them: one `Target` for each type, nested ones below.

A leaf of the writer's schema fits a target by the kinds of both (`fits`), and then value by value
by the rules of json (`formats.json_format`): nothing is rounded to an integer, a number of another
type must be in range, a text must be one that the type takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import duckdb
import pyarrow as pa

from tidegate.connectors.avro.schema import Entries, Items, Leaf, Node, Record, Union
from tidegate.connectors.formats.json_shape import Kind, kinds_of
from tidegate.engine.engine import Engine
from tidegate.types import Column, Schema


@dataclass(frozen=True, slots=True)
class Target:
    """A declared type: as DuckDB spells it, its Arrow type, and the types below it.

    ``kind`` is None for a STRUCT, whose fields are ``below``; of a LIST ``below`` is the element,
    of a MAP key and value.
    """

    type: str
    arrow: pa.DataType
    kind: Kind | None
    below: tuple[tuple[str, Target], ...] = ()

    @property
    def is_map(self) -> bool:
        """Whether this is a MAP."""
        return bool(pa.types.is_map(self.arrow))

    @property
    def is_list(self) -> bool:
        """Whether this is a LIST."""
        return bool(pa.types.is_list(self.arrow))


_TARGETS: Final[WeakKeyDictionary[Engine, dict[Schema, Target]]] = WeakKeyDictionary()


def target_of(schema: Schema, engine: Engine) -> Target:
    """The whole row as a STRUCT of its columns."""
    known = _TARGETS.setdefault(engine, {})
    if schema not in known:
        known[schema] = _row(schema, engine)
    return known[schema]


def _row(schema: Schema, engine: Engine) -> Target:
    arrow = engine.arrow_schema(schema)
    below = tuple(
        (column.name, _target(duckdb.sqltype(column.type), field.type))
        for column, field in zip(schema, arrow, strict=True)
    )
    return Target("STRUCT", pa.struct(list(arrow)), None, below)


def _target(type_: Any, arrow: pa.DataType) -> Target:
    match type_.id:
        case "struct":
            below = tuple(
                (name, _target(child, arrow.field(index).type))
                for index, (name, child) in enumerate(type_.children)
            )
            return Target(str(type_), arrow, None, below)
        case "list":
            element = _target(type_.children[0][1], arrow.value_type)
            return Target(str(type_), arrow, Kind.LIST, (("element", element),))
        case "map":
            key, value = (child for _, child in type_.children)
            below = (
                ("key", _target(key, arrow.key_type)),
                ("value", _target(value, arrow.item_type)),
            )
            return Target(str(type_), arrow, Kind.OTHER, below)
    return Target(str(type_), arrow, kinds_of((Column("", str(type_)),))[0])


_NUMBERS: Final = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE, Kind.TEXT})
_FITTING: Final[Mapping[str, frozenset[Kind]]] = {
    "boolean": frozenset({Kind.BOOLEAN, Kind.TEXT}),
    "int": _NUMBERS,
    "long": _NUMBERS,
    "float": _NUMBERS,
    "double": _NUMBERS,
    "decimal": _NUMBERS,
    "string": frozenset(Kind) - {Kind.LIST, Kind.BOOLEAN},
    "enum": frozenset({Kind.TEXT, Kind.OTHER}),
    "bytes": frozenset({Kind.TEXT}),
    "fixed": frozenset({Kind.TEXT}),
    "date": frozenset({Kind.MOMENT, Kind.TEXT}),
    "time": frozenset({Kind.TIME, Kind.TEXT}),
    "timestamp": frozenset({Kind.MOMENT, Kind.TEXT}),
}


def form_of(leaf: Leaf) -> str:
    """What its values are: ``date``, ``time``, ``timestamp``, ``decimal``, or else its form."""
    logical = leaf.logical.removeprefix("local-").partition("-")[0]
    return logical if logical in _FITTING else leaf.form


def fits(leaf: Leaf, target: Target) -> bool:
    """Whether values of ``leaf`` can fit ``target``."""
    if leaf.form == "null":
        return True
    form = form_of(leaf)
    if target.kind is None or target.is_map:
        return False
    if target.type == "BLOB":
        return form in ("bytes", "fixed", "string")
    if target.type == "DATE" and form == "timestamp":
        return False
    return target.kind in _FITTING[form]


def misfits(node: Node, target: Target, path: str = "") -> Iterator[str]:
    """What of ``node`` no value of can fit, as sentences for people."""
    match node:
        case Union(branches=branches):
            for branch in branches:
                yield from misfits(branch, target, path)
        case Record(fields=fields) if target.kind is None:
            found = dict(fields)
            for name, child in target.below:
                if name in found:
                    yield from misfits(found[name], child, f"{path}.{name}" if path else name)
        case Items(items=items) if target.is_list:
            yield from misfits(items, target.below[0][1], f"{path}[]")
        case Entries(values=values) if target.is_map:
            if not fits(Leaf("string"), target.below[0][1]):
                yield f"the keys of {path} are strings, declared {target.below[0][1].type}"
            yield from misfits(values, target.below[1][1], f"{path}[]")
        case Leaf() if fits(node, target):
            return
        case _:
            yield f"{path or 'the datum'} is {node}, declared {target.type}"
