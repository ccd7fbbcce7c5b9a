"""The options that a table has in a role, checked.

A table is a source where it is read and a sink where it is written; its options are checked for
the role at its first use. The first OPTIONS hint on a table in the file counts for every use of it
(FLIP-296), so that the table is read once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tidegate.connectors.connector import Connector, Role
from tidegate.connectors.option_types import OptionProblem, list_of
from tidegate.connectors.options import canonical, validate_options, written_secrets
from tidegate.connectors.registry import meant, named
from tidegate.errors import BindError, Position
from tidegate.frontend.ast.queries import Name, Option, Options
from tidegate.frontend.ast.statements import Buckets
from tidegate.frontend.source import Span
from tidegate.frontend.tables.buckets import bucket_options
from tidegate.frontend.tables.changing import changing, refuse_unused
from tidegate.plan.tables import Table
from tidegate.types import Schema

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
    key: tuple[Name, ...] = ()

    def table(
        self, name: str, columns: Schema, role: Role, metadata: tuple[tuple[str, str], ...] = ()
    ) -> Table:
        """A table of these columns. Raises BindError when they don't fit the options."""
        table = Table(name, columns, self.connector, self.format, self.options, metadata)
        connector = named(self.connector)
        changes = connector.gives_changes(table) or (connector.changes_by_key and self.key)
        if role == "source" and changes:
            table = changing(table, self.key, self.place)
        elif role == "source":
            refuse_unused(table, self.places)
        try:
            connector.check(table, role)
        except OptionProblem as problem:
            place = self.places.get(problem.option, self.place)
            raise BindError(problem.message, place, hint=problem.hint) from None
        return connector.resolved(table)


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
        name, raw["type"] = of.name, "upsert"
    has_keys = of is not None and of.has_keys
    is_envelope = _form(raw, options).startswith("debezium") and bool(of and of.modes)
    keeps_last = raw.get("type") == "upsert" or (role == "sink" and (has_keys or is_envelope))
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
        at = _hidden(at, written_secrets(raw))
        at = _masked(at) if problem.secret else at
        raise BindError(problem.message, at, detail=problem.detail, hint=problem.hint) from None
    given_form = dict(pairs).get("format", "")
    places = {connector.canonical(key): span.place for key, span in spans.items()}
    place = next((places[key] for key in places if key in connector.places), options.span.place)
    return Connection(connector.name, given_form, pairs, place, places, key)


def takes_changes(options: Options, hints: tuple[Option, ...] = ()) -> bool:
    """Whether a sink with these options, unchecked yet, can take back what it was given."""
    items = (*options.items, *hints)
    raw = {option.key.value.strip().lower(): option.value.value for option in items}
    word = raw.get("connector", "").strip().lower()
    of = meant(word)
    if of is None:
        return False
    mode = of.variants.get(word) or raw.get(_MODE, "").strip().lower() or raw.get("type", "")
    given = {**raw, "type": mode.strip().lower()}
    pairs = tuple(sorted(given.items()))
    return of.takes_changes(Table("", (), of.name, _form(raw, options), pairs))


def _form(raw: Mapping[str, str], options: Options) -> str:
    """The format as it was written, hints among ``raw``, in lower case."""
    form = raw.get("format") or raw.get("value.format") or options.format
    return form.strip().lower()


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
