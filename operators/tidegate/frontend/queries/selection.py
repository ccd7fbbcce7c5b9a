"""What a query makes of the rows of its FROM: WHERE, GROUP BY, HAVING, OVER, SELECT, ORDER BY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.ast.queries import Item, Query, Scalar
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.aliases import with_aliases
from tidegate.frontend.expressions.current_watermark import with_watermarks_before
from tidegate.frontend.expressions.functions import conjuncts, sql_of
from tidegate.frontend.expressions.scalar import Binder, identifier_path, require_boolean
from tidegate.frontend.expressions.scope import Relation, Scope, refuse_hidden, unused
from tidegate.frontend.queries.aggregation import Aggregation, has_aggregate
from tidegate.frontend.queries.changes import (
    ONCE,
    refuse_changing,
    refuse_never_final,
    settled,
)
from tidegate.frontend.queries.closing import closing_key_of
from tidegate.frontend.queries.outputs import Bind, Output, projected, with_unique_columns
from tidegate.frontend.queries.over import OverPlanner
from tidegate.frontend.queries.presence import near_the_present
from tidegate.frontend.queries.relations import Environment
from tidegate.frontend.queries.sorting import in_order, order_target, order_target_of
from tidegate.frontend.queries.top_n import first_rows, limited
from tidegate.frontend.queries.unions import all_of
from tidegate.frontend.queries.windows import GroupWindow, group_window, windowed
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.plan.joins import ChangingJoin, Union
from tidegate.plan.nodes import Expr, Filter, Node, quoted
from tidegate.plan.projections import narrowed, widened
from tidegate.types import Column


def selected(
    context: Context,
    query: Query,
    relation: Relation,
    where: list[Scalar],
    env: Environment,
    top: bool,
) -> Relation:
    """The result of ``query`` over ``relation``, its FROM, of whose rows ``where`` holds.

    On ``top`` of a statement nobody can name hidden columns.
    """
    relation = with_watermarks_before(context.checker, relation, query)
    early, late = _conditions(context, relation, query, where)
    for condition in early:
        relation = filtered(context, relation, condition, env)
    relation, binder = _with_over(context, relation, query, late, env)
    if not (query.sets or query.distinct):
        return _outputs(context, query, relation, binder, env, top)
    unordered = replace(query, order_by=(), limit=None, distinct_on=())
    if query.sets:
        result = _of_sets(context, unordered, relation, env)
    else:
        result = _outputs(context, unordered, relation, binder, env, top)
    if query.distinct:
        result = _distinct(result, query, env)
    return _ordered(context, query, result)


def filtered(context: Context, relation: Relation, condition: Scalar, env: Environment) -> Relation:
    """The rows of ``relation`` for which ``condition`` holds, or holds now."""
    rest = [condition]
    if env.changes and not env.emit and not env.judged:
        near, rest = near_the_present(Binder(relation, context.checker), condition)
        relation = replace(relation, node=near)
    if any(isinstance(part, ChangingJoin) for part in relation.node.walk()):
        # They may be about different sides (`plan.pushing`).
        rest = [part for whole in rest for part in conjuncts_of(whole)]
    for part in rest:
        relation = replace(relation, node=_filter(Binder(relation, context.checker), part))
    return relation


def united(
    context: Context, query: Query, parts: Sequence[tuple[Query, Relation]], env: Environment
) -> Relation:
    """The parts of a UNION ALL as one relation, in their order if it has one."""
    relation = all_of(context, parts)
    if query.compared:
        relation = _compared(relation, query, env)
    if query.united_distinct:
        relation = _distinct(relation, query, env)
    query = replace(query, distinct_on=())  # that is said of the first part
    return _ordered(context, query, relation)


def is_grouped(query: Query) -> bool:
    """Whether the rows of the result are groups."""
    return bool(query.group_by or query.sets or query.having or has_aggregate(query))


def gives_one_row(query: Query) -> bool:
    """Whether the result is one row with one value."""
    return query.value is not None and is_one_row(query)


def is_one_row(query: Query) -> bool:
    """Whether the result is one row, whatever there is: aggregates of all rows."""
    is_more = query.group_by or query.sets or query.having or query.takes_first or query.further
    return not is_more and query.qualify is None and has_aggregate(query)


def filtered_out(relation: Relation) -> Relation:
    """None of the rows of ``relation``."""
    node = relation.node
    return replace(relation, node=Filter(node.schema, node, _boolean(False)))


def conjuncts_of(whole: Scalar) -> list[Scalar]:
    """What the ANDs of a condition hold together."""
    return [Scalar(part, whole.span, sql_of(part)) for part in conjuncts(whole.node)]


def _outputs(
    context: Context,
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
    if is_grouped(query) or absent is not None:
        window = group_window(query)
        if window is not None:
            relation = windowed(context, relation, window.windows, named=False)
            binder = Binder(relation, context.checker)
        node, bind, keys = _grouped(binder, query, env, window, absent or ())
        outputs = [_computed(item, bind) for item in query.items]
    else:
        node, bind = relation.node, binder.bind
        outputs = [
            output
            for item in query.items
            for output in _outputs_of(item, relation, bind)
            if not (top and output.hidden)
        ]
    outputs = with_unique_columns(outputs)
    result = _in_order(query, node, outputs, bind, keys)
    return replace(result, final=relation.final)


def _of_sets(context: Context, query: Query, relation: Relation, env: Environment) -> Relation:
    """The groups of each of several groupings, in which the keys of the others are NULL."""
    parts = []
    for keys in query.sets:
        present = [key.node for key in keys]
        absent = [key for key in query.group_by if key.node not in present]
        part = replace(query, group_by=keys, sets=())
        binder = Binder(relation, context.checker)
        parts.append((part, _outputs(context, part, relation, binder, env, False, absent)))
    return all_of(context, parts)


def _distinct(relation: Relation, query: Query, env: Environment) -> Relation:
    """Each row of ``relation`` once, when no other one like it can come."""
    if env.early is not None:
        raise UnsupportedError(
            "EARLY EVERY with DISTINCT is not supported",
            env.early.span.place,
            hint="name the columns in GROUP BY",
        )
    if env.emit:
        refuse_never_final(relation, query.head, f"{ONCE} of DISTINCT over")
    fields, place = tuple(relation.visible), query.head.place
    schema = tuple(Column(known.column, known.type) for known in fields)
    below = narrowed(relation.node, schema)
    keys = tuple(column.name for column in schema)
    updates = not (env.emit or relation.final)
    below = below if updates else settled(below, keys)
    closing = closing_key_of(
        below, keys, place, "SELECT DISTINCT", updates=updates, unbounded=env.unbounded
    )
    node = Aggregate(schema, below, keys, (), closing, updates)
    return Relation(node, fields, final=relation.final)


def _compared(relation: Relation, query: Query, env: Environment) -> Relation:
    """The rows of a union that are in all of its parts, or in the first one alone; each once."""
    union = relation.node
    assert isinstance(union, Union)
    if env.early is not None:
        raise UnsupportedError(
            f"EARLY EVERY with {query.compared} is not supported",
            env.early.span.place,
            hint="leave EARLY EVERY out",
        )
    if env.emit:
        refuse_changing(relation, query.head, f"{ONCE} of {query.compared} over")
    keys = tuple(column.name for column in union.schema)
    names = list(keys)
    for _ in union.branches:
        names.append(unused("is_in", names))
    parts = names[len(keys) :]
    tagged = [
        widened(branch, ((name, _boolean(at == own)) for own, name in enumerate(parts)))
        for at, branch in enumerate(union.branches)
    ]
    below = Union(tagged[0].schema, tuple(tagged))
    calls = tuple(AggregateCall(Column(name, "BOOLEAN"), "bool_or", name) for name in parts)
    updates = not (env.emit or relation.final)
    closing = closing_key_of(
        below, keys, query.head.place, query.compared, updates=updates, unbounded=env.unbounded
    )
    grouped = Aggregate(below.schema, below, keys, calls, closing, updates)
    is_not = "NOT " if query.compared == "EXCEPT" else ""
    first, *others = map(quoted, parts)
    holds = " AND ".join([first, *(f"{is_not}{other}" for other in others)])
    text = "in the first part alone" if is_not else "in all parts"
    predicate = Expr(holds, "BOOLEAN", frozenset(parts), text=text)
    chosen = Filter(grouped.schema, grouped, predicate)
    return replace(relation, node=narrowed(chosen, union.schema))


def _boolean(value: bool) -> Expr:
    sql = str(value).lower()
    return Expr(sql, "BOOLEAN", text=sql)


def _ordered(context: Context, query: Query, relation: Relation) -> Relation:
    """The rows of ``relation`` in the order of ``query``, if any, which names its columns."""
    if not (query.order_by or query.takes_first):
        return relation
    outputs = [Output.of(known) for known in relation.fields]
    bind = Binder(relation, context.checker).bind
    whole = replace(query, items=())  # an alias is a column here, no longer what it stood for
    result = _in_order(whole, relation.node, outputs, bind, None)
    return replace(result, final=relation.final)


def _in_order(
    query: Query, node: Node, outputs: list[Output], bind: Bind, keys: tuple[str, ...] | None
) -> Relation:
    """``outputs`` over ``node``, in the order of ``query`` or the first in it, if it says one."""
    if query.takes_first:
        return first_rows(query, node, outputs, bind, keys)
    if query.order_by:
        return in_order(query, node, outputs, bind, keys)
    return projected(node, outputs)


def _conditions(
    context: Context, relation: Relation, query: Query, where: list[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """The conditions of WHERE below over-windows, and those above, with QUALIFY's.

    A name in them that is no column may be an alias of the SELECT list (seed 000).
    """
    scope = Scope(relation, context.checker)
    late = [] if query.qualify is None else [with_aliases(query, query.qualify, scope)]
    early: list[Scalar] = []
    above: list[Scalar] = []
    for whole in where:
        condition = with_aliases(query, whole, scope)
        if condition.node.find(exp.Window) is None:
            early.append(condition)
            continue
        for part in conjuncts_of(whole):
            condition = with_aliases(query, part, scope)
            (early if condition.node.find(exp.Window) is None else above).append(condition)
    return early, [*above, *late]


def _with_over(
    context: Context, relation: Relation, query: Query, conditions: list[Scalar], env: Environment
) -> tuple[Relation, Binder]:
    """``relation`` with what OVER computes, of which ``conditions`` hold; and its binder."""
    scalars = [item.value for item in query.items if item.value is not None]
    scalars += [*conditions, *(item.value for item in query.order_by)]
    names = {i.value.node: i.alias.text for i in query.items if i.value and i.alias}
    over, columns = relation, dict[exp.Expr, str]()
    if not is_grouped(query):
        emit = env.emit or relation.final
        planner = OverPlanner(context, query.windows, judged=env.judged, emit=emit)
        over, columns = planner.planned(relation, scalars, names)
    elif query.qualify is not None:
        raise UnsupportedError(
            "QUALIFY in a query with GROUP BY is not supported",
            query.qualify.span.place,
            hint="put the groups into a query in FROM",
        )
    if columns and env.emit:
        refuse_changing(over, query.head, f"{ONCE} of OVER on")
    for condition in conditions:
        filtered = _filter(Binder(over, context.checker, over=columns), condition)
        over = replace(over, node=filtered)
    return over, Binder(over, context.checker, over=columns)


def _filter(binder: Binder, condition: Scalar) -> Node:
    bound = binder.bind(condition)
    predicate = replace(bound, text=condition.text or bound.text)
    require_boolean(predicate, "the WHERE condition", condition.span)
    node, holds = limited(binder, condition)
    return node if holds else Filter(node.schema, node, predicate)


def _grouped(
    binder: Binder,
    query: Query,
    env: Environment,
    window: GroupWindow | None,
    absent: Sequence[Scalar],
) -> tuple[Node, Bind, tuple[str, ...]]:
    relation = binder.scope.relation
    if env.emit:
        place = query.group_span or query.head
        if env.early:
            refuse_changing(relation, place, "EARLY EVERY over")
        refuse_never_final(relation, place, f"{ONCE} of GROUP BY over")
    updates = not (env.emit or relation.final)
    aggregation = Aggregation(binder, query, window, absent)
    scalars = [_value(item) for item in query.items]
    scalars += [query.having] if query.having else []
    scalars += [order_target(item, query) for item in query.order_by]
    scalars += [order_target_of(scalar, query) for scalar in query.first_per]
    for scalar in scalars:
        aggregation.register(scalar)
    node = aggregation.build(updates, env.unbounded, env.early)

    def bind(scalar: Scalar) -> Expr:
        return aggregation.bind(scalar, node)

    above = node
    if query.having is not None:
        predicate = bind(query.having)
        require_boolean(predicate, "the HAVING condition", query.having.span)
        above = Filter(node.schema, node, predicate)
    return above, bind, aggregation.key_names


def _value(item: Item) -> Scalar:
    if item.value is None:
        raise BindError(
            "'*' is not allowed in a query with GROUP BY",
            item.span.place,
            hint="name the group keys and aggregates",
        )
    return item.value


def _outputs_of(item: Item, relation: Relation, bind: Bind) -> list[Output]:
    if item.value is not None:
        return [_computed(item, bind)]
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
    return [Output.of(field) for field in fields]


def _computed(item: Item, bind: Bind) -> Output:
    scalar = _value(item)
    value = bind(scalar)
    name = item.alias.text if item.alias else _default_name(scalar)
    if item.alias:
        refuse_hidden(item.alias)
    return Output((name,), name, value)


def _default_name(scalar: Scalar) -> str:
    path = identifier_path(scalar.node, scalar.span)
    if path is not None:
        return path[-1].text
    if isinstance(scalar.node, exp.Anonymous):
        return scalar.node.name.lower()
    return scalar.span.shown
