"""Queries as they were written, before any name is looked up, and the parts of all statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlglot import exp

from tidegate.frontend.source import Span
from tidegate.plan.joins import JoinKind
from tidegate.plan.match import SkipTo
from tidegate.plan.pattern import Pattern


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier; a quoted one matches by its exact letters."""

    text: str
    quoted: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Text:
    """A text constant."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar expression as sqlglot read it; ``text`` where ``span`` is that of more."""

    node: exp.Expr
    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """``'key' = 'value'`` of a WITH clause, a hint or SET."""

    key: Text
    value: Text


@dataclass(frozen=True, slots=True)
class Options:
    """A WITH clause (or the statement, where there is none) and FORMAT … ENCODE …."""

    items: tuple[Option, ...]
    span: Span
    encode: Text | None = None

    def get(self, name: str) -> str:
        """The value of the option called ``name``, in any case; empty where it is not said."""
        values = (each.value.value for each in self.items if each.key.value.lower() == name)
        return next(values, "")

    @property
    def format(self) -> str:
        """That of the records, in lower case; empty where it is not said."""
        said = self.get("format") or self.get("value.format")
        return (said or (self.encode.value if self.encode else "")).strip().lower()


@dataclass(frozen=True, slots=True)
class TableRef:
    """A table, view or CTE by name. ``hints`` are those of ``/*+ OPTIONS(…) */``."""

    name: Name
    alias: Name | None
    hints: tuple[Option, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class SubqueryRef:
    """``(query) AS alias``; with LATERAL it may be about the row of the tables before it."""

    query: Query
    alias: Name | None
    span: Span
    lateral: bool = False


WindowKind: TypeAlias = Literal["TUMBLE", "HOP", "CUMULATE", "SESSION"]


@dataclass(frozen=True, slots=True)
class WindowRef:
    """``TUMBLE(input, column, size[, offset])`` and its relatives, by ``kind``.

    ``step`` is what stands before the size of a HOP (how far apart windows begin) and of a CUMULATE
    (by how much they grow). The ``size`` of a SESSION is its gap, and ``keys`` are those whose
    sessions they are. ``final``: the column stands in DESCRIPTOR(…), or arguments have names.
    That is Flink's form, in which groups of windows are emitted when they close, without a word
    about it, and rows have a ``window_time`` besides.
    """

    kind: WindowKind
    input: Relation
    column: Scalar
    step: Scalar | None
    size: Scalar
    offset: Scalar | None
    final: bool
    alias: Name | None
    span: Span
    keys: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True)
class Per:
    """``PER (keys) EXPIRE AFTER expiry``, behind the strategy of a watermark."""

    keys: tuple[Scalar, ...]
    expiry: Scalar
    span: Span


@dataclass(frozen=True, slots=True)
class WatermarkRef:
    """``WATERMARK(input, column, strategy)``."""

    input: Relation
    column: Scalar
    strategy: Scalar
    alias: Name | None
    span: Span
    per: Per | None = None


@dataclass(frozen=True, slots=True)
class JoinRef:
    """``left JOIN right ON condition``, or USING columns, or neither (a comma, CROSS JOIN).

    ``as_of`` is the time of ``right FOR SYSTEM_TIME AS OF left.time``. ``nearest``: ASOF JOIN.
    """

    kind: JoinKind
    left: Relation
    right: Relation
    condition: Scalar | None
    using: tuple[Name, ...]
    span: Span
    as_of: Scalar | None = None
    nearest: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """``value AS name`` of MEASURES."""

    value: Scalar
    name: Name


@dataclass(frozen=True, slots=True)
class Define:
    """``variable AS condition`` of DEFINE."""

    variable: Name
    condition: Scalar


@dataclass(frozen=True, slots=True)
class MatchRef:
    """``input MATCH_RECOGNIZE (…)``, a row for each match.

    ``pattern`` is that of the plan, its variables in upper case; ``skip_to`` says where the next
    match may begin, ``skip_variable`` behind which variable. ``names`` are the variables of the
    pattern as they were written.
    """

    input: Relation
    keys: tuple[Scalar, ...]
    order: tuple[OrderItem, ...]
    measures: tuple[Measure, ...]
    skip_to: SkipTo
    skip_variable: Name | None
    pattern: Pattern
    pattern_span: Span
    names: tuple[Name, ...]
    within: Scalar | None
    defines: tuple[Define, ...]
    alias: Name | None
    span: Span


Relation: TypeAlias = TableRef | SubqueryRef | WindowRef | WatermarkRef | JoinRef | MatchRef


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a SELECT list; ``value`` None means ``*`` or ``qualifier.*``."""

    value: Scalar | None
    alias: Name | None
    qualifier: Name | None
    span: Span


@dataclass(frozen=True, slots=True)
class OrderItem:
    """``value [ASC | DESC] [NULLS FIRST | LAST]``; NULL is the largest value unless they say."""

    value: Scalar
    descending: bool
    nulls_first: bool
    span: Span


@dataclass(frozen=True, slots=True)
class NamedWindow:
    """``WINDOW name AS (…)``; ``window`` is a call's OVER clause without the call."""

    name: Name
    window: exp.Window
    span: Span


@dataclass(frozen=True, slots=True)
class Cte:
    name: Name
    body: Query | Relation


@dataclass(frozen=True, slots=True)
class Emit:
    """``EMIT ON WINDOW CLOSE [EARLY EVERY early]``."""

    early: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """``LIMIT rows OFFSET offset``; ``per`` keys, if there are some; ``ties``: WITH TIES, and those
    that are equal to the last one in the order."""

    rows: int
    offset: int
    span: Span
    per: tuple[Scalar, ...] = ()
    ties: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT with its clauses; ``emit`` is EMIT ON WINDOW CLOSE.

    ``further`` are the other parts of a UNION ALL, whose order and EMIT are those of the whole;
    ``united_distinct`` where it is a UNION, which gives each row once; ``compared`` INTERSECT or
    EXCEPT where it is that.
    ``group_by`` are all keys; ``sets`` the keys of each grouping, where there are several.
    ``unbounded``: ALLOW UNBOUNDED, state may grow as long as the job runs.
    ``limit`` says how many rows there are at most, in its order; ``distinct_on`` of what the first
    one alone is there.
    ``qualify`` is a condition on what OVER computes, ``windows`` are those of the WINDOW clause.
    ``ttls`` are those of the hint STATE_TTL.
    """

    ctes: tuple[Cte, ...]
    items: tuple[Item, ...]
    source: Relation | None
    where: Scalar | None
    group_by: tuple[Scalar, ...]
    group_span: Span | None
    having: Scalar | None
    order_by: tuple[OrderItem, ...]
    emit: Emit | None
    span: Span
    further: tuple[Query, ...] = ()
    windows: tuple[NamedWindow, ...] = ()
    qualify: Scalar | None = None
    sets: tuple[tuple[Scalar, ...], ...] = ()
    distinct: bool = False
    united_distinct: bool = False
    compared: str = ""
    unbounded: bool = False
    limit: Limit | None = None
    distinct_on: tuple[Scalar, ...] = ()
    ttls: tuple[Option, ...] = ()

    @property
    def value(self) -> Scalar | None:
        """That of its only column, if it has one that is named."""
        return self.items[0].value if len(self.items) == 1 else None

    @property
    def first_per(self) -> tuple[Scalar, ...]:
        """Of what each the first rows are there; of all, if nothing is said."""
        return self.distinct_on if self.limit is None else self.limit.per

    @property
    def takes_first(self) -> bool:
        """Whether there are only the first rows, in the order that is said."""
        return self.limit is not None or bool(self.distinct_on)

    @property
    def head(self) -> Span:
        """The word with which the query begins."""
        start = self.span.start
        return self.span.cut(start, min(self.span.end, start + len("SELECT")))
