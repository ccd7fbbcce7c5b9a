"""What statements use: the tables, views and functions that they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Final, TypeAlias

from sqlglot import exp

from tidegate.frontend.ast.queries import Name, Option, Options, Query, TableRef, Text
from tidegate.frontend.ast.statements import (
    AlterTable,
    CreateFunction,
    CreateSink,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Insert,
    Like,
    Statement,
)
from tidegate.frontend.source import Span

_Used: TypeAlias = TableRef | Name | str
_LEAVES: Final = (str, int, type(None), Name, Options, Option, Text, Span, type)
"""What names nothing that is used."""


@dataclass(frozen=True, slots=True)
class Uses:
    """``tables`` are those and the views that are read, written or copied; not the queries of WITH.

    ``calls`` are functions, in lower case. ``hints`` are those of a table, by its name in lower
    case: the first hint counts.
    """

    tables: tuple[Name, ...] = ()
    calls: frozenset[str] = frozenset()
    hints: tuple[tuple[str, tuple[Option, ...]], ...] = ()

    @staticmethod
    def of(statements: Iterable[Statement]) -> Uses:
        """What ``statements`` use together, in their order."""
        used = [each for statement in statements for each in _used(statement, frozenset())]
        references = [each for each in used if isinstance(each, TableRef)]
        hints = dict[str, tuple[Option, ...]]()
        for reference in references:
            if reference.hints:
                hints.setdefault(reference.name.text.lower(), reference.hints)
        names = [each.name if isinstance(each, TableRef) else each for each in used]
        return Uses(
            tuple(name for name in names if isinstance(name, Name)),
            frozenset(name for name in names if isinstance(name, str)),
            tuple(hints.items()),
        )


def _used(value: object, ctes: frozenset[str]) -> Iterator[_Used]:
    """Functions are texts; ``ctes`` are the queries of WITH that can be seen."""
    match value:
        case TableRef():
            if value.name.text.lower() not in ctes:
                yield value
            return
        case exp.Expr():
            yield from (call.name.lower() for call in value.find_all(exp.Anonymous))
            return
        case Query():
            for cte in value.ctes:
                yield from _used(cte.body, ctes)
                ctes |= {cte.name.text.lower()}
        case Insert():
            yield value.table
        case CreateTable(like=Like() as like):
            yield like.base
        case CreateSink(into=Name() as into):
            yield into
    for part in _parts(value):
        yield from _used(part, ctes)


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, tuple):
        return value
    if isinstance(value, _LEAVES) or not is_dataclass(value):
        return ()
    skipped = "ctes" if isinstance(value, Query) else ""
    return (getattr(value, part.name) for part in fields(value) if part.name != skipped)


def subject(statement: Statement) -> str:
    """The name that a statement declares, changes or asks about; empty where it has none."""
    match statement:
        case CreateTable(name=name) | CreateView(name=name) | CreateFunction(name=name):
            return name.text
        case AlterTable(name=name) | Drop(name=name) | Describe(name=name):
            return name.text
        case CreateSink(name=Name() as name):
            return name.text
    return ""
