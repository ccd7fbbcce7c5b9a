"""Plans statements that write: INSERT INTO, CREATE SINK, and a bare SELECT, which prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tidegate.connectors.registry import SHOWN, VIEWS, connector_of
from tidegate.errors import BindError, did_you_mean
from tidegate.frontend.ast.queries import Name, Option, Query
from tidegate.frontend.ast.statements import (
    AlterTable,
    CreateSink,
    CreateTable,
    CreateView,
    Insert,
    Select,
)
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.scope import Field, Relation, article, matches, unused
from tidegate.frontend.expressions.typecheck import converted, is_numeric
from tidegate.frontend.queries.changes import taking_changes
from tidegate.frontend.queries.planner import environment, plan_top, plan_view
from tidegate.frontend.queries.time_to_live import everywhere, ttl_of
from tidegate.frontend.queries.unions import is_null
from tidegate.frontend.source import Span
from tidegate.frontend.tables.buckets import bound
from tidegate.frontend.tables.catalog import Written
from tidegate.frontend.tables.connections import Connection, connect, takes_changes
from tidegate.frontend.tables.declared_tables import check_table
from tidegate.frontend.tables.layout import sink_layout
from tidegate.frontend.tables.table_as import given_names, with_columns_of
from tidegate.plan.nodes import Expr, Node, Project, Scan, Sink, quoted
from tidegate.plan.projections import projected
from tidegate.plan.tables import Table
from tidegate.types import Column, Schema


def plan_table(context: Context, entry: CreateTable) -> tuple[CreateTable, Relation | None]:
    """A declaration with the columns of its query, and the plan of that, if it has one.

    What is wrong with a declaration shows at once, even if nothing uses the table.
    """
    relation = None
    if entry.query is not None:
        relation = plan_top(context, entry.query, changes=takes_changes(entry.options))
        entry = with_columns_of(entry, relation, given_names(relation, entry.query))
    names = (column.name.text for column in entry.columns)
    entry = replace(entry, buckets=bound(entry.buckets, names))
    check_table(context, entry)
    return entry, relation


def plan_table_as(
    context: Context, entry: CreateTable, query: Query, relation: Relation
) -> Written:
    """The sink that writes into a declared table the query that it is made as."""
    return _into(context, entry, given_names(relation, query), relation, query, ())


def plan_sink(context: Context, statement: Insert | CreateSink | Select) -> Written:
    """The sink of a statement that writes."""
    query = statement.query
    match statement:
        case Insert():
            return _insert(context, statement.table, statement.columns, query, statement.hints)
        case CreateSink(into=Name() as into):
            return _insert(context, into, (), query, ())
        case CreateSink():
            return _create(context, statement)
        case Select():
            return _print(context, query, SHOWN)


def plan_materialized(context: Context, view: CreateView) -> Written:
    """The sink of a materialized view: a Delta table in the checkpoint."""
    relation = plan_view(context, view, environment(context, changes=True))
    connection = Connection(VIEWS, "parquet", (), None)
    return _new(context, relation, view.name.text, connection, view.query)


def check_unread(entry: CreateTable, statement: AlterTable, sinks: Iterable[Written]) -> None:
    """Raises BindError where one of ``sinks`` reads the table that the statement alters."""
    if any(scan.table.name == entry.name.text for scan in scans_of(sinks)):
        raise BindError(
            f"table '{entry.name.text}' was read already, with the watermark it had",
            statement.span.place,
            hint="a source is read once: write ALTER TABLE before the first query on it;"
            " or WATERMARK(table, column, expression) in the query",
        )


def scans_of(sinks: Iterable[Written]) -> Iterator[Scan]:
    """The tables that ``sinks`` read."""
    return (node for each in sinks for node in each.sink.walk() if isinstance(node, Scan))


def check_paths(sinks: Sequence[Written], ledger: Table | None = None) -> None:
    """Raises BindError when a sink, or the ``ledger``'s copy, writes where the job reads."""
    tables = [(each.sink.table, each.place) for each in sinks]
    if ledger is not None:
        tables.append((ledger, None))
    for source in dict.fromkeys(scan.table for scan in scans_of(sinks)):
        for sink, place in tables:
            connector = connector_of(source)
            if sink.connector == source.connector and connector.feeds(sink, source):
                what = next(filter(None, map(source.option, connector.places)), "")
                raise BindError(
                    f"'{sink.name}' would write into what table '{source.name}' reads: '{what}'",
                    place,
                    hint=connector.elsewhere,
                )


def _insert(
    context: Context,
    name: Name,
    columns: tuple[Name, ...],
    query: Query,
    hints: tuple[Option, ...],
) -> Written:
    entry = context.catalog.find_table(name)
    relation = plan_top(context, query, changes=takes_changes(entry.options, hints))
    return _into(context, entry, columns, relation, query, hints)


def _into(
    context: Context,
    entry: CreateTable,
    columns: tuple[Name, ...],
    relation: Relation,
    query: Query,
    hints: tuple[Option, ...],
) -> Written:
    what = f"table '{entry.name.text}'"
    connection = connect(what, entry.options, hints, "sink", key=entry.keys, buckets=entry.buckets)
    layout = sink_layout(entry, context.checker, connection.connector)
    schema = layout.columns
    targets = _targets(entry, layout.declared, columns)
    name = unused(entry.name.text, context.taken)
    table = connection.table(name, schema, "sink", layout.metadata)
    _match_count(relation, targets, entry, query)
    values = {
        target.name: layout.converted(_cast(field, target, query, index), target.name)
        for index, (field, target) in enumerate(zip(relation.visible, targets, strict=True))
    }
    values |= {
        column.name: Expr(f"CAST(NULL AS {column.type})", column.type, text="NULL")
        for column in schema
        if column.name not in values
    }
    pairs = tuple((column.name, values[column.name]) for column in schema)
    node = everywhere(relation.node, ttl_of(context.settings))
    sink = Sink(schema, _projected(node, pairs), table)
    return Written(taking_changes(sink, query), connection.place)


def _create(context: Context, statement: CreateSink) -> Written:
    options = statement.options
    name = statement.name.text if statement.name else "sink"
    if options is None:
        return _print(context, statement.query, name)
    relation = plan_top(context, statement.query, changes=takes_changes(options))
    connection = connect(f"sink '{name}'", options, (), "sink")
    return _new(context, relation, name, connection, statement.query)


def _print(context: Context, query: Query, name: str) -> Written:
    relation = plan_top(context, query, changes=True)
    return _new(context, relation, name, Connection(SHOWN, "", (), None), query)


def _new(
    context: Context, relation: Relation, name: str, connection: Connection, query: Query
) -> Written:
    """A sink that has the columns of its query."""
    taken = [*context.taken, *(other for other in context.catalog.names if other != name)]
    names: list[str] = []
    columns = []
    for field in relation.visible:
        column = Column(unused(field.name, names), field.type)
        names.append(column.name)
        columns.append((column.name, field.value))
    schema = tuple(Column(column, expr.type) for column, expr in columns)
    table = connection.table(unused(name, taken), schema, "sink")
    node = everywhere(relation.node, ttl_of(context.settings))
    sink = Sink(schema, _projected(node, tuple(columns)), table)
    return Written(taking_changes(sink, query), connection.place)


def _targets(entry: CreateTable, schema: Schema, columns: tuple[Name, ...]) -> tuple[Column, ...]:
    """The columns that are written, in the order of the statement."""
    if not columns:
        return schema
    targets: list[Column] = []
    for name in columns:
        found = next((column for column in schema if matches(name, column.name)), None)
        if found is None:
            raise BindError(
                f"table '{entry.name.text}' has no column '{name.text}'",
                name.span.place,
                hint=did_you_mean(name.text, [column.name for column in schema]),
            )
        if found in targets:
            raise BindError(f"column '{name.text}' is named twice", name.span.place)
        targets.append(found)
    return tuple(targets)


def _match_count(relation: Relation, targets: Schema, entry: CreateTable, query: Query) -> None:
    count = len(relation.visible)
    if count == len(targets):
        return
    names = ", ".join(column.name for column in targets)
    takes = _columns(len(targets))
    raise BindError(
        f"the query gives {_columns(count)}, '{entry.name.text}' takes {takes}",
        _item_span(query, len(targets)).place,
        hint=f"expected: {names}",
    )


def _cast(field: Field, target: Column, query: Query, index: int) -> Expr:
    if field.type == target.type:
        return field.value
    if not is_null(query, index) and not _casts(field.type, target.type):
        raise BindError(
            f"column {index + 1} of the query is {article(field.type)},"
            f" '{target.name}' takes {target.type}",
            _item_span(query, index).place,
            hint=f"write CAST({field.name} AS {target.type})",
        )
    return converted(field.value, target.type)


def _casts(given: str, wanted: str) -> bool:
    """Assignment casts, as PostgreSQL has them: numbers, times, anything to text."""
    if wanted == "VARCHAR" or (is_numeric(given) and is_numeric(wanted)):
        return True
    times = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
    if given in times and wanted in times:
        return True
    return given.startswith("STRUCT(") and wanted.startswith("STRUCT(")


def _columns(count: int) -> str:
    return f"{count} column" if count == 1 else f"{count} columns"


def _item_span(query: Query, index: int) -> Span:
    """The place of column ``index``; the whole SELECT where ``*`` hides it."""
    items = query.items
    if any(item.value is None for item in items):
        return next(item.span for item in items if item.value is None)
    return items[index].span if index < len(items) else query.head


def _projected(node: Node, columns: tuple[tuple[str, Expr], ...]) -> Node:
    """``columns`` over ``node``; a projection right below is taken into this one."""
    above = projected(node, columns)
    if above is node or not isinstance(node, Project):
        return above
    below = dict(node.columns)
    return projected(node.input, ((name, _merged(expr, below)) for name, expr in columns))


def _merged(expr: Expr, below: Mapping[str, Expr]) -> Expr:
    """``expr``, a column or a conversion of one, over the input of the projection ``below``."""
    if not expr.columns:
        return expr
    (column,) = expr.columns
    inner = below[column]
    if expr.is_column:
        return inner
    keeps = inner.monotone_in if expr.monotone_in else None
    return replace(
        expr,
        sql=expr.sql.replace(quoted(column), inner.sql),
        columns=inner.columns,
        monotone_in=keeps,
        lost="" if keeps else inner.lost or expr.lost,
        text=inner.text,
    )
