"""Plans declared tables: stored and computed columns, then the watermark filters on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sqlglot import exp

from tidegate.connectors.durations import parse_duration
from tidegate.errors import BindError
from tidegate.frontend.expressions.clocks import clock_columns, with_own_watermark
from tidegate.frontend.expressions.functions import SYSTEM_ROWTIME, SYSTEM_WATERMARK, call, calls
from tidegate.frontend.expressions.scalar import Binder, plan_column
from tidegate.frontend.expressions.scope import Field, Relation, Scope, matches, unused
from tidegate.frontend.expressions.times import UNIT_OPTION, UNITS_US
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.syntax.query_syntax import Name, Option, Scalar
from tidegate.frontend.syntax.statement_syntax import ROWTIME, CreateTable, WatermarkDef
from tidegate.frontend.tables.catalog import Catalog, connect
from tidegate.frontend.tables.defaults import is_aligned
from tidegate.frontend.tables.layout import Layout, connector_of, has_rowtime, source_layout
from tidegate.frontend.tables.watermarks import WatermarkPlanner
from tidegate.plan.nodes import Expr, Scan, Table
from tidegate.types import Column

IDLE_TIMEOUT: Final = "table.exec.source.idle-timeout"
"""The job's setting for tables that have no option of their own."""
_IDLE_TIMEOUT: Final = "scan.watermark.idle-timeout"
_DEFAULT: Final = "scan.watermark.default"


class TablePlanner:
    """Plans the tables of one file, each once: a source is read once."""

    def __init__(
        self,
        catalog: Catalog,
        checker: TypeChecker,
        hints: dict[str, tuple[Option, ...]],
        settings: Mapping[str, str],
        watermarks: WatermarkPlanner,
    ) -> None:
        self._catalog = catalog
        self._checker = checker
        self._hints = hints
        self._settings = settings
        self._watermarks = watermarks
        self._read: dict[str, Relation] = {}

    def read(self, entry: CreateTable) -> Relation:
        """The table as a source."""
        key = entry.name.text.lower()
        if key not in self._read:
            relation = self._planned(entry)
            columns = tuple(
                known.column
                for known in relation.visible
                if any(matches(name, known.name) for name in entry.keys)
            )
            self._read[key] = replace(relation, key=columns)
        return self._read[key]

    def forget(self, name: str) -> None:
        """The declaration has changed, or is gone."""
        self._read.pop(name.lower(), None)

    def check(self, entry: CreateTable) -> Relation:
        """Plans a table without its connector, so that its errors show where it is declared."""
        options = {option.key.value.lower(): option.value.value for option in entry.options.items}
        unit = options.get(UNIT_OPTION, "")
        pairs = ((UNIT_OPTION, unit),) if unit in UNITS_US else ()
        connector = connector_of(entry)
        layout = source_layout(entry, self._checker, connector, rowtime=True)
        table = Table(entry.name.text, layout.columns, connector, "", pairs, layout.metadata)
        return self._with_watermarks(entry, table, layout)

    def _planned(self, entry: CreateTable) -> Relation:
        name = entry.name.text
        hints = self._hints.get(name.lower(), ())
        connection = connect(f"table '{name}'", entry.options, hints, "source", self._defaults())
        if connection.place:
            self._catalog.places[name] = connection.place
        connector = connection.connector
        table = Table(name, (), connector, connection.format, connection.options)
        by_default = (
            has_rowtime(connector)
            and not entry.watermarks
            and table.option(_DEFAULT, "source") == "source"
        )
        rowtime = ROWTIME in entry.span.source.text.lower() or (by_default and is_aligned(table))
        layout = source_layout(entry, self._checker, connector, rowtime)
        table = connection.table(name, layout.columns, "source", layout.metadata)
        relation = self._with_watermarks(entry, table, layout)
        if by_default and rowtime:
            relation = self._watermarks.default(relation, table)
        return relation

    def _defaults(self) -> dict[str, str]:
        """Options that the job's settings give to tables that can have them."""
        timeout = self._settings.get(IDLE_TIMEOUT, "")
        return {_IDLE_TIMEOUT: timeout} if timeout and parse_duration(timeout) else {}

    def _with_watermarks(self, entry: CreateTable, table: Table, layout: Layout) -> Relation:
        computed, fields = self._computed(entry, table, layout)
        node = self._scan(table, computed)
        relation = Relation(node, fields, entry.name.text)
        nested = [self._nested(relation, mark) for mark in entry.watermarks]
        extra = {name: expr for found in nested if found for name, expr in [found[0]]}
        if extra:
            hidden = tuple(found[1] for found in nested if found)
            node = self._scan(table, (*computed, *extra.items()))
            relation = Relation(node, (*fields, *dict.fromkeys(hidden)), entry.name.text)
        declared = {mark.path[0].text.lower() for mark in entry.watermarks if len(mark.path) == 1}
        for name in clock_columns(node):
            if name.lower() not in declared:
                own = with_own_watermark(relation.node, name, table)
                relation = replace(relation, node=own)
        rowtimes = self._system_rowtimes(entry)
        for mark in entry.watermarks:
            column = Scalar(_path_node(mark.path), mark.path[0].span.to(mark.path[-1].span))
            relation = self._watermarks.declared(
                relation, column, mark.strategy, table, rowtimes, mark.per
            )
        return relation

    def _system_rowtimes(self, entry: CreateTable) -> frozenset[str]:
        """The columns AS SYSTEM_ROWTIME(), each of which has SYSTEM_WATERMARK() (FLIP-66)."""
        marked = {
            mark.path[0].text.lower()
            for mark in entry.watermarks
            if len(mark.path) == 1 and calls(mark.strategy.node, SYSTEM_WATERMARK)
        }
        found = set()
        for column in entry.columns:
            name = column.name.text
            if column.computed is None or not calls(column.computed.node, SYSTEM_ROWTIME):
                continue
            if name.lower() not in marked:
                raise BindError(
                    f"SYSTEM_ROWTIME() of '{name}' needs SYSTEM_WATERMARK() besides",
                    column.computed.span.place,
                    hint=f"add WATERMARK FOR {name} AS SYSTEM_WATERMARK()",
                )
            found.add(name)
        return frozenset(found)

    def _scan(self, table: Table, computed: tuple[tuple[str, Expr], ...]) -> Scan:
        schema = (*table.columns, *(Column(name, expr.type) for name, expr in computed))
        return Scan(schema, table, computed, table.name)

    def _computed(
        self, entry: CreateTable, table: Table, layout: Layout
    ) -> tuple[tuple[tuple[str, Expr], ...], tuple[Field, ...]]:
        """The computed columns, each over stored ones; and the fields in declared order."""
        base = self._scan(table, ())
        names = {column.name.text for column in entry.columns} | {ROWTIME}
        fields = [
            Field((column.name,), column.name, column.type, hidden=column.name == ROWTIME)
            for column in table.columns
            if column.name in names
        ]
        trees: dict[str, exp.Expr] = {}
        computed: dict[str, Expr] = {}

        def binder() -> Binder:
            relation = Relation(base, tuple(fields), entry.name.text)
            scope = Scope(relation, self._checker)
            return Binder(scope, self._checker, trees)

        def add(name: str, tree: exp.Expr, expr: Expr) -> None:
            trees[name], computed[name] = tree, expr
            fields.append(Field((name,), name, expr.type))

        for column in entry.columns:  # what is read comes before what is computed from it
            name = column.name.text
            if name in layout.casts:
                tree = layout.casts[name]
                add(name, tree, replace(binder().to_expr(tree, column.span), text=name))
        for column in entry.columns:
            name = column.name.text
            if column.computed is None:
                continue
            tree = (
                call("timezone", exp.Literal.string("UTC"), plan_column(layout.rowtime))
                if layout.rowtime and calls(column.computed.node, SYSTEM_ROWTIME)
                else binder().resolve(column.computed)
            )
            add(name, tree, binder().to_expr(tree, column.computed.span))
        by_name = {field.column: field for field in fields}
        ordered = [by_name[column.name.text] for column in entry.columns]
        ordered += [field for field in fields if field.hidden and field not in ordered]
        return tuple(computed.items()), tuple(ordered)

    def _nested(
        self, relation: Relation, mark: WatermarkDef
    ) -> tuple[tuple[str, Expr], Field] | None:
        """A nested time column as a computed column of its own."""
        scope = Scope(relation, self._checker)
        found = scope.find(mark.path)
        if not found.inside:
            return None
        binder = Binder(scope, self._checker)
        span = mark.path[0].span.to(mark.path[-1].span)
        expr = binder.bind(Scalar(_path_node(mark.path), span))
        path = (*found.field.path, *found.inside)
        name = unused(".".join(path), [column.name for column in relation.node.schema])
        return (name, expr), Field(path, name, expr.type, hidden=True)


def _path_node(path: tuple[Name, ...]) -> exp.Expr:
    node: exp.Expr = exp.Column(this=_identifier(path[0]))
    for name in path[1:]:
        node = exp.Dot(this=node, expression=_identifier(name))
    return node


def _identifier(name: Name) -> exp.Identifier:
    identifier = exp.Identifier(this=name.text, quoted=name.quoted)
    return identifier.update_positions(start=name.span.start, end=name.span.end - 1)
