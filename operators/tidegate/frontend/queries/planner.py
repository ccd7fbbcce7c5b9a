"""Plans queries: FROM, WHERE, GROUP BY, HAVING, SELECT, ORDER BY, in this order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from sqlglot import exp

from tidegate.errors import BindError, SqlError, UnsupportedError
from tidegate.frontend.expressions.aliases import with_aliases
from tidegate.frontend.expressions.current_watermark import with_watermarks_before
from tidegate.frontend.expressions.functions import sql_of
from tidegate.frontend.expressions.scalar import Binder, conjuncts, identifier_path
from tidegate.frontend.expressions.scope import Relation, Scope
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.queries.aggregation import Aggregation, has_aggregate
from tidegate.frontend.queries.changes import refuse_changing
from tidegate.frontend.queries.closing import closing_key_of, key_of_changes
from tidegate.frontend.queries.early import check_early
from tidegate.frontend.queries.outputs import Bind, Output, projected, with_unique_columns
from tidegate.frontend.queries.over import OverPlanner
from tidegate.frontend.queries.relations import Environment, RelationPlanner
from tidegate.frontend.queries.sorting import SortPlanner, order_target
from tidegate.frontend.queries.unions import UnionPlanner
from tidegate.frontend.queries.windows import (
    GroupWindow,
    group_window,
)
from tidegate.frontend.syntax.query_syntax import Item, JoinRef, Option, Query, Scalar
from tidegate.frontend.syntax.statement_syntax import CreateTable, CreateView
from tidegate.frontend.tables.catalog import Catalog, refuse_hidden
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.nodes import Expr, Filter, Node, column_expr
from tidegate.plan.projections import narrowed
from tidegate.types import Column


class QueryPlanner:
    """Plans the queries of one file."""

    def __init__(
        self,
        catalog: Catalog,
        checker: TypeChecker,
        hints: dict[str, tuple[Option, ...]],
        settings: Mapping[str, str],
    ) -> None:
        self._checker = checker
        self._unions = UnionPlanner(checker)
        self._sorts = SortPlanner()
        self._relations = RelationPlanner(catalog, checker, hints, settings, self)

    def plan(self, query: Query, env: Environment, top: bool = False) -> Relation:
        """The result as a relation; its node may have more columns than the visible fields."""
        relation = self._planned(query, env, top)
        check_early(query, relation.node)
        return relation

    def _planned(self, query: Query, env: Environment, top: bool) -> Relation:
        env = env.of(query)
        self._check_clauses(query, env, top)
        for cte in query.ctes:
            env = env.with_cte(cte)
        if query.further:
            return self._united(query, env)
        assert query.source is not None
        where = [] if query.where is None else [query.where]
        below = replace(env, early=None) if _is_grouped(query) or query.distinct else env
        if isinstance(query.source, JoinRef):
            parts = [part for whole in where for part in _parts(whole)]
            relation, where = self._relations.joined(query.source, below, parts)
        else:
            relation = self._relations.plan(query.source, below)
        relation = with_watermarks_before(self._checker, relation, query)
        early, late = self._conditions(relation, query, where)
        for condition in early:
            relation = replace(relation, node=self._filter(self._binder(relation), condition))
        relation, binder = self._with_over(relation, query, late, env)
        if not (query.sets or query.distinct):
            return self._selected(query, relation, binder, env, top)
        unordered = replace(query, order_by=())
        if query.sets:
            result = self._of_sets(unordered, relation, env)
        else:
            result = self._selected(unordered, relation, binder, env, top)
        if query.distinct:
            result = self._distinct(result, query, env)
        return self._ordered(query, result) if query.order_by else result

    def _selected(
        self,
        query: Query,
        relation: Relation,
        binder: Binder,
        env: Environment,
        top: bool,
        absent: Sequence[Scalar] | None = None,
    ) -> Relation:
        """What SELECT gives of the rows of ``relation``, or of their groups, in its order.

        ``absent``: this is one of several groupings, without these keys.
        """
        keys: tuple[str, ...] | None = None
        if _is_grouped(query) or absent is not None:
            window = group_window(query)
            if window is not None:
                relation = self._relations.windows.grouped(relation, window)
                binder = self._binder(relation)
            node, bind, keys = self._grouped(binder, query, env, window, absent or ())
            outputs = [self._computed(item, bind) for item in query.items]
        else:
            node, bind = relation.node, binder.bind
            outputs = [
                output
                for item in query.items
                for output in self._outputs(item, relation, bind)
                if not (top and output.hidden)  # nobody above can name it
            ]
        outputs = with_unique_columns(outputs)
        if query.order_by:
            result = self._sorts.sorted(query, node, outputs, bind, keys)
        else:
            result = projected(node, outputs)
        return replace(result, final=relation.final)

    def _of_sets(self, query: Query, relation: Relation, env: Environment) -> Relation:
        """The groups of each of several groupings, in which the keys of the others are NULL."""
        parts = []
        for keys in query.sets:
            present = [key.node for key in keys]
            absent = [key for key in query.group_by if key.node not in present]
            part = replace(query, group_by=keys, sets=())
            binder = self._binder(relation)
            parts.append((part, self._selected(part, relation, binder, env, False, absent)))
        return self._unions.united(parts)

    def _distinct(self, relation: Relation, query: Query, env: Environment) -> Relation:
        """Each row of ``relation`` once, when no other one like it can come."""
        place = query.head.place
        if env.early is not None:
            raise UnsupportedError(
                "EARLY EVERY with DISTINCT is not there yet",
                env.early.span.place,
                hint="name the columns in GROUP BY",
            )
        refuse_changing(relation, query.head, "DISTINCT over")
        fields = tuple(relation.visible)
        schema = tuple(Column(known.column, known.type) for known in fields)
        below = narrowed(relation.node, schema)
        keys = tuple(column.name for column in schema)
        updates = not (env.emit or relation.final)
        if updates:
            closing = key_of_changes(below, keys, place, "SELECT DISTINCT", unbounded=env.unbounded)
        else:
            closing = closing_key_of(below, keys, place, "SELECT DISTINCT")
        node = Aggregate(schema, below, keys, (), closing, updates)
        return Relation(node, fields, final=relation.final)

    def _united(self, query: Query, env: Environment) -> Relation:
        """The parts of a UNION ALL as one relation, in their order if it has one."""
        first = replace(query, further=(), order_by=(), emit=None, ctes=())
        parts = [(part, self.plan(part, env)) for part in (first, *query.further)]
        relation = self._unions.united(parts)
        if query.united_distinct:
            relation = self._distinct(relation, query, env)
        return self._ordered(query, relation) if query.order_by else relation

    def _ordered(self, query: Query, relation: Relation) -> Relation:
        """The rows of ``relation`` in the order of ``query``, which names its columns."""
        outputs = [
            Output(known.path, known.column, column_expr(Column(known.column, known.type)))
            for known in relation.fields
        ]
        bind = self._binder(relation).bind
        whole = replace(query, items=())  # an alias is a column here, no longer what it stood for
        result = self._sorts.sorted(whole, relation.node, outputs, bind, None)
        return replace(result, final=relation.final)

    def check_table(self, entry: CreateTable) -> Relation:
        """Computed columns and watermarks of a table, whether it is read or not."""
        return self._relations.tables.check(entry)

    def table_has_changed(self, entry: CreateTable) -> None:
        """Its declaration is another one from here on."""
        self._relations.tables.forget(entry.name.text)
        self.check_table(entry)

    def table_is_gone(self, name: str) -> None:
        """Its declaration has been dropped."""
        self._relations.tables.forget(name)

    def check_view(self, view: CreateView) -> Relation:
        """Plans a view on its own, so that its errors show where it is declared."""
        for env in (Environment(emit=True), Environment(emit=True, judged=True)):
            with suppress(SqlError):  # it may be for a WATERMARK(…), or one whose results change
                return self._relations.view(view, env)
        return self._relations.view(view, Environment())

    def check_materialized(self, view: CreateView) -> Relation:
        """Plans a materialized view as what it is by itself: its results may change."""
        return self._relations.view(view, Environment())

    def _check_clauses(self, query: Query, env: Environment, top: bool) -> None:
        place = query.head.place
        if query.source is None:
            raise UnsupportedError(
                "a query without FROM is not there yet", place, hint="select FROM a table"
            )
        if not query.order_by:
            return
        order = query.order_by[0].span.place
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

    def _conditions(
        self, relation: Relation, query: Query, where: list[Scalar]
    ) -> tuple[list[Scalar], list[Scalar]]:
        """The conditions of WHERE below over-windows, and those above, with QUALIFY's.

        A name in them that is no column may be an alias of the SELECT list (seed 000).
        """
        scope = Scope(relation, self._checker)
        late = [] if query.qualify is None else [with_aliases(query, query.qualify, scope)]
        early: list[Scalar] = []
        above: list[Scalar] = []
        for whole in where:
            condition = with_aliases(query, whole, scope)
            if condition.node.find(exp.Window) is None:
                early.append(condition)
                continue
            for part in _parts(whole):
                condition = with_aliases(query, part, scope)
                (early if condition.node.find(exp.Window) is None else above).append(condition)
        return early, [*above, *late]

    def _with_over(
        self, relation: Relation, query: Query, conditions: list[Scalar], env: Environment
    ) -> tuple[Relation, Binder]:
        """``relation`` with what OVER computes, of which ``conditions`` hold; and its binder."""
        scalars = [item.value for item in query.items if item.value is not None]
        scalars += [*conditions, *(item.value for item in query.order_by)]
        planner = OverPlanner(self._checker, query.windows, judged=env.judged)
        is_grouped = _is_grouped(query)
        if is_grouped and query.qualify is not None:
            raise UnsupportedError(
                "QUALIFY in a query with GROUP BY is not there yet",
                query.qualify.span.place,
                hint="put the groups into a query in FROM",
            )
        names = {i.value.node: i.alias.text for i in query.items if i.value and i.alias}
        over, columns = (relation, {}) if is_grouped else planner.planned(relation, scalars, names)
        if columns:
            refuse_changing(relation, query.head, "OVER on")
        for condition in conditions:
            over = replace(over, node=self._filter(self._binder(over, columns), condition))
        return over, self._binder(over, columns)

    def _filter(self, binder: Binder, condition: Scalar) -> Node:
        bound = binder.bind(condition)
        predicate = replace(bound, text=condition.text or bound.text)
        self._require_boolean(predicate, condition, "WHERE")
        node = binder.scope.relation.node
        return Filter(node.schema, node, predicate)

    def _grouped(
        self,
        binder: Binder,
        query: Query,
        env: Environment,
        window: GroupWindow | None,
        absent: Sequence[Scalar],
    ) -> tuple[Node, Bind, tuple[str, ...]]:
        relation = binder.scope.relation
        refuse_changing(relation, query.group_span or query.head, "GROUP BY over")
        updates = not (env.emit or relation.final)
        aggregation = Aggregation(binder, query, window, absent)
        scalars = [self._value(item) for item in query.items]
        scalars += [query.having] if query.having else []
        scalars += [order_target(item, query) for item in query.order_by]
        for scalar in scalars:
            aggregation.register(scalar)
        node = aggregation.build(updates, env.unbounded, env.early)

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
                item.span.place,
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
                    item.qualifier.span.place,
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
            refuse_hidden(item.alias)
        return Output((name,), name, value)

    def _default_name(self, scalar: Scalar) -> str:
        path = identifier_path(scalar.node, scalar.span)
        if path is not None:
            return path[-1].text
        if isinstance(scalar.node, exp.Anonymous):
            return scalar.node.name.lower()
        return scalar.span.shown

    def _require_boolean(self, predicate: Expr, condition: Scalar, clause: str) -> None:
        if predicate.type != "BOOLEAN":
            raise BindError(
                f"the {clause} condition is {predicate.type}, expected BOOLEAN",
                condition.span.place,
                hint="write a comparison",
            )

    def _binder(self, relation: Relation, over: Mapping[exp.Expr, str] | None = None) -> Binder:
        """Binds names of ``relation``; ``over`` are the columns that hold calls with OVER."""
        scope = Scope(relation, self._checker)
        return Binder(scope, self._checker, over=over)


def _is_grouped(query: Query) -> bool:
    return bool(query.group_by or query.sets or query.having or has_aggregate(query))


def _parts(whole: Scalar) -> list[Scalar]:
    """What the ANDs of a condition hold together."""
    return [Scalar(part, whole.span, sql_of(part)) for part in conjuncts(whole.node)]
