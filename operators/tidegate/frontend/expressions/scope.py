"""What a name can mean in a query: fields of the table that FROM gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tidegate.errors import BindError, did_you_mean
from tidegate.frontend.ast.queries import Name
from tidegate.frontend.ast.statements import ROWTIME
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.plan.nodes import Expr, Node, column_expr
from tidegate.types import HIDDEN_PREFIX, Column


@dataclass(frozen=True, slots=True)
class Field:
    """A column that can be named. ``path`` is how (``a`` or ``a.b.c``), ``column`` the plan's.

    A nested time column is a plan column of its own: it has a path of several names and is
    ``hidden`` from ``*``. ``table`` is the name of its table in a join.
    """

    path: tuple[str, ...]
    column: str
    type: str
    hidden: bool = False
    table: str = ""

    @staticmethod
    def of(column: Column) -> Field:
        """A column under its own name."""
        return Field((column.name,), column.name, column.type)

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def value(self) -> Expr:
        """The plan's column as an expression."""
        return column_expr(Column(self.column, self.type))


@dataclass(frozen=True, slots=True)
class Relation:
    """A planned table: its node, the fields that can be named, and the name it goes by.

    ``final``: its rows come from windows in Flink's form, whose groups are emitted when they close
    without a word about it. ``before``: time columns, each with the column that holds the watermark
    before the row, where a query asks for it. ``key``: the columns of a table's primary key.
    """

    node: Node
    fields: tuple[Field, ...]
    alias: str = ""
    final: bool = False
    before: tuple[tuple[str, str], ...] = ()
    key: tuple[str, ...] = ()

    def named(self, alias: Name | None) -> Relation:
        return self if alias is None else self.called(alias.text)

    def called(self, alias: str) -> Relation:
        """The relation under one name."""
        fields = tuple(replace(field, table="") for field in self.fields)
        return replace(self, fields=fields, alias=alias)

    def of(self, table: Name) -> tuple[Field, ...]:
        """The fields that can be named as those of ``table``."""
        return tuple(field for field in self.fields if matches(table, field.table or self.alias))

    @property
    def tables(self) -> list[str]:
        """The names of the tables in it."""
        names = (field.table or self.alias for field in self.fields)
        return [name for name in dict.fromkeys(names) if name]

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

    def __init__(self, relation: Relation, checker: TypeChecker) -> None:
        self.relation = relation
        self._checker = checker

    def find(self, path: tuple[Name, ...]) -> Found:
        """The field that ``path`` names. Raises BindError."""
        found = self.try_find(path)
        if found is None:
            of_table = self.relation.of(path[0]) if len(path) > 1 else ()
            if of_table:
                raise self._unknown(path[1], of_table)
            raise self._unknown(path[0], self.relation.fields, is_table=len(path) > 1)
        return found

    def try_find(self, path: tuple[Name, ...]) -> Found | None:
        """Like `find`, but None where there is no such field."""
        of_table = self.relation.of(path[0]) if len(path) > 1 else ()
        found = self._lookup(path[1:], of_table) if of_table else None
        found = found or self._lookup(path, self.relation.fields)
        for start in range(1, len(path) - 1) if found is None else ():
            # A catalog and a database stand in front of the table's name, and are left aside.
            of_table = self.relation.of(path[start])
            if of_table:
                return self._lookup(path[start + 1 :], of_table)
        return found

    def _lookup(self, path: tuple[Name, ...], fields: tuple[Field, ...]) -> Found | None:
        for length in range(len(path), 0, -1):
            candidates = [
                field
                for field in fields
                if len(field.path) == length and all(map(matches, path, field.path))
            ]
            if len(candidates) > 1:
                raise self._ambiguous(path[0], candidates)
            if candidates:
                return Found(candidates[0], self._inside(candidates[0], path, length))
        return None

    def _ambiguous(self, name: Name, candidates: list[Field]) -> BindError:
        tables = [field.table for field in candidates]
        named = all(tables) and len(set(tables)) == len(tables)
        each = [f"{table}.{name.text}" for table in tables]
        return BindError(
            f"column '{name.text}' is ambiguous: {len(candidates)} columns have that name",
            name.span.place,
            hint=f"write {' or '.join(each)}" if named else "give them different names with AS",
        )

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
                    path[at].span.place,
                    hint=did_you_mean(path[at].text, fields) if fields else "",
                )
            names.append(name)
            type_ = fields[name]
        return tuple(names)

    def _unknown(self, name: Name, fields: tuple[Field, ...], is_table: bool = False) -> BindError:
        names = list(dict.fromkeys(field.name for field in fields if not field.hidden))
        tables = self.relation.tables
        hint = did_you_mean(name.text, names)
        if name.text.lower() == ROWTIME:
            hint = "only a kafka table has it; pass it on by name: $rowtime AS t"
        elif not names:
            hint = "there is no FROM here"
        elif is_table and len(tables) > 1:
            hint = did_you_mean(name.text, [*names, *tables])
        return BindError(f"unknown column '{name.text}'", name.span.place, hint=hint)


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


def unknown(kind: str, name: Name, known: Iterable[str]) -> BindError:
    return BindError(
        f"unknown {kind} '{name.text}'",
        name.span.place,
        hint=did_you_mean(name.text, known) or f"declare it with CREATE TABLE {name.text} (…)",
    )


def refuse_hidden(name: Name) -> None:
    """Names that start with ``__`` are the engine's."""
    if name.text.startswith(HIDDEN_PREFIX):
        raise BindError(
            f"'{name.text}' is reserved: names that start with '{HIDDEN_PREFIX}' are the engine's",
            name.span.place,
            hint=f"call it '{name.text.lstrip('_') or 'c'}'",
        )
