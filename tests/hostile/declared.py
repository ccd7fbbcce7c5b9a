"""Declared types: the name of a simple one, or one of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Items:
    """An ARRAY."""

    of: Type


@dataclass(frozen=True)
class Entries:
    """A MAP of texts, or of what texts are of a simple type, to something."""

    to: Type
    key: str = "STRING"


@dataclass(frozen=True)
class Fields:
    """A ROW."""

    fields: tuple[tuple[str, Type], ...]


Type: TypeAlias = "str | Items | Entries | Fields"
Columns: TypeAlias = "tuple[tuple[str, Type], ...]"


def sql_of(type_: Type) -> str:
    """As a table declares it."""
    match type_:
        case Items(inner):
            return f"ARRAY<{sql_of(inner)}>"
        case Entries(inner, key):
            return f"MAP<{key}, {sql_of(inner)}>"
        case Fields(fields):
            return f"ROW<{', '.join(f'{quoted(name)} {sql_of(of)}' for name, of in fields)}>"
    return type_


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'
