"""The plan: a tree of frozen nodes over tables, from which fragments are cut (design §2).

Nodes are values: equal subtrees are one subtree, so two queries over one table read and filter it
once. Scalar expressions are `Expr`: DuckDB SQL over the input's column names plus what the passes
need to know of it, worked out by the frontend, so that nothing below it parses SQL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tidegate.errors import Position
from tidegate.plan.aggregate_types import LISTS, SORTED
from tidegate.plan.early import Early
from tidegate.plan.strategies import Adaptive, PerKey
from tidegate.plan.user_functions import UserFunction
from tidegate.types import Column, Schema, column_named

PROC_TIME_SQL = "getvariable('epoch_time')"
"""How `PROC_TIME()` is spelled in an `Expr`: the engine sets it to the epoch's recorded time."""


@dataclass(frozen=True, slots=True)
class Expr:
    """A scalar expression, evaluated by DuckDB over one row.

    ``sql`` names columns in double quotes. ``monotone_in`` is the one column in which the value
    never falls while that column rises, all other parts being constants; None where that is not
    so, with the reason in ``lost`` (S4). ``text`` is the expression as the user wrote it. With
    ``shift_us`` it is one timestamp column moved by so many microseconds, and of that column's
    type: operators then need no engine for it.
    """

    sql: str
    type: str
    columns: frozenset[str] = frozenset()
    monotone_in: str | None = None
    lost: str = ""
    text: str = ""
    shift_us: int | None = None

    @property
    def is_column(self) -> bool:
        """Whether the expression is nothing but a column."""
        return len(self.columns) == 1 and self.sql == quoted(next(iter(self.columns)))


def quoted(name: str) -> str:
    """``name`` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


NEVER: Final = Expr("CAST(NULL AS BIGINT)", "BIGINT", text="the table has ended")
"""The strategy of a watermark that no row moves."""


def column_expr(column: Column) -> Expr:
    """The expression that is just ``column``."""
    sql = quoted(column.name)
    return Expr(sql, column.type, frozenset([column.name]), column.name, "", column.name)


@dataclass(frozen=True, slots=True)
class Table:
    """A declared source or sink. ``columns`` are physical: computed ones are a `Project` above.

    ``options`` are the validated WITH options as (name, value), names lower-case and in the
    connector's own spelling, sorted. ``metadata`` says which of the columns are not decoded from
    the record's value: (column, key), the key being the connector's (kafka: ``timestamp``, …).
    """

    name: str
    columns: Schema
    connector: str
    format: str
    options: tuple[tuple[str, str], ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)


@dataclass(frozen=True, slots=True)
class Node:
    """Base of all plan nodes. ``schema`` is the output; hidden columns are not part of it."""

    schema: Schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    def on(self, inputs: Sequence[Node]) -> Node:
        """This node over other inputs, as many as it has."""
        assert not inputs
        return self

    def column_of(self, name: str) -> Column:
        return column_named(self.schema, name)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, inputs first."""
        for node in self.inputs:
            yield from node.walk()
        yield self


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """A node with one input."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    def on(self, inputs: Sequence[Node]) -> Node:
        (below,) = inputs
        return replace(self, input=below)


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """Reads a table: its columns, then the ``computed`` ones (over the physical columns).

    A row whose computed column cannot be computed is `malformed`, like one that cannot be decoded.
    ``account`` names the account (S7) of everything that reads through this node: the table's
    name, or ``table#2`` for the second watermark declaration on it.
    """

    table: Table
    computed: tuple[tuple[str, Expr], ...]
    account: str


@dataclass(frozen=True, slots=True)
class WatermarkFilter(Unary):
    """S2. ``strategy`` is evaluated for each row of the input and has the type of ``column``.

    ``id`` is unique in the job and names the filter's state. ``account`` is shared by filters
    stacked on each other (one chain, one account). ``skew_us_max`` is S11's guard (0: off) and
    ``unit_us`` the microseconds in one unit of the column (0: not a time, which turns the guard
    off). A strategy that cannot be computed for a row counts as NULL.

    ``adaptive`` takes the place of the strategy, which is then the column itself. ``periodic_us``
    above 0 is ``on-periodic`` (S10): the watermark advances at barriers that lie so far apart.
    ``before`` names a column, part of ``schema``, that gets the split's watermark before the row
    (``CURRENT_WATERMARK``), NULL while there is none; empty: nobody asks. ``clock``: the column is
    the processing time, so at every barrier its watermark is what the strategy gives for the
    epoch's recorded time, rows or not (S4). ``per``: keys of the rows have watermarks of their own.
    """

    id: str
    account: str
    column: str
    strategy: Expr
    skew_us_max: int
    unit_us: int
    adaptive: Adaptive | None = None
    periodic_us: int = 0
    before: str = ""
    clock: bool = False
    per: PerKey | None = None

    @property
    def is_end(self) -> bool:
        """Whether it says nothing but that a table has ended: no row has a candidate. Nobody has
        declared it, and it needs no state."""
        return self.strategy == NEVER


@dataclass(frozen=True, slots=True)
class Project(Unary):
    """Computes ``columns``: (name, expression over the input). Hidden columns pass."""

    columns: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Filter(Unary):
    """Keeps the rows for which ``predicate`` is true."""

    predicate: Expr


@dataclass(frozen=True, slots=True)
class Window(Unary):
    """Adds ``window_start`` and ``window_end`` of the type of ``time_column``, in its unit.

    A row stands in the output once for each window that has its time. ``size`` is the length of
    the longest window; ``offset`` moves all of them against the Unix epoch. ``with_time`` adds
    ``window_time`` too, the last millisecond of the window (Flink), of a timestamp.
    """

    time_column: str
    size: int
    offset: int = 0
    with_time: bool = False

    @property
    def pane(self) -> int:
        """Times in one pane ``[offset + n * pane, offset + (n + 1) * pane)`` share all windows."""
        return self.size


@dataclass(frozen=True, slots=True)
class Tumble(Window):
    """One window for each time: ``[start, start + size)``, starts congruent to ``offset``."""


@dataclass(frozen=True, slots=True)
class Hop(Window):
    """Windows ``[start, start + size)``, starts congruent to ``offset`` modulo ``slide``.

    ``size`` is a multiple of ``slide``; a time is in ``size / slide`` of them.
    """

    slide: int = field(kw_only=True)

    @property
    def pane(self) -> int:
        return self.slide


@dataclass(frozen=True, slots=True)
class Cumulate(Window):
    """Windows ``[start, start + n * step)`` up to ``size``, starts congruent modulo ``size``.

    ``size`` is a multiple of ``step``.
    """

    step: int = field(kw_only=True)

    @property
    def pane(self) -> int:
        return self.step


@dataclass(frozen=True, slots=True)
class Session(Unary):
    """Adds ``window_start`` and ``window_end`` of sessions, for each value of ``keys`` its own.

    A session is ``[first, last + gap)``: its rows are less than ``gap`` apart, and a row exactly
    one gap later begins the next one (S4). ``with_time`` as of `Window`.
    """

    time_column: str
    keys: tuple[str, ...]
    gap: int
    with_time: bool = False


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column to sort by, in either direction, with its NULLs at either end."""

    column: str
    descending: bool = False
    nulls_first: bool = False

    @property
    def sql(self) -> str:
        """The key behind its column in SQL: ``DESC NULLS LAST``."""
        direction = "DESC" if self.descending else "ASC"
        return f"{direction} NULLS {'FIRST' if self.nulls_first else 'LAST'}"


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate: ``output`` = ``function(argument)``, over the rows where ``where`` is true.

    ``function`` is one of tidegate.plan.aggregate_types.FUNCTIONS. ``argument``, ``where`` and
    those in ``order`` are columns of the input (projected below). ``order`` is that of a list, and
    the ascending one in which FIRST_VALUE, LAST_VALUE, MIN_BY and MAX_BY choose. What it leaves
    open, split and offset decide if the rows have them (``by_source``), else the value.
    ``parameter`` is a constant, as SQL: a separator, a fraction.
    """

    output: Column
    function: str
    argument: str | None = None
    distinct: bool = False
    where: str | None = None
    order: tuple[SortKey, ...] = ()
    by_source: bool = False
    parameter: str | None = None

    @property
    def grows(self) -> bool:
        """Whether a group's state grows with its rows."""
        return self.distinct or self.function in LISTS | SORTED

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input that are read."""
        named = (self.argument, self.where, *(key.column for key in self.order))
        return tuple(name for name in named if name is not None)


@dataclass(frozen=True, slots=True)
class Aggregate(Unary):
    """Groups by the input columns ``keys``; output is the keys, then the calls' outputs.

    ``closing_key`` is the key whose watermark closes groups (EMIT ON WINDOW CLOSE): a group is
    final once its value is below that watermark. One that ``updates`` emits changes: every one at
    once, and it may do without a closing key (empty), then its groups stay; or, with ``early``,
    what changed at ticks and when groups close. Its input has the column `TICK` then.
    """

    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    closing_key: str
    updates: bool = False
    early: Early | None = None

    @property
    def ordered_keys(self) -> tuple[str, ...]:
        """The keys in the order of results: the closing key first."""
        closing = (self.closing_key,) if self.closing_key else ()
        return (*closing, *(key for key in self.keys if key != self.closing_key))


@dataclass(frozen=True, slots=True)
class Sort(Unary):
    """EMIT ON WINDOW CLOSE sort: rows ascending by ``column``, then by ``keys``, then ``ties``.

    Below the watermark all rows are known, so they leave in order; the output's order is total
    over the whole job (parallel sorts, one last merge). ``keys`` are what the query orders by
    besides; ``ties``, ascending, are hidden or visible columns.
    """

    column: str
    ties: tuple[str, ...]
    keys: tuple[SortKey, ...] = ()

    @property
    def order(self) -> tuple[SortKey, ...]:
        """All that decides, in order."""
        return (SortKey(self.column), *self.keys, *(SortKey(tie) for tie in self.ties))


@dataclass(frozen=True, slots=True)
class Sink(Unary):
    """Writes its input into ``table``; columns are matched by position and already cast."""

    table: Table


@dataclass(frozen=True, slots=True)
class LedgerCopy:
    """A table that gets the ledger's rows too: its ``columns`` are SQL over ``LEDGER_SCHEMA``."""

    table: Table
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Job:
    """All statements of a file: one Spark query, each source read once, any number of sinks.

    ``places`` says of each source table where the file says what it reads (its ``path`` option, or
    all of its options), for errors that show only when somebody looks there.
    """

    name: str
    sinks: tuple[Sink, ...]
    settings: tuple[tuple[str, str], ...] = ()
    places: tuple[tuple[str, Position], ...] = ()
    ledger: LedgerCopy | None = None
    functions: tuple[UserFunction, ...] = ()


def time_zone(job: Job) -> str:
    """The session's time zone (S12)."""
    return dict(job.settings).get("table.local-time-zone", "UTC")
