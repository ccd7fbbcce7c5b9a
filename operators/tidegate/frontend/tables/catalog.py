"""The tables and views of a file, and the options that a table has in a role.

A table is a source where it is read and a sink where it is written; its options are checked for
the role at its first use. The first OPTIONS hint on a table in the file counts for every use of it
(FLIP-296), so that the table is read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Final

from tidegate.connectors.connector import Connector, Role
from tidegate.connectors.option_types import OptionProblem, list_of
from tidegate.connectors.options import canonical, validate_options, written_secrets
from tidegate.connectors.registry import meant, named
from tidegate.errors import BindError, Position, UnsupportedError
from tidegate.frontend.ast.queries import Name, Option, Options, TableRef
from tidegate.frontend.ast.statements import (
    AlterTable,
    Buckets,
    CreateTable,
    CreateView,
    Statement,
)
from tidegate.frontend.expressions.scope import matches, unknown
from tidegate.frontend.source import Span
from tidegate.frontend.tables.alter import altered
from tidegate.frontend.tables.buckets import bucket_options
from tidegate.frontend.tables.like import made_like, refuse_view
from tidegate.plan.nodes import Table
from tidegate.types import HIDDEN_PREFIX, Schema

_FORMATS: Final = ("format", "value.format")
_MODE: Final = "changelog.mode"
_MODES: Final = ("append", "upsert")
"""What may be said of a topic's messages (seed 004): that they are rows, or what a key has now."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A table's connector and checked options in one role.

    ``place`` is where its ``path`` or ``topic`` is given; all of its options when it has neither;
    None when it has no options. ``places`` are those of the options, by name in lower case.
    """

    connector: str
    format: str
    options: tuple[tuple[str, str], ...]
    place: Position | None
    places: Mapping[str, Position] = field(default_factory=dict)

    def table(
        self, name: str, columns: Schema, role: Role, metadata: tuple[tuple[str, str], ...] = ()
    ) -> Table:
        """A table of these columns. Raises BindError when they don't fit the options."""
        table = Table(name, columns, self.connector, self.format, self.options, metadata)
        connector = named(self.connector)
        try:
            connector.check(table, role)
        except OptionProblem as problem:
            place = self.places.get(problem.option, self.place)
            raise BindError(problem.message, place, hint=problem.hint) from None
        return connector.resolved(table)


@dataclass
class Catalog:
    """What the statements so far have declared."""

    tables: list[CreateTable] = field(default_factory=list)
    views: list[CreateView] = field(default_factory=list)

    @property
    def _entries(self) -> list[CreateTable | CreateView]:
        return [*self.tables, *self.views]

    @property
    def names(self) -> list[str]:
        return [entry.name.text for entry in self._entries]

    def declare(self, entry: CreateTable | CreateView) -> None:
        """Adds a table or view. Raises BindError when the name is taken."""
        refuse_hidden(entry.name)
        if self.keeps(entry):
            return
        for other in self._entries:
            if other.name.text.lower() == entry.name.text.lower():
                where = other.name.span.line
                raise BindError(
                    f"'{entry.name.text}' is already declared in {where}",
                    entry.name.span.place,
                    hint="give it another name",
                )
        if isinstance(entry, CreateTable):
            self.tables.append(entry)
        else:
            self.views.append(entry)

    def remove(self, name: str) -> None:
        """Forgets the table or view of that name."""
        self.tables = [entry for entry in self.tables if entry.name.text != name]
        self.views = [entry for entry in self.views if entry.name.text != name]

    def keeps(self, entry: CreateTable | CreateView) -> bool:
        """Whether IF NOT EXISTS finds that the name is declared: nothing is to be done."""
        taken = {name.lower() for name in self.names}
        return entry.if_not_exists and entry.name.text.lower() in taken

    def resolved(self, entry: CreateTable) -> CreateTable:
        """``entry`` with what it takes over from the table that it is like. Raises BindError."""
        if entry.like is None:
            return entry
        base = self.find(entry.like.base)
        if isinstance(base, CreateView):
            raise refuse_view(entry.like, base.name.text)
        return made_like(base, entry)

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

    def replace(self, entry: CreateTable) -> None:
        """Another declaration of a table, in its place."""
        self.tables = [entry if each.name == entry.name else each for each in self.tables]

    def find(self, name: Name) -> CreateTable | CreateView:
        """The table or view called ``name``. Raises BindError."""
        for entry in self._entries:
            if matches(name, entry.name.text):
                return entry
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


def connect(
    what: str,
    options: Options,
    hints: tuple[Option, ...],
    role: Role,
    defaults: Mapping[str, str] | None = None,
    key: tuple[Name, ...] = (),
    buckets: Buckets | None = None,
) -> Connection:
    """Checks the options of ``what`` for ``role``; hints win. Raises BindError with the caret.

    ``defaults`` are what the job's settings give to sources whose splits may be idle, and that do
    not say it themselves.
    ``key`` is the primary key: that of an upsert topic's messages. ``buckets`` are about a sink.
    """
    given = {option.key.value: option for option in options.items}
    for option in hints:
        given = _without(given, option.key.value)
        given[option.key.value] = option
    raw = {key: option.value.value for key, option in given.items()}
    spans = {key.lower(): option.value.span for key, option in given.items()}
    names = {key.lower(): option.key.span for key, option in given.items()}
    name = next((value for key, value in raw.items() if key.lower() == "connector"), None)
    if name is None:
        raise BindError(
            f"{what} has no connector",
            options.span.place,
            hint="add connector = 'filesystem' (or another) to WITH (…)",
        )
    of, is_upsert = _of_changes(what, raw, spans, name)
    if of is not None and is_upsert:
        if role == "source":
            raise UnsupportedError(
                f"{what} is an upsert topic, and reading one is not supported",
                options.span.place,
                hint=f"read it with connector = '{of.name}', each message as a row of its own",
            )
        name, raw["type"] = of.name, "upsert"
    has_keys = of is not None and of.has_keys
    keeps_last = role == "sink" and (raw.get("type") == "upsert" or has_keys)
    if key and keeps_last and not raw.keys() & {"key.fields", "primary_key"}:
        raw["key.fields"] = list_of(column.text for column in key)
    try:
        connector = named(name)
        if buckets is not None and role == "sink":
            raw |= bucket_options(what, buckets, connector, raw)
        encoded = not spans.keys().isdisjoint(_FORMATS)
        if options.encode and not encoded and connector.formats:
            raw["format"] = options.encode.value
            spans["format"] = options.encode.span
        said = {connector.canonical(option) for option in raw}
        if role == "source" and connector.may_be_idle(said):
            raw |= {key: value for key, value in (defaults or {}).items() if key not in said}
        pairs = validate_options(connector.name, role, raw)
    except OptionProblem as problem:
        if problem.message.startswith("unknown option"):
            spans |= names
        span = spans.get(problem.option.lower(), options.span)
        at = span.place
        at = _masked(at) if problem.secret else _hidden(at, written_secrets(raw))
        raise BindError(problem.message, at, detail=problem.detail, hint=problem.hint) from None
    form = dict(pairs).get("format", "")
    places = {connector.canonical(key): span.place for key, span in spans.items()}
    place = next((places[key] for key in places if key in connector.places), options.span.place)
    return Connection(connector.name, form, pairs, place, places)


def _of_changes(
    what: str, raw: dict[str, str], spans: Mapping[str, Span], word: str
) -> tuple[Connector | None, bool]:
    """The connector, and whether a topic's messages are what their keys have now; takes what says
    so from ``raw``."""
    name = word.strip().lower()
    of = meant(name)
    said = raw.pop(_MODE, "").strip().lower()
    mode = of.variants.get(name, said) if of else said
    if said and (of is None or said not in of.modes or said != mode):
        shown = f" of connector '{name}'" if said in _MODES else ""
        raise BindError(
            f"{what}: '{_MODE}' = '{said}'{shown} is not supported",
            spans[_MODE].place,
            hint="of kafka tables it is 'append', or 'upsert' with a PRIMARY KEY",
        )
    return of, mode == "upsert"


def _without(given: dict[str, Option], hint: str) -> dict[str, Option]:
    """``given`` without the option that a hint, by whatever name, replaces."""
    words = (option.value.value for key, option in given.items() if key.lower() == "connector")
    connector = next(words, "")
    name = canonical(connector, hint)
    return {key: option for key, option in given.items() if canonical(connector, key) != name}


def _masked(place: Position) -> Position:
    """The place of a secret, which is not shown."""
    line, start = place.source_line, place.column - 1
    shown = f"{line[:start]}'***'{line[start + place.width :]}"
    return replace(place, source_line=shown, width=5)


def _hidden(place: Position, secrets: list[str]) -> Position:
    """``place``, without ``secrets`` that stand on its line: the error is about something else."""
    line = place.source_line
    for secret in secrets:
        written = secret.replace("'", "''")
        line = line.replace(f"'{written}'", f"'{'*' * len(written)}'")
    return replace(place, source_line=line)


def first_hints(statements: list[Statement]) -> dict[str, tuple[Option, ...]]:
    """The first hint on each table that is read, by the table's name in lower case."""
    found: dict[str, tuple[Option, ...]] = {}
    for statement in statements:
        for reference in _references(statement):
            if reference.hints:
                found.setdefault(reference.name.text.lower(), reference.hints)
    return found


def refuse_hidden(name: Name) -> None:
    """Names that start with ``__`` are the engine's."""
    if name.text.startswith(HIDDEN_PREFIX):
        raise BindError(
            f"'{name.text}' is reserved: names that start with '{HIDDEN_PREFIX}' are the engine's",
            name.span.place,
            hint=f"call it '{name.text.lstrip('_') or 'c'}'",
        )


def _references(value: object) -> Iterator[TableRef]:
    if isinstance(value, TableRef):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _references(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for attribute in fields(value):
            yield from _references(getattr(value, attribute.name))
