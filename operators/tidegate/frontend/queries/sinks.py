"""Plans statements that write: INSERT INTO, CREATE SINK, and a bare SELECT, which prints."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from tidegate.connectors.registry import feeds
from tidegate.errors import BindError, Position, did_you_mean
from tidegate.frontend.expressions.scope import Field, Relation, article, matches, unused
from tidegate.frontend.expressions.typecheck import TypeChecker, converted, is_numeric
from tidegate.frontend.queries.changes import taking_changes
from tidegate.frontend.queries.planner import QueryPlanner
from tidegate.frontend.queries.relations import Environment
from tidegate.frontend.queries.unions import is_null
from tidegate.frontend.syntax.query_syntax import Name, Option, Query
from tidegate.frontend.syntax.source import Span
from tidegate.frontend.syntax.statement_syntax import (
    AlterTable,
    CreateSink,
    CreateTable,
    CreateView,
    Insert,
    Select,
)
from tidegate.frontend.tables.buckets import bound
from tidegate.frontend.tables.catalog import Catalog, Connection, connect
from tidegate.frontend.tables.layout import sink_layout
from tidegate.frontend.tables.table_as import given_names, with_columns_of
from tidegate.plan.nodes import Expr, Node, Project, Scan, Sink, Table, column_expr, quoted
from tidegate.plan.projections import projected
from tidegate.types import Column, Schema


class SinkPlanner:
    """Plans the writing statements of a file, in order; ``planned`` are their sinks.

    Several may write into one table: each is a sink of its own, and the sinks of one path keep
    apart. The second is called ``table#2``.
    """

    def __init__(self, catalog: Catalog, checker: TypeChecker, queries: QueryPlanner) -> None:
        self._checker = checker
        self._catalog = catalog
        self._queries = queries
        self.planned: list[Sink] = []
        self.places: list[Position | None] = []
        """Of each planned sink: where the file says where it writes; None for what prints."""

    def declare(self, entry: CreateTable) -> None:
        """Adds a table to the catalog, and the sink that writes its query, if it has one.

        What is wrong with a declaration shows at once, even if nothing uses the table.
        """
        query = entry.query
        if self._catalog.keeps(entry):
            return
        if query is None:
            self._catalog.declare(self._checked(entry))
            return
        relation = self._queries.plan(query, Environment(), top=True)
        names = given_names(relation, query)
        entry = self._checked(with_columns_of(entry, relation, names))
        self._catalog.declare(entry)
        self._write(entry, names, relation, query, ())

    def _checked(self, entry: CreateTable) -> CreateTable:
        names = (column.name.text for column in entry.columns)
        entry = replace(entry, buckets=bound(entry.buckets, names))
        self._queries.check_table(entry)
        return entry

    def alter(self, statement: AlterTable) -> None:
        """Declares a watermark anew, of a table that nothing has read yet."""
        entry = self._catalog.alter(statement)
        for scan in self._scans():
            if scan.table.name == entry.name.text:
                raise BindError(
                    f"table '{entry.name.text}' was read already, with the watermark it had",
                    statement.span.place,
                    hint="a source is read once: write ALTER TABLE before the first query on it;"
                    " or WATERMARK(table, column, expression) in the query",
                )
        self._queries.table_has_changed(entry)

    def forget(self, sinks: Collection[Sink]) -> None:
        """Of a statement that was dropped."""
        kept = [at for at, sink in enumerate(self.planned) if all(sink is not s for s in sinks)]
        self.planned = [self.planned[at] for at in kept]
        self.places = [self.places[at] for at in kept]

    def plan(self, statement: Insert | CreateSink | Select) -> None:
        """Adds the statement's sink."""
        match statement:
            case Insert():
                self._insert(statement.table, statement.columns, statement.query, statement.hints)
            case CreateSink(into=None):
                self._create(statement)
            case CreateSink(into=into):
                assert into is not None
                self._insert(into, (), statement.query, ())
            case Select():
                self._print(statement.query, "print")

    def _insert(
        self, name: Name, columns: tuple[Name, ...], query: Query, hints: tuple[Option, ...]
    ) -> None:
        entry = self._catalog.find_table(name)
        relation = self._queries.plan(query, Environment(), top=True)
        self._write(entry, columns, relation, query, hints)

    def _write(
        self,
        entry: CreateTable,
        columns: tuple[Name, ...],
        relation: Relation,
        query: Query,
        hints: tuple[Option, ...],
    ) -> None:
        what = f"table '{entry.name.text}'"
        connection = connect(
            what, entry.options, hints, "sink", key=entry.keys, buckets=entry.buckets
        )
        layout = sink_layout(entry, self._checker, connection.connector)
        schema = layout.columns
        targets = self._targets(entry, layout.declared, columns)
        name_of_sink = unused(entry.name.text, [sink.table.name for sink in self.planned])
        table = connection.table(name_of_sink, schema, "sink", layout.metadata)
        self._match_count(relation, targets, entry, query)
        values = {
            target.name: layout.converted(self._cast(field, target, query, index), target.name)
            for index, (field, target) in enumerate(zip(relation.visible, targets, strict=True))
        }
        values |= {
            column.name: Expr(f"CAST(NULL AS {column.type})", column.type, text="NULL")
            for column in schema
            if column.name not in values
        }
        pairs = tuple((column.name, values[column.name]) for column in schema)
        self._planned(Sink(schema, _projected(relation.node, pairs), table), connection, query)

    def _create(self, statement: CreateSink) -> None:
        options = statement.options
        name = statement.name.text if statement.name else "sink"
        if options is None:
            self._print(statement.query, name)
            return
        relation = self._queries.plan(statement.query, Environment(), top=True)
        connection = connect(f"sink '{name}'", options, (), "sink")
        self._add(relation, name, connection, statement.query)

    def materialize(self, view: CreateView) -> None:
        """Adds the sink of a materialized view: a Delta table in the checkpoint."""
        relation = self._queries.check_materialized(view)
        self._add(relation, view.name.text, Connection("delta", "parquet", (), None), view.query)

    def _print(self, query: Query, name: str) -> None:
        relation = self._queries.plan(query, Environment(), top=True)
        self._add(relation, name, Connection("print", "", (), None), query)

    def _add(self, relation: Relation, name: str, connection: Connection, query: Query) -> None:
        taken = [sink.table.name for sink in self.planned]
        taken += [other for other in self._catalog.names if other != name]
        names: list[str] = []
        columns = []
        for field in relation.visible:
            column = Column(unused(field.name, names), field.type)
            names.append(column.name)
            columns.append((column.name, column_expr(Column(field.column, field.type))))
        schema = tuple(Column(column, expr.type) for column, expr in columns)
        table = connection.table(unused(name, taken), schema, "sink")
        self._planned(
            Sink(schema, _projected(relation.node, tuple(columns)), table), connection, query
        )

    def _planned(self, sink: Sink, connection: Connection, query: Query) -> None:
        self.planned.append(taking_changes(sink, query))
        self.places.append(connection.place)

    def _scans(self) -> Iterator[Scan]:
        return (node for sink in self.planned for node in sink.walk() if isinstance(node, Scan))

    def check_paths(self, ledger: Table | None = None, said: Position | None = None) -> None:
        """Raises BindError when a sink, or the ``ledger``'s copy, writes where the job reads."""
        tables = [(s.table, at) for s, at in zip(self.planned, self.places, strict=True)]
        if ledger is not None:
            tables.append((ledger, said))
        for source in dict.fromkeys(scan.table for scan in self._scans()):
            for sink, place in tables:
                if feeds(sink, source):
                    is_topic = source.connector == "kafka"
                    what = source.option("topic" if is_topic else "path")
                    raise BindError(
                        f"'{sink.name}' would write into what table '{source.name}' reads:"
                        f" '{what or source.option('topic-pattern')}'",
                        place,
                        hint="give it a topic that the table does not read"
                        if is_topic
                        else "give it a path that is neither the source's nor above or below it",
                    )

    def _targets(
        self, entry: CreateTable, schema: Schema, columns: tuple[Name, ...]
    ) -> tuple[Column, ...]:
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

    def _match_count(
        self, relation: Relation, targets: Schema, entry: CreateTable, query: Query
    ) -> None:
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

    def _cast(self, field: Field, target: Column, query: Query, index: int) -> Expr:
        value = column_expr(Column(field.column, field.type))
        if field.type == target.type:
            return value
        if not is_null(query, index) and not _casts(field.type, target.type):
            raise BindError(
                f"column {index + 1} of the query is {article(field.type)},"
                f" '{target.name}' takes {target.type}",
                _item_span(query, index).place,
                hint=f"write CAST({field.name} AS {target.type})",
            )
        return converted(value, target.type)


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
