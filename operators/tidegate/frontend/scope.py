"""What a name can mean in a query: fields of the table that FROM gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tidegate.errors import BindError, did_you_mean
from tidegate.frontend.source import Source
from tidegate.frontend.syntax import ROWTIME, Name
from tidegate.frontend.typecheck import TypeChecker
from tidegate.plan.nodes import Node


@dataclass(frozen=True, slots=True)
class Field:
    """A column that can be named. ``path`` is how (``a`` or ``a.b.c``), ``column`` the plan's.

    A nested time column is a plan column of its own: it has a path of several names and is
    ``hidden`` from ``*``.
    """

    path: tuple[str, ...]
    column: str
    type: str
    hidden: bool = False

    @property
    def name(self) -> str:
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class Relation:
    """A planned table: its node, the fields that can be named, and the name it goes by.

    ``final``: its rows come from windows in Flink's form, whose groups are emitted when they close
    without a word about it. ``before``: time columns, each with the column that holds the watermark
    before the row, where a query asks for it.
    """

    node: Node
    fields: tuple[Field, ...]
    alias: str = ""
    final: bool = False
    before: tuple[tuple[str, str], ...] = ()

    def named(self, alias: Name | None) -> Relation:
        return self if alias is None else replace(self, alias=alias.text)

    @property
    def visible(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if not field.hidden)


@dataclass(frozen=True, slots=True)
class Found:
    """A resolved name: a field, and the struct fields that are taken out of it."""

    field: Field
    inside: tuple[str, ...] = ()


class Scope:
    """Looks up names among the fields of one relation."""

    def __init__(self, source: Source, relation: Relation, checker: TypeChecker) -> None:
        self.source = source
        self.relation = relation
        self._checker = checker

    def find(self, path: tuple[Name, ...]) -> Found:
        """The field that ``path`` names. Raises BindError."""
        found = self._lookup(path)
        if found is None and len(path) > 1 and matches(path[0], self.relation.alias):
            found = self._lookup(path[1:])
            if found is None:
                raise self._unknown(path[1])
        if found is None:
            raise self._unknown(path[0])
        return found

    def try_find(self, path: tuple[Name, ...]) -> Found | None:
        """Like `find`, but None where the first name is unknown."""
        found = self._lookup(path)
        if found is None and len(path) > 1 and matches(path[0], self.relation.alias):
            found = self._lookup(path[1:])
        return found

    def _lookup(self, path: tuple[Name, ...]) -> Found | None:
        for length in range(len(path), 0, -1):
            candidates = [
                field
                for field in self.relation.fields
                if len(field.path) == length and _all_match(path[:length], field.path)
            ]
            if len(candidates) > 1:
                raise BindError(
                    f"column '{path[0].text}' is ambiguous: there are {len(candidates)} of it",
                    self.source.position(path[0].span),
                    hint="give them different names with AS",
                )
            if candidates:
                return Found(candidates[0], self._inside(candidates[0], path, length))
        return None

    def _inside(self, field: Field, path: tuple[Name, ...], length: int) -> tuple[str, ...]:
        names: list[str] = []
        type_ = field.type
        for at in range(length, len(path)):
            fields = self._checker.fields(type_)
            name = next((known for known in fields if matches(path[at], known)), None)
            if name is None:
                owner = ".".join(part.text for part in path[:at])
                raise BindError(
                    f"'{owner}' has no field '{path[at].text}'"
                    if fields
                    else f"'{owner}' is {article(type_)}, it has no fields",
                    self.source.position(path[at].span),
                    hint=did_you_mean(path[at].text, fields) if fields else "",
                )
            names.append(name)
            type_ = fields[name]
        return tuple(names)

    def _unknown(self, name: Name) -> BindError:
        visible = [field.name for field in self.relation.visible]
        hint = did_you_mean(name.text, visible)
        if name.text.lower() == ROWTIME:
            hint = "only a kafka table has it; pass it on by name: $rowtime AS t"
        elif not visible:
            hint = "there is no FROM here"
        return BindError(
            f"unknown column '{name.text}'", self.source.position(name.span), hint=hint
        )


def matches(name: Name, text: str) -> bool:
    """Quoted names match by their letters, others without regard to case."""
    return name.text == text if name.quoted else name.text.lower() == text.lower()


def article(type_: str) -> str:
    """``type_`` with its article."""
    return f"an {type_}" if type_[0] in "AEIOU" else f"a {type_}"


def unused(name: str, taken: Iterable[str]) -> str:
    """``name``, or with a number behind it: unlike all of ``taken``, whatever the case."""
    lowered = {other.lower() for other in taken}
    result, number = name, 2
    while result.lower() in lowered:
        result, number = f"{name}#{number}", number + 1
    return result


def unknown(source: Source, kind: str, name: Name, known: Iterable[str]) -> BindError:
    return BindError(
        f"unknown {kind} '{name.text}'",
        source.position(name.span),
        hint=did_you_mean(name.text, known) or f"declare it with CREATE TABLE {name.text} (…)",
    )


def _all_match(path: tuple[Name, ...], names: tuple[str, ...]) -> bool:
    return all(matches(name, text) for name, text in zip(path, names, strict=True))
