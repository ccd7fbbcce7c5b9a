"""The plan: a tree of frozen nodes over tables, from which fragments are cut (design §2).

Nodes are values: equal subtrees are one subtree, so two queries over one table read and filter it
once. Scalar expressions are `Expr`: DuckDB SQL over the input's column names plus what the passes
need to know of it, worked out by the frontend, so that nothing below it parses SQL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, TypeAlias

from tidegate.errors import Position
from tidegate.plan.strategies import Adaptive, PerKey
from tidegate.plan.tables import Table
from tidegate.plan.texts import duration, length
from tidegate.plan.user_functions import UserFunction
from tidegate.types import Column, Schema, column_named

PROC_TIME_SQL = "getvariable('epoch_time')"
"""How `PROC_TIME()` is spelled in an `Expr`: the engine sets it to the epoch's recorded time."""


INSTEAD_OF: Final = "__instead_of"
"""A macro of what release 0.1 had computed, and what is computed in its place: its value. So what a
release reads better is the same expression to a checkpoint (see `tidegate.plan.names`)."""


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

    @property
    def shown(self) -> str:
        """The expression, as EXPLAIN has it."""
        return self.text or self.sql


def quoted(name: str) -> str:
    """``name`` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


ASIDE: Final = {"aside": True}
"""Metadata of a field of a node that makes no other job, and no other state."""


NEVER: Final = Expr("CAST(NULL AS BIGINT)", "BIGINT", text="the table has ended")
"""The strategy of a watermark that no row moves."""


def column_expr(column: Column) -> Expr:
    """The expression that is just ``column``."""
    sql = quoted(column.name)
    return Expr(sql, column.type, frozenset([column.name]), column.name, "", column.name)


@dataclass(frozen=True, slots=True)
class Node:
    """Base of all plan nodes. ``schema`` is the output; hidden columns are not part of it.

    What an operator *is*, its class says, and the passes ask for it.
    """

    row_wise: ClassVar[bool] = False
    """Each row becomes rows of the output by itself and at once."""
    stateful: ClassVar[bool] = False
    """It keeps rows, or what became of them, for longer than an epoch; not those that keep
    something of each split (`PerSplit`)."""
    gives_splits: ClassVar[bool] = True
    """Rows of a source leave as rows of that source: each of a split, at an offset."""

    schema: Schema

    @property
    def repeats(self) -> bool:
        """Whether a row may leave several times."""
        return False

    @property
    def waits_for(self) -> tuple[tuple[Node, str], ...]:
        """The columns of its inputs whose watermarks make its results final."""
        return ()

    @property
    def title(self) -> str:
        """The operator, with what matters about it, in a line of EXPLAIN."""
        return type(self).__name__

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    def on(self, inputs: Sequence[Node]) -> Node:
        """This node over other inputs, as many as it has."""
        assert not inputs
        return self

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        """Which columns it reads of each input, if these of its own are ``wanted``."""
        del wanted
        return tuple({column.name for column in below.schema} for below in self.inputs)

    @property
    def state(self) -> Iterator[str]:
        """Bounds on what it keeps between epochs, a line of EXPLAIN each; none is nothing kept."""
        return iter(())

    def column_of(self, name: str) -> Column:
        return column_named(self.schema, name)

    def span(self, column: str, units: int) -> str:
        """A length in the unit of ``column``, as EXPLAIN has it."""
        return length(self.column_of(column).type, units)

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
class Binary(Node):
    """A node with two inputs."""

    left: Node
    right: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def on(self, inputs: Sequence[Node]) -> Node:
        left, right = inputs
        return replace(self, left=left, right=right)


@dataclass(frozen=True, slots=True)
class PerSplit(Unary):
    """Keeps something of each split: in the epoch log, or in a state store.

    ``id`` is unique in the job and names it there; ``account`` is that of the scan below.
    """

    id: str
    account: str


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

    @property
    def title(self) -> str:
        computed = f", computes {', '.join(n for n, _ in self.computed)}" * bool(self.computed)
        return f"Scan {self.table.name} ({self.table.connector}, {self.table.format}){computed}"


@dataclass(frozen=True, slots=True)
class WatermarkFilter(PerSplit):
    """S2. ``strategy`` is evaluated for each row of the input and has the type of ``column``.

    ``account`` is shared by filters stacked on each other (one chain, one account).
    ``skew_us_max`` is S11's guard (0: off) and ``unit_us`` the microseconds in one unit of the
    column (0: not a time, which turns the guard off). A strategy that cannot be computed for a row
    counts as NULL.

    ``adaptive`` takes the place of the strategy, which is then the column itself. ``periodic_us``
    above 0 is ``on-periodic`` (S10): the watermark advances at barriers that lie so far apart.
    ``before`` names a column, part of ``schema``, that gets the split's watermark before the row
    (``CURRENT_WATERMARK``), NULL while there is none; empty: nobody asks. ``clock``: the column is
    the processing time, so at every barrier its watermark is what the strategy gives for the
    epoch's recorded time, rows or not (S4). ``per``: keys of the rows have watermarks of their own.
    """

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

    @property
    def title(self) -> str:
        parts = [self.strategy.shown]
        if self.adaptive is not None:
            parts += self.adaptive.unusual
        if self.per is not None:
            expiry = self.per.span
            after = duration(expiry * self.unit_us) if self.unit_us else f"{expiry:,}"
            parts.append(f"per ({', '.join(self.per.keys)}) expiring after {after}")
        if self.periodic_us:
            parts.append(f"on-periodic every {duration(self.periodic_us)}")
        if self.before:
            parts.append(f"with CURRENT_WATERMARK({self.column})")
        return f"WatermarkFilter {self.id}: {self.column} AS {', '.join(parts)}"

    @property
    def state(self) -> Iterator[str]:
        yield "state: one watermark per split"
        if self.adaptive is not None:
            records = f"{self.adaptive.records:,}"
            yield f"state: per split, how far out of order its last {records} records were"
        if self.per is not None:
            keys = ", ".join(self.per.keys)
            yield f"state: per split, one watermark per ({keys}) that has not expired"


Refusing: TypeAlias = Scan | WatermarkFilter
"""What refuses rows of a source, and has an account for them (S7): it runs once for each split, has
whole records, and ends in a merge of its splits."""


@dataclass(frozen=True, slots=True)
class Project(Unary):
    """Computes ``columns``: (name, expression over the input). Hidden columns pass."""

    row_wise: ClassVar[bool] = True

    columns: tuple[tuple[str, Expr], ...]

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        exprs = (expr for name, expr in self.columns if name in wanted)
        return (set().union(*(expr.columns for expr in exprs)),)

    @property
    def title(self) -> str:
        return f"Project {', '.join(self._shown(name, expr) for name, expr in self.columns)}"

    @staticmethod
    def _shown(name: str, expr: Expr) -> str:
        if expr.is_column and name in expr.columns:
            return name
        return f"{expr.shown} AS {name}"


@dataclass(frozen=True, slots=True)
class Filter(Unary):
    """Keeps the rows for which ``predicate`` is true."""

    row_wise: ClassVar[bool] = True

    predicate: Expr

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        return (wanted | self.predicate.columns,)

    @property
    def title(self) -> str:
        return f"Filter {self.predicate.shown}"


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

    @property
    def text(self) -> str:
        """The key, as EXPLAIN has it, which leaves out what is usual."""
        unusual = self.nulls_first != self.descending
        nulls = f" NULLS {'FIRST' if self.nulls_first else 'LAST'}" if unusual else ""
        return self.column + " DESC" * self.descending + nulls


@dataclass(frozen=True, slots=True)
class Sort(Unary):
    """EMIT ON WINDOW CLOSE sort: rows ascending by ``column``, then by ``keys``, then ``ties``.

    Below the watermark all rows are known, so they leave in order; the output's order is total
    over the whole job (parallel sorts, one last merge). ``keys`` are what the query orders by
    besides; ``ties``, ascending, are hidden or visible columns.
    """

    stateful: ClassVar[bool] = True

    column: str
    ties: tuple[str, ...]
    keys: tuple[SortKey, ...] = ()

    @property
    def waits_for(self) -> tuple[tuple[Node, str], ...]:
        return ((self.input, self.column),)

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        return (wanted | {key.column for key in self.order},)

    @property
    def by(self) -> str:
        """What the query orders by, as EXPLAIN has it."""
        return ", ".join([self.column, *(key.text for key in self.keys)])

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
