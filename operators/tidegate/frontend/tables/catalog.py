"""What has been declared, and who uses it: a value, of which each change gives another one.

So a statement or a call that raises has changed nothing. A table is used by what reads it, writes
it or copies its columns, a function by what calls it; of what is used nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from tidegate.errors import BindError, Position, did_you_mean
from tidegate.frontend.ast.queries import Name
from tidegate.frontend.ast.statements import (
    AlterTable,
    CreateFunction,
    CreateSink,
    CreateTable,
    CreateView,
    Drop,
    DropKind,
    Insert,
    Select,
    SetOption,
    Statement,
)
from tidegate.frontend.ast.uses import Uses, subject
from tidegate.frontend.expressions.scope import matches, refuse_hidden, unknown
from tidegate.frontend.source import Span
from tidegate.frontend.tables.alter import altered
from tidegate.frontend.tables.like import made_like, refuse_view
from tidegate.plan.nodes import Sink
from tidegate.plan.user_functions import UserFunction

Declaration: TypeAlias = CreateTable | CreateView
_RELATIONS: Final = ("TABLE", "VIEW")
"""What has one namespace; functions and sinks have their own."""


@dataclass(frozen=True, slots=True)
class Written:
    """A sink, and where the file says where it writes; None for what prints.

    Several may write into one table: each is a sink of its own, and the sinks of one path keep
    apart. The second is called ``table#2``: so what is planned takes names that are ``taken``.
    """

    sink: Sink
    place: Position | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A statement that stands, and the ALTER TABLEs behind it, as they were ``written``.

    ``means`` is what it declares: a table with all its columns, and the watermarks that it has now.
    ``sinks`` are what it writes, in the file or call that has it.
    """

    written: tuple[Statement, ...]
    uses: Uses
    means: Declaration | UserFunction | None = None
    sinks: tuple[Written, ...] = ()

    @staticmethod
    def of(statement: Statement, means: Declaration | UserFunction | None = None) -> Entry:
        """The entry of one statement."""
        return Entry((statement,), Uses.of([statement]), means)

    @property
    def kind(self) -> DropKind | None:
        """What DROP calls it; None for what has no name."""
        match self.written[0]:
            case CreateTable():
                return "TABLE"
            case CreateView():
                return "VIEW"
            case CreateSink(name=Name()):
                return "SINK"
            case CreateFunction():
                return "FUNCTION"
        return None

    @property
    def name(self) -> str:
        """The name that it declares; empty where it has none."""
        return subject(self.written[0])

    def altered(self, statement: AlterTable, means: CreateTable) -> Entry:
        """The entry behind an ALTER TABLE."""
        written = (*self.written, statement)
        return replace(self, written=written, uses=Uses.of(written), means=means)

    def is_used_by(self, other: Entry) -> bool:
        """Whether ``other`` names it; nobody uses a sink."""
        if self.kind == "FUNCTION":
            return self.name.lower() in other.uses.calls
        is_relation = self.kind in _RELATIONS
        return is_relation and any(matches(each, self.name) for each in other.uses.tables)

    def shown(self, near: Span) -> str:
        """For a message at ``near``."""
        statement = self.written[0]
        match statement:
            case Insert():
                what = f"INSERT INTO {statement.table.text}"
            case Select():
                what = "the query"
            case _:
                what = f"{self.kind.lower()} '{self.name}'" if self.kind else "the statement"
        return f"{what} in {statement.span.line(near)}"


@dataclass(frozen=True, slots=True)
class Catalog:
    """``entries`` are what stands, in the order of the file; ``options`` are those of SET."""

    entries: tuple[Entry, ...] = ()
    options: tuple[SetOption, ...] = ()

    @property
    def tables(self) -> list[CreateTable]:
        return [each.means for each in self.entries if isinstance(each.means, CreateTable)]

    @property
    def views(self) -> list[CreateView]:
        return [each.means for each in self.entries if isinstance(each.means, CreateView)]

    @property
    def functions(self) -> list[UserFunction]:
        return [each.means for each in self.entries if isinstance(each.means, UserFunction)]

    @property
    def sinks(self) -> list[Written]:
        """What is written by the statements that stand."""
        return [sink for each in self.entries for sink in each.sinks]

    @property
    def names(self) -> list[str]:
        """Those of tables and views."""
        return [each.name for each in self.entries if each.kind in _RELATIONS]

    def entry(self, name: str, kinds: Collection[str] = _RELATIONS) -> Entry | None:
        """What is declared by ``name``, in any case."""
        for each in self.entries:
            if each.kind in kinds and each.name.lower() == name.lower():
                return each
        return None

    def keeps(self, statement: Declaration) -> bool:
        """Whether IF NOT EXISTS finds that the name is declared: nothing is to be done."""
        return statement.if_not_exists and self.entry(statement.name.text) is not None

    def find(self, name: Name) -> Declaration:
        """The table or view called ``name``. Raises BindError."""
        for each in self.entries:
            if isinstance(each.means, CreateTable | CreateView) and matches(name, each.name):
                return each.means
        raise unknown("table", name, self.names)

    def find_table(self, name: Name) -> CreateTable:
        """The table called ``name``, to write into. Raises BindError."""
        entry = self.find(name)
        if isinstance(entry, CreateView):
            raise BindError(
                f"'{name.text}' is a view, nothing can be written into it",
                name.span.place,
                hint="insert into a table",
            )
        return entry

    def resolved(self, table: CreateTable) -> CreateTable:
        """``table`` with what it takes over from the table that it is like. Raises BindError."""
        if table.like is None:
            return table
        base = self.find(table.like.base)
        if isinstance(base, CreateView):
            raise refuse_view(table.like, base.name.text)
        return made_like(base, table)

    def altered(self, statement: AlterTable) -> CreateTable:
        """The new declaration of a table. Raises BindError."""
        table = self.find(statement.name)
        if isinstance(table, CreateView):
            raise BindError(
                f"'{table.name.text}' is a view, it has no watermark of its own",
                statement.name.span.place,
                hint="alter the table that it reads",
            )
        return altered(table, statement)

    def check_free(self, name: Name) -> None:
        """Raises BindError when a table or view cannot have the name."""
        refuse_hidden(name)
        other = self.entry(name.text)
        if other is not None:
            raise BindError(
                f"'{name.text}' is already declared in {other.written[0].span.line(name.span)}",
                name.span.place,
                hint="give it another name",
            )

    def declare(self, entry: Entry) -> Catalog:
        """With a statement more."""
        return replace(self, entries=(*self.entries, entry))

    def replace(self, old: Entry, new: Entry) -> Catalog:
        """With ``new`` in the place of ``old``."""
        return replace(self, entries=tuple(new if e is old else e for e in self.entries))

    def without(self, *gone: Entry | None) -> Catalog:
        """Less what is ``gone``; None stands for what was not there."""
        kept = (each for each in self.entries if all(each is not other for other in gone))
        return replace(self, entries=tuple(kept))

    def users(self, of: Entry) -> list[Entry]:
        """What uses it, and what uses that, and so on; in the order of the file."""
        found = [of]
        for used in found:  # which grows
            new = [each for each in self.entries if used.is_used_by(each)]
            found += [each for each in new if all(each is not other for other in found)]
        return [each for each in self.entries if any(each is user for user in found[1:])]

    def drop(self, drop: Drop) -> tuple[Catalog, list[Entry]]:
        """Without what ``drop`` names, and that; IF EXISTS may find nothing. Raises BindError."""
        named = [each for each in self.entries if each.kind and matches(drop.name, each.name)]
        gone = [each for each in named if each.kind == drop.kind]
        shared = drop.kind in _RELATIONS and any(each.kind in _RELATIONS for each in named)
        if not gone and (shared or not drop.if_exists):
            raise self._unknown(drop, named)
        left = self.without(*gone)
        for each in left.entries:
            if gone and gone[0].is_used_by(each):
                is_job = isinstance(each.written[0], Insert | Select)
                hint = "it is of the same job: leave DROP out" if is_job else "drop that first"
                raise used(gone[0], each, drop.span, hint)
        return left, gone

    def kept(self) -> Catalog:
        """What outlives a file or call: declarations, but not a table that its job makes.

        Who reads a materialized view computes it for himself.
        """
        entries = (
            replace(each, sinks=())
            for each in self.entries
            if each.means is not None and not (each.sinks and each.kind == "TABLE")
        )
        options = {each.option.key.value.lower(): each for each in self.options}
        return Catalog(tuple(entries), tuple(options.values()))

    def _unknown(self, drop: Drop, others: list[Entry]) -> BindError:
        kind, text = drop.kind.lower(), drop.name.text
        if others:
            other = str(others[0].kind)
            return BindError(
                f"'{text}' is a {other.lower()}, not a {kind}",
                drop.name.span.place,
                hint=f"write DROP {other} {text}",
            )
        hint = did_you_mean(text, [each.name for each in self.entries if each.kind == drop.kind])
        if not hint and kind == "sink":
            hint = "a sink is its job's: where that runs, stop the job"
        return BindError(
            f"unknown {kind} '{text}'",
            drop.name.span.place,
            hint=hint or f"DROP {drop.kind} IF EXISTS takes one that is not there",
        )


def used(entry: Entry, user: Entry, at: Span, hint: str) -> BindError:
    """The error of what is dropped or replaced at ``at``, and used."""
    message = f"{str(entry.kind).lower()} '{entry.name}' is used by {user.shown(at)}"
    return BindError(message, at.place, hint=hint)
