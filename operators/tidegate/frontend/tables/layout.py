"""Where a table's columns are: in the value of a record, or beside it as metadata.

A METADATA column has the type of its key, or one into which that is cast (Flink). Read with another
type, the key becomes a column that queries cannot name, and the declared one is computed from it;
what does not fit makes the row malformed, like any field. Written with another type, the value is
converted before it comes to the sink. Keys of bytes are texts in UTF-8 where they are declared so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from tidegate.connectors.registry import found, named
from tidegate.errors import BindError, did_you_mean
from tidegate.frontend.ast.queries import Name
from tidegate.frontend.ast.statements import ROWTIME, ColumnDef, CreateTable, Metadata
from tidegate.frontend.expressions.functions import SYSTEM_ROWTIME, call, calls, cast, sql_of
from tidegate.frontend.expressions.scalar import plan_column
from tidegate.frontend.expressions.scope import article, refuse_hidden, unused
from tidegate.frontend.expressions.typecheck import TypeChecker, TypeCheckError, is_numeric
from tidegate.frontend.syntax.datatypes import shown_type
from tidegate.plan.nodes import Expr
from tidegate.types import Column, Schema, column_named

TIMESTAMP: Final = "timestamp"
"""The key of a message's time."""
_OF_VALUE: Final = "value."
_ZONED: Final = "TIMESTAMP WITH TIME ZONE"
_TEXTS: Final[Mapping[str, str]] = {
    "BLOB": "VARCHAR",
    "MAP(VARCHAR, BLOB)": "MAP(VARCHAR, VARCHAR)",
}
"""Types with bytes, and the same with texts."""


@dataclass(frozen=True, slots=True)
class Layout:
    """``columns`` and ``metadata`` are a `Table`'s.

    ``casts``: declared columns that are computed from a column of metadata. ``rowtime``: the column
    that ``SYSTEM_ROWTIME()`` is computed from; empty where nothing asks for it.
    """

    columns: Schema
    metadata: tuple[tuple[str, str], ...] = ()
    casts: Mapping[str, exp.Expr] = field(default_factory=dict)
    rowtime: str = ""


@dataclass(frozen=True, slots=True)
class SinkLayout:
    """``declared`` is what statements give; ``columns``, of the same names, what the sink gets."""

    declared: Schema
    columns: Schema
    metadata: tuple[tuple[str, str], ...] = ()

    def converted(self, value: Expr, name: str) -> Expr:
        """``value`` of the declared type as the sink's."""
        type_ = column_named(self.columns, name).type
        if value.type == type_:
            return value
        sql = sql_of(_as(exp.Var(this=value.sql), value.type, type_))
        lost = f"a cast to {type_} does not keep the order"
        return Expr(sql, type_, value.columns, None, lost, value.text)


def connector_of(entry: CreateTable) -> str:
    """The connector that the declaration names; empty where it names none, or an unknown one."""
    word = entry.options.get("connector")
    connector = found(word) if word else None
    return connector.name if connector else ""


def has_rowtime(connector: str) -> bool:
    """Whether tables of ``connector`` have the system column ``$rowtime``."""
    return bool(connector) and TIMESTAMP in named(connector).metadata


def source_layout(
    entry: CreateTable, checker: TypeChecker, connector: str, rowtime: bool
) -> Layout:
    """The layout of a table that is read; ``rowtime``: with ``$rowtime``, if it can have it."""
    _check_names(entry, connector)
    names = [column.name.text for column in entry.columns]
    form = entry.options.format.lower()
    columns: list[Column] = []
    metadata: list[tuple[str, str]] = []
    casts: dict[str, exp.Expr] = {}
    hidden: dict[str, Column] = {}

    def beside(key: str, type_: str) -> exp.Expr:
        if key not in hidden:
            hidden[key] = Column(unused(f"metadata.{key}", [*names, ROWTIME]), type_)
        return plan_column(hidden[key].name)

    system = ""
    for column in entry.columns:
        name = column.name.text
        if column.computed is not None:
            if calls(column.computed.node, SYSTEM_ROWTIME):
                _require_rowtime(column, connector)
                system = beside(TIMESTAMP, _ZONED).name
        elif column.metadata is None:
            columns.append(Column(name, _known_type(column, checker)))
        else:
            key, given, wanted = _key(column, column.metadata, checker, connector, form)
            if wanted == given:
                columns.append(Column(name, given))
                metadata.append((name, key))
            else:
                casts[name] = _as(beside(key, given), given, wanted)
    if rowtime and has_rowtime(connector):
        columns.append(Column(ROWTIME, _ZONED))
        metadata.append((ROWTIME, TIMESTAMP))
    columns += hidden.values()
    metadata += ((column.name, key) for key, column in hidden.items())
    _require_stored(entry, columns)
    return Layout(tuple(columns), tuple(metadata), casts, system)


def sink_layout(entry: CreateTable, checker: TypeChecker, connector: str) -> SinkLayout:
    """The layout of a table that is written: without its VIRTUAL and its computed columns."""
    _check_names(entry, connector)
    declared: list[Column] = []
    columns: list[Column] = []
    metadata: list[tuple[str, str]] = []
    for column in entry.columns:
        if column.computed is not None:
            continue
        name = column.name.text
        if column.metadata is None:
            given = wanted = _known_type(column, checker)
        else:
            key, given, wanted = _key(column, column.metadata, checker, connector)
            if column.metadata.virtual:
                continue
            if key in named(connector).read_only:
                raise BindError(
                    f"'{name}' cannot be written: {key} is given by {connector.capitalize()}",
                    column.span.place,
                    hint="add VIRTUAL behind METADATA: the column is then read only",
                )
            metadata.append((name, key))
        declared.append(Column(name, wanted))
        columns.append(Column(name, given))
    _require_stored(entry, columns)
    return SinkLayout(tuple(declared), tuple(columns), tuple(metadata))


def _check_names(entry: CreateTable, connector: str) -> None:
    """Raises BindError for names that are taken or the engine's."""
    seen: dict[str, Name] = {}
    for column in entry.columns:
        refuse_hidden(column.name)
        key = column.name.text.lower()
        if key in seen:
            raise BindError(
                f"column '{column.name.text}' is declared twice",
                column.name.span.place,
                hint="names that differ only in case are one name",
            )
        if key == ROWTIME and has_rowtime(connector):
            raise BindError(
                f"'{ROWTIME}' is the system column of every {connector} table",
                column.name.span.place,
                hint=f"leave it out; to write the time of messages, declare"
                f" ts TIMESTAMP_LTZ(3) METADATA FROM '{TIMESTAMP}'",
            )
        seen[key] = column.name


def _require_stored(entry: CreateTable, columns: list[Column]) -> None:
    if not columns:
        raise BindError(
            f"table '{entry.name.text}' has only computed columns",
            entry.name.span.place,
            hint="declare the columns that are read: name TYPE",
        )


def _require_rowtime(column: ColumnDef, connector: str) -> None:
    if connector and not has_rowtime(connector):
        assert column.computed is not None
        raise BindError(
            f"connector '{connector}' has no time of its own for SYSTEM_ROWTIME()",
            column.computed.span.place,
            hint="only kafka messages have one; take the time from a column",
        )


def _key(
    column: ColumnDef, metadata: Metadata, checker: TypeChecker, connector: str, form: str = ""
) -> tuple[str, str, str]:
    """The connector's key, its type, and the type that is declared. Raises BindError."""
    key, place = metadata.key.value, metadata.key.span.place
    known = named(connector).metadata_of(form) if connector else {key: column.type or "VARCHAR"}
    if key not in known and key.startswith(_OF_VALUE):  # as Flink has what a format gives
        key = key.removeprefix(_OF_VALUE)
    if not known:
        raise BindError(
            f"connector '{connector}' has no metadata",
            place,
            hint="only kafka tables have METADATA columns;"
            f" declare {column.name.text} as a plain or a computed column",
        )
    if key not in known:
        raise BindError(
            f"a {connector} table has no metadata '{key}'", place, hint=did_you_mean(key, known)
        )
    given = checker.type_of(f"CAST(NULL AS {known[key]})", ())
    wanted = _known_type(column, checker) if column.type else given
    if not _can_be(given, wanted):
        raise BindError(
            f"metadata '{key}' is {article(given)}, '{column.name.text}' is {article(wanted)}",
            column.span.place,
            hint=f"declare {column.name.text} as {shown_type(given, 3)}",
        )
    return key, given, wanted


def _known_type(column: ColumnDef, checker: TypeChecker) -> str:
    """The column's type as DuckDB spells it."""
    try:
        return checker.type_of(f"CAST(NULL AS {column.type})", ())
    except TypeCheckError as error:
        raise BindError(
            f"the type of column '{column.name.text}' does not exist",
            column.span.place,
            detail=str(error),
        ) from None


def _can_be(given: str, wanted: str) -> bool:
    if given == wanted or _TEXTS.get(given) == wanted:
        return True
    if given.startswith("MAP") or given == "BLOB":
        return False
    if given == _ZONED and wanted in ("TIMESTAMP", "DATE"):
        return True
    return wanted == "VARCHAR" or (is_numeric(given) and is_numeric(wanted))


def _as(node: exp.Expr, given: str, wanted: str) -> exp.Expr:
    """A column of metadata as the declared type, or a value of that as the metadata."""
    if _TEXTS.get(given) == wanted:
        function = "decode"
    elif _TEXTS.get(wanted) == given:
        function = "encode"
    else:
        return cast(node, wanted)
    if "BLOB" in (given, wanted):
        return call(function, node)
    one = exp.Var(this=f"lambda x: {function}(x)")
    values = call("list_transform", call("map_values", node.copy()), one)
    return call("map", call("map_keys", node), values)
