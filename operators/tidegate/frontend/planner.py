"""Plans queries: FROM, WHERE, GROUP BY, HAVING, SELECT, ORDER BY, in this order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.aggregation import Aggregation, has_aggregate
from tidegate.frontend.catalog import Catalog, refuse_hidden
from tidegate.frontend.current_watermark import with_watermarks_before
from tidegate.frontend.relations import Environment, RelationPlanner
from tidegate.frontend.scalar import Binder, identifier_path
from tidegate.frontend.scope import Field, Relation, Scope, matches, unused
from tidegate.frontend.source import Source, Span
from tidegate.frontend.syntax import (
    CreateTable,
    CreateView,
    Item,
    JoinRef,
    Option,
    OrderItem,
    Query,
    Scalar,
)
from tidegate.frontend.typecheck import TypeChecker
from tidegate.frontend.unions import UnionPlanner
from tidegate.frontend.windows import (
    GroupWindow,
    group_window,
    repeated_by,
    without_unused_time,
)
from tidegate.plan.derivation import derive
from tidegate.plan.joins import Join, Union
from tidegate.plan.nodes import Aggregate, Expr, Filter, Node, Project, Sort, SortKey, column_expr
from tidegate.types import OFFSET, SPLIT, Column

Bind = Callable[[Scalar], Expr]


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the result: its name for the user, its plan name, its value."""

    path: tuple[str, ...]
    column: str
    value: Expr
    hidden: bool = False


class QueryPlanner:
    """Plans the queries of one file."""

    def __init__(
        self,
        source: Source,
        catalog: Catalog,
        checker: TypeChecker,
        hints: dict[str, tuple[Option, ...]],
        settings: Mapping[str, str],
    ) -> None:
        self._source = source
        self._checker = checker
        self._unions = UnionPlanner(source, checker)
        self._relations = RelationPlanner(source, catalog, checker, hints, settings, self)

    def plan(self, query: Query, env: Environment, top: bool = False) -> Relation:
        """The result as a relation; its node may have more columns than the visible fields."""
        env = replace(env, emit=env.emit or query.emit)
        self._check_clauses(query, env, top)
        for cte in query.ctes:
            env = env.with_cte(cte)
        if query.further:
            return self._united(query, env)
        assert query.source is not None
        where = query.where
        if isinstance(query.source, JoinRef):
            relation, where = self._relations.joined(query.source, env, where)
        else:
            relation = self._relations.plan(query.source, env)
        relation = with_watermarks_before(self._source, self._checker, relation, query)
        if where is not None:
            relation = replace(relation, node=self._filter(relation, where))
        binder = self._binder(relation)
        keys: tuple[str, ...] | None = None
        if query.group_by or query.having or has_aggregate(query):
            window = group_window(self._source, query)
            if window is not None:
                relation = self._relations.windows.grouped(relation, window)
                binder = self._binder(relation)
            node, bind, keys = self._grouped(binder, query, env, window)
            outputs = [self._computed(item, bind) for item in query.items]
        else:
            node, bind = relation.node, binder.bind
            outputs = [
                output
                for item in query.items
                for output in self._outputs(item, relation, bind)
                if not (top and output.hidden)  # nobody above can name it
            ]
        outputs = _with_unique_columns(outputs)
        if query.order_by:
            result = self._sorted(query, node, outputs, bind, keys)
        else:
            result = _projected(node, outputs)
        return replace(result, final=relation.final)

    def _united(self, query: Query, env: Environment) -> Relation:
        """The parts of a UNION ALL as one relation, in their order if it has one."""
        first = replace(query, further=(), order_by=(), emit=False, ctes=())
        parts = [(part, self.plan(part, env)) for part in (first, *query.further)]
        relation = self._unions.united(parts)
        if not query.order_by:
            return relation
        outputs = [
            Output(known.path, known.column, column_expr(Column(known.column, known.type)))
            for known in relation.fields
        ]
        bind = self._binder(relation).bind
        result = self._sorted(query, relation.node, outputs, bind, None)
        return replace(result, final=relation.final)

    def check_table(self, entry: CreateTable) -> Relation:
        """Computed columns and watermarks of a table, whether it is read or not."""
        return self._relations.tables.check(entry)

    def table_has_changed(self, entry: CreateTable) -> None:
        """Its declaration is another one from here on."""
        self._relations.tables.forget(entry)
        self.check_table(entry)

    def check_view(self, view: CreateView) -> Relation:
        """Plans a view on its own, so that its errors show where it is declared."""
        return self._relations.view(view, Environment(emit=True))

    def _check_clauses(self, query: Query, env: Environment, top: bool) -> None:
        place = self._source.position(_head(query))
        if query.source is None:
            raise UnsupportedError(
                "a query without FROM is not there yet", place, hint="select FROM a table"
            )
        if not query.order_by:
            return
        order = self._source.position(query.order_by[0].span)
        if not top:
            raise UnsupportedError(
                "ORDER BY in an inner query would have no effect",
                order,
                hint="move it to the end of the statement",
            )
        if not env.emit:
            raise UnsupportedError(
                "ORDER BY on a stream needs to know when rows are complete",
                order,
                hint="add EMIT ON WINDOW CLOSE at the end of the query",
            )

    def _filter(self, relation: Relation, condition: Scalar) -> Node:
        predicate = self._binder(relation).bind(condition)
        self._require_boolean(predicate, condition, "WHERE")
        return Filter(relation.node.schema, relation.node, predicate)

    def _grouped(
        self, binder: Binder, query: Query, env: Environment, window: GroupWindow | None
    ) -> tuple[Node, Bind, tuple[str, ...]]:
        if not env.emit and not binder.scope.relation.final:
            span = query.group_span or _head(query)
            raise UnsupportedError(
                "results that change are not there yet",
                self._source.position(span),
                hint="add EMIT ON WINDOW CLOSE at the end of the query:"
                " each group is emitted once, when it is final",
            )
        aggregation = Aggregation(binder, query, window)
        scalars = [self._value(item) for item in query.items]
        scalars += [query.having] if query.having else []
        scalars += [self._order_target(item, query) for item in query.order_by]
        for scalar in scalars:
            aggregation.register(scalar)
        node = aggregation.build()

        def bind(scalar: Scalar) -> Expr:
            return aggregation.bind(scalar, node)

        above = node
        if query.having is not None:
            predicate = bind(query.having)
            self._require_boolean(predicate, query.having, "HAVING")
            above = Filter(node.schema, node, predicate)
        return above, bind, aggregation.key_names

    def _value(self, item: Item) -> Scalar:
        if item.value is None:
            raise BindError(
                "'*' cannot stand in a query with GROUP BY",
                self._source.position(item.span),
                hint="name the group keys and aggregates",
            )
        return item.value

    def _outputs(self, item: Item, relation: Relation, bind: Bind) -> list[Output]:
        if item.value is not None:
            return [self._computed(item, bind)]
        fields = relation.fields
        if item.qualifier is not None:
            fields = relation.of(item.qualifier)
            if not fields:
                known = " or ".join(f"'{table}'" for table in relation.tables)
                raise BindError(
                    f"unknown table '{item.qualifier.text}'",
                    self._source.position(item.qualifier.span),
                    hint=f"did you mean {known}?" if known else "write '*'",
                )
        return [
            Output(
                field.path, field.column, column_expr(Column(field.column, field.type)),
                field.hidden,
            )
            for field in fields
        ]  # fmt: skip

    def _computed(self, item: Item, bind: Bind) -> Output:
        scalar = self._value(item)
        value = bind(scalar)
        name = item.alias.text if item.alias else self._default_name(scalar)
        if item.alias:
            refuse_hidden(self._source, item.alias)
        return Output((name,), name, value)

    def _default_name(self, scalar: Scalar) -> str:
        path = identifier_path(scalar.node)
        if path is not None:
            return path[-1].text
        if isinstance(scalar.node, exp.Anonymous):
            return scalar.node.name.lower()
        return self._source.snippet(scalar.span)

    def _sorted(
        self,
        query: Query,
        node: Node,
        outputs: list[Output],
        bind: Bind,
        keys: tuple[str, ...] | None,
    ) -> Relation:
        extras: list[Output] = []
        columns: list[str] = []
        for item in query.order_by:
            known = self._ordinal(item, outputs)
            if known is None:
                value = bind(self._order_target(item, query))
                known = next((out for out in outputs + extras if out.value.sql == value.sql), None)
            if known is None:
                known = _extra(self._source.snippet(item.value.span), value, outputs + extras)
                extras.append(known)
            columns.append(known.column)
        ties = self._ties(node, outputs, extras, keys)
        below = _projected(node, outputs + extras)
        first = query.order_by[0]
        derived = derive(below.node)[columns[0]]
        if derived.lost:
            shown = self._source.snippet(first.value.span)
            raise BindError(
                f"ORDER BY {shown}: the column has no watermark, so no row would ever leave",
                self._source.position(first.span),
                detail=f"{shown}: {derived.lost}",
                hint=_sortable_hint(node),
            )
        self._check_direction(first)
        time, further = columns[0], dict[str, SortKey]()
        for column, item in zip(columns[1:], query.order_by[1:], strict=True):
            if column != time:  # a column that came before decides nothing more
                further.setdefault(column, SortKey(column, item.descending, item.nulls_first))
        rest = tuple(tie for tie in ties if tie != time and tie not in further)
        sort = Sort(below.node.schema, below.node, time, rest, tuple(further.values()))
        return replace(below, node=sort)

    def _ties(
        self,
        node: Node,
        outputs: list[Output],
        extras: list[Output],
        keys: tuple[str, ...] | None,
    ) -> tuple[str, ...]:
        """What orders equal times: split and offset of source rows, the group keys of groups.

        Of rows that stand in several windows, these too.
        """
        own: tuple[str, ...] = ()
        if keys is None and not any(isinstance(part, Aggregate | Join) for part in node.walk()):
            own, keys = (SPLIT, OFFSET), repeated_by(node)
        if keys is None:
            return tuple(output.column for output in outputs)
        ties = list(own)
        if any(isinstance(part, Union) for part in node.walk()):
            ties += [output.column for output in outputs]  # a row may be in several parts
            keys = ()
        for key in keys:
            value = column_expr(node.column_of(key))
            known = next((out for out in outputs + extras if out.value.sql == value.sql), None)
            if known is None:
                known = _extra(key, value, outputs + extras)
                extras.append(known)
            ties.append(known.column)
        return tuple(ties)

    def _check_direction(self, time: OrderItem) -> None:
        if time.descending or time.nulls_first:
            shown = self._source.snippet(time.value.span)
            raise UnsupportedError(
                f"ORDER BY {shown} {'DESC' if time.descending else 'NULLS FIRST'} cannot be done on"
                " a stream: rows leave as time passes",
                self._source.position(time.span),
                hint=f"order by {shown} ascending, NULLs last; columns behind it may be DESC",
            )

    def _ordinal(self, item: OrderItem, outputs: list[Output]) -> Output | None:
        """The column of the result that an ORDER BY key counts off."""
        node = item.value.node
        if not isinstance(node, exp.Literal) or node.is_string:
            return None
        visible = [output for output in outputs if not output.hidden]
        index = int(node.name) - 1 if node.name.isdigit() else -1
        if not 0 <= index < len(visible):
            raise BindError(
                f"ORDER BY {node.name}: the SELECT list has no column {node.name}",
                self._source.position(item.span),
                hint=f"write a number from 1 to {len(visible)}, or a column",
            )
        return visible[index]

    def _order_target(self, item: OrderItem, query: Query) -> Scalar:
        """What an ORDER BY key that is no ordinal means: an alias of the SELECT list, or itself."""
        node = item.value.node
        path = identifier_path(node)
        if path is not None and len(path) == 1:
            for other in query.items:
                if other.alias and other.value and matches(path[0], other.alias.text):
                    return other.value
        return item.value

    def _require_boolean(self, predicate: Expr, condition: Scalar, clause: str) -> None:
        if predicate.type != "BOOLEAN":
            raise BindError(
                f"the {clause} condition is {predicate.type}, expected BOOLEAN",
                self._source.position(condition.span),
                hint="write a comparison",
            )

    def _binder(self, relation: Relation) -> Binder:
        scope = Scope(self._source, relation, self._checker)
        return Binder(self._source, scope, self._checker)


def _sortable_hint(node: Node) -> str:
    """Which columns have a watermark to order by."""
    names = [name for name, derived in derive(node).items() if derived.has_watermark]
    if names:
        return f"order by {' or '.join(names)}"
    return "declare WATERMARK FOR a time column in CREATE TABLE, and order by that"


def _head(query: Query) -> Span:
    """The word with which the query begins."""
    return Span(query.span.start, min(query.span.end, query.span.start + len("SELECT")))


def _extra(name: str, value: Expr, outputs: list[Output]) -> Output:
    column = unused(name, [output.column for output in outputs])
    return Output((column,), column, value, hidden=True)


def _with_unique_columns(outputs: list[Output]) -> list[Output]:
    taken: list[str] = []
    result = []
    for output in outputs:
        column = unused(output.column, taken)
        taken.append(column)
        result.append(replace(output, column=column))
    return result


def _projected(node: Node, outputs: list[Output]) -> Relation:
    """A `Project` with the outputs, or none where it would change nothing."""
    fields = tuple(
        Field(output.path, output.column, output.value.type, output.hidden) for output in outputs
    )
    schema = tuple(Column(output.column, output.value.type) for output in outputs)
    plain = all(
        output.value.is_column and output.column in output.value.columns for output in outputs
    )
    if schema == node.schema and plain:
        return Relation(node, fields)
    columns = tuple((output.column, output.value) for output in outputs)
    return Relation(without_unused_time(Project(schema, node, columns)), fields)
