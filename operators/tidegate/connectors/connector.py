"""What a connector is: one object, in its folder, that says all that others ask about it.

A package of somebody else's brings one by an entry point, see `registry.GROUP`; it must be
installed where workers run, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NoReturn

from tidegate.connectors.formats import debezium
from tidegate.connectors.option_types import OP_COLUMN, Options, SourceOptions, list_of, parsed
from tidegate.engine.engine import Engine
from tidegate.errors import OptionsError
from tidegate.plan.tables import Table
from tidegate.ports import (
    Position,
    RowPlace,
    SinkCommitter,
    SinkWriter,
    SourcePlanner,
    SourceReader,
    Stage,
)

Role = Literal["source", "sink"]
_PATH = re.compile(r"(^|[._-])(path|location|file|dir|directory)s?$")
_LIVE = ("scan.watermark.idle-timeout", "scan.watermark.alignment.")


def _no_source(table: Table, _: object) -> NoReturn:
    raise OptionsError(f"connector '{table.connector}' of table '{table.name}' cannot be a source")


def _no_sink(table: Table, _: object) -> NoReturn:
    raise OptionsError(f"connector '{table.connector}' of table '{table.name}' cannot be a sink")


@dataclass(frozen=True, kw_only=True)
class Connector:
    """A connector: what its tables are made with, and what is so of them, where it is not of most.

    ``words`` are other names for it; ``variants`` those of its tables of one ``changelog.mode``, of
    which it has the ``modes``. ``aliases`` are options by other names.
    """

    name: str
    words: tuple[str, ...] = ()
    variants: Mapping[str, str] = field(default_factory=dict)
    modes: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)

    source: type[SourceOptions] | None = None
    """The options of a table that is read; None: it cannot be."""
    planner: Callable[[Table, bool], SourcePlanner] = _no_source
    """Of a table; whether only what is available now is read."""
    reader: Callable[[Table, Engine], SourceReader] = _no_source
    is_bounded: Callable[[Table], bool] = lambda _: True
    """Whether a source ends by itself."""
    may_be_idle: Callable[[Collection[str]], bool] = lambda _: False
    """Whether a source with these options, `canonical`, can have splits that are idle, not ended
    (S8)."""
    ends_now: Callable[[Table, Sequence[str]], Mapping[str, int]] = lambda _, __: {}
    """The offset behind the last row of each split, where it is known without reading. Raises a
    TidegateError when the source does not answer."""
    offset_at: Callable[[Position], int | None] = lambda _: None
    """The offset at a position, of sources whose positions are offsets."""
    row_places: Callable[[Table, str, Mapping[int, bytes]], Mapping[int, RowPlace]] = (
        lambda _, __, ___: {}
    )
    """Where records of a split, by offset, stand in files; of those that are found there."""
    gives_changes: Callable[[Table], bool] = lambda _: False
    """Whether the records of a source put rows and delete them (S13)."""
    changes_by_key: bool = False
    """Whether they do where the table declares a PRIMARY KEY."""
    columns_of_key_alone: Callable[[Table], tuple[str, ...]] = lambda _: ()
    """The columns of a source that are not in its records' values, but in their keys."""

    sink: type[Options] | None = None
    """The options of a table that is written; None: it cannot be."""
    writer: Callable[[Table, Stage], SinkWriter] = _no_sink
    committer: Callable[[Table, str], SinkCommitter] = _no_sink
    """Of a table; where its writers stage what has no place of its own."""
    takes_changes: Callable[[Table], bool] = lambda _: False
    """Whether a sink can take back what it was given (S5)."""
    keeps_changes: Callable[[Table], bool] = lambda _: False
    """Whether a sink keeps each change as it comes, so that it needs no key to take one back."""
    has_keys: bool = False
    """Whether tables have a primary key of their own. It need not be told: of results that change,
    the query says what tells them apart."""
    takes_equal_rows: bool = False
    """Whether a sink can take back one of several equal rows, where nothing tells rows apart."""
    buckets: str = ""
    """The option that says how many buckets a table has; empty where it has none."""
    is_shown: bool = False
    """Whether rows are seen, and kept nowhere."""
    as_bytes: Callable[[Table], Table | None] = lambda _: None
    """A sink as one that takes records as they are; None where it cannot."""

    formats: tuple[str, ...] = ()
    """What ENCODE may say; where there are none, it is passed over."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What may be METADATA columns, with DuckDB's types."""
    read_only: frozenset[str] = frozenset()
    """The keys of those that cannot be written."""
    check: Callable[[Table, Role], None] = lambda _, __: None
    """Raises OptionProblem when the columns of a table don't fit its options."""
    passes_on: str = ""
    """What the names of options begin with that go to a client as they are; empty: none do."""
    check_passed_on: Callable[[str, str], None] = lambda _, __: None
    """Raises ValueError where the client has no such option, or not with this value."""
    is_secret: Callable[[str, str], bool] = lambda _, __: False
    """Whether nobody shall see the value of an option: no reference alone."""
    is_path: Callable[[str, str], bool] = lambda name, _: _PATH.search(name) is not None
    """Whether an option, with this value, names files: the operator's `policy` says where."""
    runs_code: Callable[[str], bool] = lambda _: False
    """Whether an option names what is run: a library, a command."""
    exposes: Callable[[Table], Iterable[str]] = lambda _: ()
    """What others on the way may read, or answer, when the table is used: in sentences. It is so
    where a password or token is sent, and TLS is off or does not look at who answers."""
    resolved: Callable[[Table], Table] = lambda table: table
    """A table as every process understands it: executors have other directories."""
    places: tuple[str, ...] = ()
    """Options that say where a table is."""
    feeds: Callable[[Table, Table], bool] = lambda _, __: False
    """Whether rows of a sink would come into a source, both of this connector."""
    reads_from: Callable[[Table, str], bool] = lambda _, __: False
    """Whether files in a directory would come into a source."""
    writes_in: Callable[[Table, str], bool] = lambda _, __: False
    """Whether a sink lies in a directory."""
    elsewhere: str = ""
    """What to do then."""
    may_change: tuple[str, ...] = ()
    """What options begin with that make no other table for a checkpoint."""
    as_whom: tuple[str, ...] = ()
    """What options begin with that make no other table to replay into: as whom one goes there."""
    at: tuple[str, ...] = ()
    """Options that make one, although they begin so. Another server has none of the rows."""

    def canonical(self, option: str) -> str:
        """The option in the connector's own spelling: two of one spelling are one option."""
        name = option.strip().lower()
        return self.aliases.get(name, name)

    def metadata_of(self, form: str) -> Mapping[str, str]:
        """What may be METADATA columns of a table in a format, with DuckDB's types."""
        of_format = debezium.METADATA if form in debezium.ENCODINGS else {}
        return {**of_format, **self.metadata}

    def key(self, table: Table) -> tuple[str, ...] | None:
        """The columns by which a sink tells rows apart; None where it keeps all that comes.

        Empty where it was not told: `with_key` does.
        """
        if self.sink is None or not self.takes_changes(table) or self.keeps_changes(table):
            return None
        key: tuple[str, ...] | None = getattr(parsed(self.sink, table.options), "key_fields", None)
        return key

    def read_options(self, table: Table) -> SourceOptions:
        """The options of a source."""
        assert self.source is not None
        return parsed(self.source, table.options)

    def same_table(self, table: Table) -> Table:
        """``table`` with those options alone that make it another table for a checkpoint."""
        return _without(table, (*_LIVE, *self.may_change))

    def same_target(self, table: Table) -> Table:
        """``table`` with those options alone that make it another one to replay into."""
        return _without(table, self.as_whom, self.at)


def with_option(table: Table, name: str, value: str) -> Table:
    """``table`` with this value of an option."""
    return replace(table, options=tuple(sorted({**dict(table.options), name: value}.items())))


def without_key(table: Table) -> Table:
    """``table``, whose rows nothing tells apart but all they have."""
    return with_option(table, "changes.by", "row")


def with_key(table: Table, key: Iterable[str]) -> Table:
    """``table``, whose rows ``key`` tells apart."""
    return with_option(table, "key.fields", list_of(key))


def _without(table: Table, prefixes: tuple[str, ...], but: tuple[str, ...] = ()) -> Table:
    kept = [pair for pair in table.options if pair[0] in but or not pair[0].startswith(prefixes)]
    return replace(table, options=tuple(kept))


def says_changes(table: Table) -> bool:
    """Whether a source's format is that of changes, or a column says what they are."""
    return table.format in debezium.ENCODINGS or bool(table.option(OP_COLUMN))
