"""Plans what stands in FROM: tables, views, WITH queries, WATERMARK and TUMBLE."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from tidegate.connectors.registry import resolved
from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.catalog import Catalog, connect, refuse_hidden
from tidegate.frontend.scalar import Binder
from tidegate.frontend.scope import Field, Relation, Scope, matches, unused
from tidegate.frontend.source import Source
from tidegate.frontend.syntax import (
    ColumnDef,
    CreateTable,
    CreateView,
    Cte,
    Name,
    Option,
    Query,
    Scalar,
    SubqueryRef,
    TableRef,
    TumbleRef,
    WatermarkDef,
    WatermarkRef,
)
from tidegate.frontend.syntax import (
    Relation as RelationSyntax,
)
from tidegate.frontend.times import (
    UNIT_OPTION,
    UNITS_US,
    bind_strategy,
    skew_us_max_of,
    unit_us_in,
)
from tidegate.frontend.typecheck import TypeChecker, TypeCheckError
from tidegate.frontend.windows import WindowPlanner
from tidegate.plan.nodes import (
    Aggregate,
    Expr,
    Scan,
    Sort,
    Table,
    WatermarkFilter,
)
from tidegate.types import Column

if TYPE_CHECKING:
    from tidegate.frontend.planner import QueryPlanner


@dataclass(frozen=True, slots=True)
class Environment:
    """The WITH queries that can be seen, innermost first, and whether results are final ones."""

    ctes: tuple[tuple[Cte, Environment], ...] = ()
    emit: bool = False

    def with_cte(self, cte: Cte) -> Environment:
        return replace(self, ctes=((cte, self), *self.ctes))


class RelationPlanner:
    """Plans relations; asks ``queries`` for the queries inside."""

    def __init__(
        self,
        source: Source,
        catalog: Catalog,
        checker: TypeChecker,
        hints: dict[str, tuple[Option, ...]],
        queries: QueryPlanner,
    ) -> None:
        self._source = source
        self._catalog = catalog
        self._checker = checker
        self._hints = hints
        self._queries = queries
        self.windows = WindowPlanner(source, checker)
        self._read: dict[str, Relation] = {}

    def plan(self, syntax: RelationSyntax, env: Environment) -> Relation:
        """The relation with its alias."""
        match syntax:
            case TableRef():
                return self._table_ref(syntax, env).named(syntax.alias)
            case SubqueryRef():
                return replace(self._queries.plan(syntax.query, env), alias="").named(syntax.alias)
            case TumbleRef():
                below = self.plan(syntax.input, env)
                return self.windows.tumbled(below, syntax).named(syntax.alias)
            case WatermarkRef():
                return self._watermark(syntax, env).named(syntax.alias)

    def _table_ref(self, syntax: TableRef, env: Environment) -> Relation:
        for cte, outer in env.ctes:
            if matches(syntax.name, cte.name.text):
                inner = replace(outer, emit=env.emit)
                if isinstance(cte.body, Query):
                    return replace(self._queries.plan(cte.body, inner), alias=cte.name.text)
                return replace(self.plan(cte.body, inner), alias=cte.name.text)
        entry = self._catalog.find(syntax.name)
        if isinstance(entry, CreateView):
            return self._view(entry, env)
        key = entry.name.text.lower()
        if key not in self._read:
            self._read[key] = self._declared(entry)
        return replace(self._read[key], alias=entry.name.text)

    def _view(self, view: CreateView, env: Environment) -> Relation:
        relation = self._queries.plan(view.query, Environment(emit=env.emit))
        if view.columns:
            visible = relation.visible
            if len(view.columns) != len(visible):
                raise BindError(
                    f"view '{view.name.text}' names {len(view.columns)} columns,"
                    f" its query gives {len(visible)}",
                    self._source.position(view.columns[0].span),
                )
            renamed = [
                replace(field, path=(name.text,))
                for field, name in zip(visible, view.columns, strict=True)
            ]
            relation = replace(relation, fields=tuple(renamed))
        return replace(relation, alias=view.name.text)

    def _declared(self, entry: CreateTable) -> Relation:
        what = f"table '{entry.name.text}'"
        hints = self._hints.get(entry.name.text.lower(), ())
        connection = connect(self._source, what, entry.options, hints, "source")
        if connection.place:
            self._catalog.places[entry.name.text] = connection.place
        physical = physical_columns(self._source, entry, self._checker)
        return self._with_watermarks(
            entry,
            resolved(
                Table(
                    entry.name.text,
                    physical,
                    connection.connector,
                    connection.format,
                    connection.options,
                )
            ),
        )

    def check_table(self, entry: CreateTable) -> None:
        """Plans a table without its connector, so that its errors show where it is declared."""
        options = {option.key.value.lower(): option.value.value for option in entry.options.items}
        unit = options.get(UNIT_OPTION, "")
        pairs = ((UNIT_OPTION, unit),) if unit in UNITS_US else ()
        physical = physical_columns(self._source, entry, self._checker)
        self._with_watermarks(entry, Table(entry.name.text, physical, "", "", pairs))

    def _with_watermarks(self, entry: CreateTable, table: Table) -> Relation:
        computed, fields = self._computed(entry, table)
        node = self._scan(table, computed)
        relation = Relation(node, fields, entry.name.text)
        nested = [self._nested(relation, mark) for mark in entry.watermarks]
        extra = {name: expr for found in nested if found for name, expr in [found[0]]}
        if extra:
            hidden = tuple(found[1] for found in nested if found)
            node = self._scan(table, (*computed, *extra.items()))
            relation = Relation(node, (*fields, *dict.fromkeys(hidden)), entry.name.text)
        for mark in entry.watermarks:
            column = Scalar(_path_node(mark.path), mark.path[0].span.to(mark.path[-1].span))
            relation = self._filtered(relation, column, mark.strategy, table)
        return relation

    def _scan(self, table: Table, computed: tuple[tuple[str, Expr], ...]) -> Scan:
        schema = (*table.columns, *(Column(name, expr.type) for name, expr in computed))
        return Scan(schema, table, computed, table.name)

    def _computed(
        self, entry: CreateTable, table: Table
    ) -> tuple[tuple[tuple[str, Expr], ...], tuple[Field, ...]]:
        """The computed columns, each over physical ones; and the fields in declared order."""
        base = self._scan(table, ())
        fields = [Field((column.name,), column.name, column.type) for column in table.columns]
        trees: dict[str, exp.Expr] = {}
        computed: dict[str, Expr] = {}
        for column in entry.columns:
            if column.computed is None:
                continue
            scope = Scope(
                self._source, Relation(base, tuple(fields), entry.name.text), self._checker
            )
            binder = Binder(self._source, scope, self._checker, trees)
            tree = binder.resolve(column.computed)
            expr = binder.to_expr(tree, column.computed.span)
            trees[column.name.text] = tree
            computed[column.name.text] = expr
            fields.append(Field((column.name.text,), column.name.text, expr.type))
        by_name = {field.column: field for field in fields}
        ordered = tuple(by_name[column.name.text] for column in entry.columns)
        return tuple(computed.items()), ordered

    def _nested(
        self, relation: Relation, mark: WatermarkDef
    ) -> tuple[tuple[str, Expr], Field] | None:
        """A nested time column as a computed column of its own."""
        scope = Scope(self._source, relation, self._checker)
        found = scope.find(mark.path)
        if not found.inside:
            return None
        binder = Binder(self._source, scope, self._checker)
        span = mark.path[0].span.to(mark.path[-1].span)
        expr = binder.bind(Scalar(_path_node(mark.path), span))
        path = (*found.field.path, *found.inside)
        name = unused(".".join(path), [column.name for column in relation.node.schema])
        return (name, expr), Field(path, name, expr.type, hidden=True)

    def _watermark(self, syntax: WatermarkRef, env: Environment) -> Relation:
        relation = self.plan(syntax.input, env)
        scan = next((node for node in relation.node.walk() if isinstance(node, Scan)), None)
        stateful = any(isinstance(node, Aggregate | Sort) for node in relation.node.walk())
        if scan is None or stateful:
            raise UnsupportedError(
                "WATERMARK over grouped or sorted rows is not there yet",
                self._source.position(syntax.span),
                hint="put WATERMARK around the table, inside the query that groups",
            )
        return self._filtered(relation, syntax.column, syntax.strategy, scan.table)

    def _filtered(
        self, relation: Relation, column: Scalar, strategy: Scalar, table: Table
    ) -> Relation:
        relation, time = self.windows.time_column(relation, column)
        binder = Binder(self._source, Scope(self._source, relation, self._checker), self._checker)
        unit_us = unit_us_in(relation.node, time)
        expr = bind_strategy(binder, strategy, time, unit_us)
        below = relation.node
        node = WatermarkFilter(
            below.schema, below, f"{table.name}.{time.name}", table.name, time.name, expr,
            skew_us_max_of(table), unit_us,
        )  # fmt: skip
        return replace(relation, node=node)


def physical_columns(
    source: Source, entry: CreateTable, checker: TypeChecker
) -> tuple[Column, ...]:
    """The columns that are stored. Raises BindError for names that are taken or the engine's."""
    seen: dict[str, Name] = {}
    for column in entry.columns:
        refuse_hidden(source, column.name)
        key = column.name.text.lower()
        if key in seen:
            raise BindError(
                f"column '{column.name.text}' is declared twice",
                source.position(column.name.span),
                hint="names that differ only in case are one name",
            )
        seen[key] = column.name
    physical = tuple(
        Column(column.name.text, _known_type(source, column, checker))
        for column in entry.columns
        if column.computed is None
    )
    if not physical:
        raise BindError(
            f"table '{entry.name.text}' has only computed columns",
            source.position(entry.name.span),
            hint="declare the columns that are read: name TYPE",
        )
    return physical


def _known_type(source: Source, column: ColumnDef, checker: TypeChecker) -> str:
    """The column's type as DuckDB spells it."""
    try:
        return checker.type_of(f"CAST(NULL AS {column.type})", ())
    except TypeCheckError as error:
        raise BindError(
            f"the type of column '{column.name.text}' does not exist",
            source.position(column.span),
            detail=str(error),
        ) from None


def _path_node(path: tuple[Name, ...]) -> exp.Expr:
    node: exp.Expr = exp.Column(this=_identifier(path[0]))
    for name in path[1:]:
        node = exp.Dot(this=node, expression=_identifier(name))
    return node


def _identifier(name: Name) -> exp.Identifier:
    identifier = exp.Identifier(this=name.text, quoted=name.quoted)
    return identifier.update_positions(start=name.span.start, end=name.span.end - 1)
