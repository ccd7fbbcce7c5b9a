"""The statements of a file as they were written, before any name is looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from tidegate.frontend.ast.queries import Name, Option, Options, Per, Query, Scalar, Text
from tidegate.frontend.source import Span

ROWTIME: Final = "$rowtime"
"""The system column of kafka tables: the time of the message (seed 004)."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """``METADATA FROM 'key' [VIRTUAL]``; without FROM the key is the column's name."""

    key: Text
    virtual: bool


@dataclass(frozen=True, slots=True)
class ColumnDef:
    """A column with a ``type`` of DuckDB's, or one that is ``computed``.

    A column of ``metadata`` without a type (INCLUDE) has that of its key.
    """

    name: Name
    type: str
    computed: Scalar | None
    span: Span
    metadata: Metadata | None = None
    not_null: bool = False
    comment: str = ""


@dataclass(frozen=True, slots=True)
class WatermarkDef:
    """``WATERMARK FOR path AS strategy [PER …]``."""

    path: tuple[Name, ...]
    strategy: Scalar
    span: Span
    per: Per | None = None

    @property
    def column(self) -> str:
        """The path as a text."""
        return ".".join(name.text for name in self.path)

    @property
    def said(self) -> Span:
        """Where the strategy stands, with what is behind it."""
        return self.strategy.span if self.per is None else self.strategy.span.to(self.per.span)


@dataclass(frozen=True, slots=True)
class Buckets:
    """``DISTRIBUTED BY HASH(keys) INTO count BUCKETS``; a ``count`` of 0 is not said."""

    keys: tuple[Name, ...]
    count: int
    span: Span


Feature: TypeAlias = Literal[
    "CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS"
]
Merging: TypeAlias = Literal["INCLUDING", "EXCLUDING", "OVERWRITING"]


@dataclass(frozen=True, slots=True)
class Like:
    """``LIKE base (INCLUDING …)``: ``rules`` say how each feature of ``base`` is taken over."""

    base: Name
    rules: Mapping[Feature, Merging]
    span: Span


@dataclass(frozen=True, slots=True)
class CreateTable:
    """``like`` and ``query`` (CREATE TABLE … AS) give it columns besides those it declares."""

    name: Name
    columns: tuple[ColumnDef, ...]
    watermarks: tuple[WatermarkDef, ...]
    options: Options
    if_not_exists: bool
    span: Span
    keys: tuple[Name, ...] = ()
    buckets: Buckets | None = None
    like: Like | None = None
    query: Query | None = None
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class AlterTable:
    """``ALTER TABLE``: declares a watermark anew, one more, or (without one) none."""

    name: Name
    action: Literal["MODIFY", "ADD", "DROP"]
    watermark: WatermarkDef | None
    span: Span


DropKind: TypeAlias = Literal["TABLE", "VIEW", "SINK", "FUNCTION"]


@dataclass(frozen=True, slots=True)
class Drop:
    """``DROP``: what follows knows nothing of the declaration. A SOURCE is a TABLE, and a
    materialized view a VIEW."""

    kind: DropKind
    name: Name
    if_exists: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Describe:
    """``DESCRIBE [EXTENDED]`` of a table or view; with system columns if ``extended``."""

    name: Name
    extended: bool
    span: Span


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """``CREATE FUNCTION``: with its Python source, or with the name of a module that has it.

    ``parameters`` and ``returns`` are types of DuckDB's, where the statement says them.
    """

    name: Name
    parameters: tuple[str, ...] | None
    returns: str
    code: Text | None
    module: Text | None
    vectorized: bool
    if_not_exists: bool
    span: Span
    entry: str = ""
    or_replace: bool = False


Shown: TypeAlias = Literal["TABLES", "VIEWS", "WATERMARKS"]


@dataclass(frozen=True, slots=True)
class Show:
    """``SHOW TABLES | VIEWS | WATERMARKS``: what the file has declared by then."""

    what: Shown
    span: Span


@dataclass(frozen=True, slots=True)
class CreateView:
    name: Name
    columns: tuple[Name, ...]
    query: Query
    if_not_exists: bool
    span: Span
    materialized: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateSink:
    """``CREATE SINK``: into a declared table, or with options of its own, or printing."""

    name: Name | None
    into: Name | None
    query: Query
    options: Options | None
    span: Span


@dataclass(frozen=True, slots=True)
class Insert:
    table: Name
    hints: tuple[Option, ...]
    columns: tuple[Name, ...]
    query: Query
    span: Span


@dataclass(frozen=True, slots=True)
class Explain:
    """``EXPLAIN statement``: its plan, as ``tidegate explain`` shows a file's."""

    statement: Select | Insert | CreateSink | CreateView
    span: Span


@dataclass(frozen=True, slots=True)
class CompilePlan:
    """``COMPILE PLAN path FOR INSERT …`` or a statement set; and run it if ``executes``."""

    path: Text
    inserts: tuple[Insert, ...]
    if_not_exists: bool
    executes: bool
    span: Span


@dataclass(frozen=True, slots=True)
class ExecutePlan:
    path: Text
    span: Span


@dataclass(frozen=True, slots=True)
class SetOption:
    option: Option
    span: Span


@dataclass(frozen=True, slots=True)
class Select:
    """A bare query: its rows are printed."""

    query: Query
    span: Span = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Unread:
    """A statement that cannot be read: ``names`` it may declare or change, in lower case."""

    names: frozenset[str]
    span: Span


Statement: TypeAlias = (
    CreateTable
    | AlterTable
    | Drop
    | Describe
    | CreateFunction
    | Show
    | CreateView
    | CreateSink
    | Insert
    | Explain
    | CompilePlan
    | ExecutePlan
    | SetOption
    | Select
    | Unread
)
