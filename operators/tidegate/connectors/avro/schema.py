"""Avro schemas as trees: what a writer's schema says of the bytes of its datums.

`parse` takes JSON text as a registry keeps it; names are resolved, logical types that do not fit
their type are left out, as Avro's specification demands. A record may contain itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import fastavro

Form = Literal[
    "null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum"
]
SCALE_MAX: Final = 38
"""Of the widest DECIMAL; what has more digits behind the point is bytes to us."""

_PRIMITIVES: Final = frozenset(get_args(Form)) - {"fixed", "enum"}
_LOGICAL: Final[Mapping[str, frozenset[str]]] = {
    "int": frozenset({"date", "time-millis"}),
    "long": frozenset({"time-micros"})
    | {
        f"{local}timestamp-{unit}s"
        for local in ("", "local-")
        for unit in ("milli", "micro", "nano")
    },
    "string": frozenset({"uuid"}),
    "bytes": frozenset({"decimal"}),
    "fixed": frozenset({"decimal"}),
}


_CONNECT: Final = "connect.name"
_DEBEZIUM: Final[Mapping[str, str]] = {
    "io.debezium.time.Date": "date",
    "io.debezium.time.Time": "time-millis",
    "io.debezium.time.MicroTime": "time-micros",
    "io.debezium.time.Timestamp": "local-timestamp-millis",
    "io.debezium.time.MicroTimestamp": "local-timestamp-micros",
    "io.debezium.time.NanoTimestamp": "local-timestamp-nanos",
}
"""What Debezium writes beside numbers that are times, and the logical types that it means."""


class SchemaError(ValueError):
    """A text that is no Avro schema, or one that cannot be read."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A type without types below it. ``scale`` is of decimals, ``size`` of fixed."""

    form: Form
    logical: str = ""
    scale: int = 0
    size: int = 0
    symbols: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.form} ({self.logical})" if self.logical else self.form


@dataclass(frozen=True, slots=True)
class Items:
    """An array."""

    items: Node

    def __str__(self) -> str:
        return "array"


@dataclass(frozen=True, slots=True)
class Entries:
    """A map from strings."""

    values: Node

    def __str__(self) -> str:
        return "map"


@dataclass(frozen=True, slots=True)
class Union:
    """One of several types, told by its index."""

    branches: tuple[Node, ...]

    def __str__(self) -> str:
        return f"union of {', '.join(map(str, self.branches))}"


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Fields in the order of their bytes; compared by identity, since one may contain itself."""

    name: str
    fields: list[tuple[str, Node]] = field(default_factory=list)

    def __str__(self) -> str:
        return "record"


Node: TypeAlias = "Leaf | Items | Entries | Union | Record"
KEY: Final = Leaf("string")
"""The type of a map's keys."""


def parse(text: str, references: Iterable[str] = ()) -> Node:
    """The tree of a schema; ``references`` are schemas of names it uses, in their order.

    Raises SchemaError.
    """
    named: dict[str, Any] = {}
    nodes: dict[str, Node] = {}
    try:
        for reference in references:
            _node(_checked(reference, named), nodes)
        node = _node(_checked(text, named), nodes)
        bytes_min(node)  # a record that always contains itself has no end
        return node
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SchemaError(f"no readable Avro schema: {reason}") from None


def _checked(text: str, named: dict[str, Any]) -> Any:
    try:
        return fastavro.parse_schema(json.loads(text), named_schemas=named, _write_hint=False)
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
        raise SchemaError(str(error)) from None


def _node(schema: Any, nodes: dict[str, Node]) -> Node:
    if isinstance(schema, list):
        return Union(tuple(_node(branch, nodes) for branch in schema))
    if isinstance(schema, str):
        return Leaf(cast(Form, schema)) if schema in _PRIMITIVES else nodes[schema]
    match form := schema["type"]:
        case "record" | "error":
            record = nodes[schema["name"]] = Record(schema["name"])
            record.fields.extend((f["name"], _node(f["type"], nodes)) for f in schema["fields"])
            return record
        case "array":
            return Items(_node(schema["items"], nodes))
        case "map":
            return Entries(_node(schema["values"], nodes))
        case "enum":
            enum = nodes[schema["name"]] = Leaf("enum", symbols=tuple(schema["symbols"]))
            return enum
        case "fixed":
            if schema["size"] < 0:
                raise SchemaError(f"the size of {schema['name']} is {schema['size']}")
            fixed = nodes[schema["name"]] = _leaf("fixed", schema, int(schema["size"]))
            return fixed
        case _ if form in _PRIMITIVES:
            return _leaf(cast(Form, form), schema, 0)
        case _:
            return nodes[form]


def _leaf(form: Form, schema: Mapping[str, Any], size: int) -> Leaf:
    logical = schema.get("logicalType") or _DEBEZIUM.get(str(schema.get(_CONNECT)), "")
    if logical not in _LOGICAL.get(form, ()):
        return Leaf(form, size=size)
    if logical != "decimal":
        return Leaf(form, logical, size=size)
    precision, scale = schema.get("precision", 0), schema.get("scale", 0)
    if precision < 1 or not 0 <= scale <= min(precision, SCALE_MAX):
        return Leaf(form, size=size)
    return Leaf(form, logical, scale, size)


def bytes_min(node: Node) -> int:
    """The fewest bytes that a datum of ``node`` has."""
    match node:
        case Leaf("null"):
            return 0
        case Leaf("float"):
            return 4
        case Leaf("double"):
            return 8
        case Leaf("fixed", size=size):
            return size
        case Record(fields=fields):
            return sum(bytes_min(child) for _, child in fields)
        case _:
            return 1  # not less for a union: the index of its branch
