"""Plans declared tables: stored and computed columns, then the watermark filters on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import exp

from tidegate.connectors.durations import parse_duration
from tidegate.connectors.option_types import VERSION
from tidegate.errors import BindError
from tidegate.frontend.ast.queries import Scalar
from tidegate.frontend.ast.statements import ROWTIME, CreateTable, WatermarkDef
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.clocks import clock_columns, with_own_watermark
from tidegate.frontend.expressions.functions import SYSTEM_ROWTIME, SYSTEM_WATERMARK, call, calls
from tidegate.frontend.expressions.scalar import Binder, path_node, plan_column
from tidegate.frontend.expressions.scope import Field, Relation, matches, unused
from tidegate.frontend.expressions.times import UNIT_OPTION, UNITS_US
from tidegate.frontend.tables.changing import normalized
from tidegate.frontend.tables.connections import Connection, connect
from tidegate.frontend.tables.defaults import is_aligned
from tidegate.frontend.tables.layout import Layout, connector_of, has_rowtime, source_layout
from tidegate.frontend.tables.watermarks import with_default_watermark, with_watermark
from tidegate.plan.nodes import Expr, Scan
from tidegate.plan.tables import Table
from tidegate.types import Column

IDLE_TIMEOUT: Final = "table.exec.source.idle-timeout"
"""The job's setting for tables that have no option of their own."""
_IDLE_TIMEOUT: Final = "scan.watermark.idle-timeout"
_DEFAULT: Final = "scan.watermark.default"


def read_table(context: Context, entry: CreateTable) -> Relation:
    """The table as a source."""
    connection = source_of(context, entry)
    connector = connection.connector
    table = Table(entry.name.text, (), connector, connection.format, connection.options)
    by_default = (
        has_rowtime(connector)
        and not entry.watermarks
        and table.option(_DEFAULT, "source") == "source"
    )
    rowtime = context.names_rowtime or (by_default and is_aligned(table))
    layout = source_layout(entry, context.checker, connector, rowtime)
    table = connection.table(table.name, layout.columns, "source", layout.metadata)
    relation = _with_watermarks(context, entry, table, layout)
    if by_default and rowtime:
        relation = with_default_watermark(context, relation, table)
    relation = normalized(relation, table, connection.places.get(VERSION, connection.place))
    columns = tuple(
        known.column
        for known in relation.visible
        if any(matches(name, known.name) for name in entry.keys)
    )
    return replace(relation, key=columns)


def source_of(context: Context, entry: CreateTable) -> Connection:
    """The table's connector and options where it is read."""
    name = entry.name.text
    hints = context.hints.get(name.lower(), ())
    what = f"table '{name}'"
    return connect(what, entry.options, hints, "source", _defaults(context), entry.keys)


def check_table(context: Context, entry: CreateTable) -> Relation:
    """Plans a table without its connector, so that its errors show where it is declared."""
    options = {option.key.value.lower(): option.value.value for option in entry.options.items}
    unit = options.get(UNIT_OPTION, "")
    pairs = ((UNIT_OPTION, unit),) if unit in UNITS_US else ()
    connector = connector_of(entry)
    layout = source_layout(entry, context.checker, connector, rowtime=True)
    table = Table(entry.name.text, layout.columns, connector, "", pairs, layout.metadata)
    return _with_watermarks(context, entry, table, layout)


def _defaults(context: Context) -> dict[str, str]:
    """Options that the job's settings give to tables that can have them."""
    timeout = context.settings.get(IDLE_TIMEOUT, "")
    return {_IDLE_TIMEOUT: timeout} if timeout and parse_duration(timeout) else {}


def _with_watermarks(
    context: Context, entry: CreateTable, table: Table, layout: Layout
) -> Relation:
    computed, fields = _computed(context, entry, table, layout)
    node = _scan(table, computed)
    relation = Relation(node, fields, entry.name.text)
    nested = [_nested(context, relation, mark) for mark in entry.watermarks]
    extra = {name: expr for found in nested if found for name, expr in [found[0]]}
    if extra:
        hidden = tuple(found[1] for found in nested if found)
        node = _scan(table, (*computed, *extra.items()))
        relation = Relation(node, (*fields, *dict.fromkeys(hidden)), entry.name.text)
    declared = {mark.path[0].text.lower() for mark in entry.watermarks if len(mark.path) == 1}
    for name in clock_columns(node):
        if name.lower() not in declared:
            own = with_own_watermark(relation.node, name, table)
            relation = replace(relation, node=own)
    rowtimes = _system_rowtimes(entry)
    for mark in entry.watermarks:
        relation = with_watermark(
            context, relation, _time_of(mark), mark.strategy, table, rowtimes, mark.per
        )
    return relation


def _system_rowtimes(entry: CreateTable) -> frozenset[str]:
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


def _scan(table: Table, computed: tuple[tuple[str, Expr], ...]) -> Scan:
    schema = (*table.columns, *(Column(name, expr.type) for name, expr in computed))
    return Scan(schema, table, computed, table.name)


def _computed(
    context: Context, entry: CreateTable, table: Table, layout: Layout
) -> tuple[tuple[tuple[str, Expr], ...], tuple[Field, ...]]:
    """The computed columns, each over stored ones; and the fields in declared order."""
    base = _scan(table, ())
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
        return Binder(relation, context.checker, trees)

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
    context: Context, relation: Relation, mark: WatermarkDef
) -> tuple[tuple[str, Expr], Field] | None:
    """A nested time column as a computed column of its own."""
    binder = Binder(relation, context.checker)
    found = binder.scope.find(mark.path)
    if not found.inside:
        return None
    expr = binder.bind(_time_of(mark))
    path = (*found.field.path, *found.inside)
    name = unused(".".join(path), [column.name for column in relation.node.schema])
    return (name, expr), Field(path, name, expr.type, hidden=True)


def _time_of(mark: WatermarkDef) -> Scalar:
    return Scalar(path_node(mark.path), mark.path[0].span.to(mark.path[-1].span))
