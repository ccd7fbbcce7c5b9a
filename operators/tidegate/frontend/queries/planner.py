"""Plans queries, and what stands in their FROM: tables, views, WITH queries, and queries again."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from sqlglot import exp

from tidegate.errors import BindError, SqlError, UnsupportedError
from tidegate.frontend.ast.queries import (
    JoinRef,
    MatchRef,
    Query,
    Scalar,
    SubqueryRef,
    TableRef,
    WatermarkRef,
    WindowRef,
)
from tidegate.frontend.ast.queries import Relation as RelationSyntax
from tidegate.frontend.ast.statements import CreateView
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.functions import number as number_of
from tidegate.frontend.expressions.scope import Relation, matches
from tidegate.frontend.queries.changes import ONCE, refuse_changing, refuse_never_final
from tidegate.frontend.queries.early import check_early
from tidegate.frontend.queries.joins import joined
from tidegate.frontend.queries.lateral import (
    asked_at_once,
    first_value,
    gives_first_value,
    joined_by_keys,
)
from tidegate.frontend.queries.match import matched
from tidegate.frontend.queries.relations import Environment, check_session, judged, of_view
from tidegate.frontend.queries.selection import (
    conjuncts_of,
    filtered,
    filtered_out,
    gives_one_row,
    is_grouped,
    is_one_row,
    selected,
    united,
)
from tidegate.frontend.queries.subqueries import (
    ASKED,
    VALUE,
    Asked,
    column_of,
    divided,
    qualified,
    question,
    value_of,
    values_in,
    with_values,
)
from tidegate.frontend.queries.time_to_live import hinted, ttl_of
from tidegate.frontend.queries.windows import windowed
from tidegate.frontend.tables.declared_tables import read_table
from tidegate.plan.joins import JoinKind

_NOTHING = Environment()


def plan_top(context: Context, query: Query, *, changes: bool) -> Relation:
    """The result of a statement's query; ``changes``: who gets it takes results that change."""
    return plan_query(context, query, environment(context, changes=changes), top=True)


def environment(context: Context, *, changes: bool) -> Environment:
    """What holds of a statement before it says more."""
    return Environment(changes=changes, unbounded=ttl_of(context.settings) > 0)


def plan_query(
    context: Context, query: Query, env: Environment = _NOTHING, *, top: bool = False
) -> Relation:
    """The result as a relation; its node may have more columns than the visible fields."""
    env = env.of(query)
    _check_clauses(query, env, top)
    for cte in query.ctes:
        env = env.with_cte(cte)
    if query.further:
        first = replace(query, further=(), order_by=(), limit=None, emit=None, ctes=())
        parts = [(part, plan_query(context, part, env)) for part in (first, *query.further)]
        relation = united(context, query, parts, env)
    else:
        relation = _selected(context, query, env, top)
    check_early(query, relation.node)
    return relation


def check_view(context: Context, view: CreateView) -> Relation:
    """Plans a view on its own, so that its errors show where it is declared."""
    for env in (Environment(emit=True), Environment(emit=True, judged=True)):
        with suppress(SqlError):  # it may be for a WATERMARK(…), or one whose results change
            return plan_view(context, view, env)
    return plan_view(context, view)


def plan_view(context: Context, view: CreateView, env: Environment = _NOTHING) -> Relation:
    """The query of a view, with its names; by itself its results may change."""
    return of_view(plan_query(context, view.query, replace(env, ctes=())), view)


def _selected(context: Context, query: Query, env: Environment, top: bool) -> Relation:
    assert query.source is not None
    where, asking = divided([] if query.where is None else [query.where])
    below = replace(env, early=None) if is_grouped(query) or query.distinct else env
    if isinstance(query.source, JoinRef):
        parts = [part for whole in where for part in conjuncts_of(whole)]
        relation, where = _joined(context, query.source, below, parts)
    else:
        relation = _relation(context, query.source, below)
    for each in asking:
        relation = _asked(context, relation, query.source, each, below)
    relation, query, where = _with_values(context, relation, query, where, below)
    result = selected(context, query, relation, where, env, top)
    return replace(result, node=hinted(result.node, query, relation)) if query.ttls else result


def _with_values(
    context: Context, relation: Relation, query: Query, where: list[Scalar], env: Environment
) -> tuple[Relation, Query, list[Scalar]]:
    """``relation`` with the single values that are asked for in WHERE and SELECT, which are columns
    of it there."""
    assert query.source is not None
    scalars = [*where, *(item.value for item in query.items if item.value is not None)]
    known: dict[int, exp.Expr] = {}
    for number, inner in enumerate(values_in(scalars)):
        if inner.source is None or not (gives_one_row(inner) or gives_first_value(inner)):
            raise UnsupportedError(
                "a query inside an expression gives one value: an aggregate without GROUP BY, or"
                " one column with LIMIT 1",
                inner.head.place,
                hint="write (SELECT max(x) FROM …); or join with the query",
            )
        below = _source(context, inner, env)
        if gives_one_row(inner):
            how = value_of(inner, below, context.checker)
        else:
            how = first_value(inner, below, relation, context.checker)
        right = plan_query(context, how.query, env)
        names = (VALUE, *(f"key{at}" for at in range(len(how.equated))))
        named = zip(right.visible, names, strict=True)
        right = replace(right, fields=tuple(replace(f, path=(n,), hidden=True) for f, n in named))
        alias = f"{ASKED}{number}"
        equal = [
            exp.EQ(this=part.copy(), expression=column_of(alias, name))
            for part, name in zip(how.equated, names[1:], strict=True)
        ]
        on = Scalar(exp.and_(*equal, copy=True), inner.span) if equal else None
        other = SubqueryRef(inner, None, inner.span)
        syntax = JoinRef(JoinKind.LEFT, query.source, other, on, (), inner.span)
        relation, _ = _join_of(context, relation, right.called(alias), syntax, env, [])
        value = column_of(alias, VALUE)
        if how.is_count:  # of no rows there are none
            value = exp.Anonymous(this="coalesce", expressions=[value, number_of(0)])
        known[id(inner)] = value

    def asked_for(scalar: Scalar) -> Scalar:
        return replace(scalar, node=with_values(scalar.node, known)) if known else scalar

    items = tuple(
        item if item.value is None else replace(item, value=asked_for(item.value))
        for item in query.items
    )
    return relation, replace(query, items=items), [asked_for(each) for each in where]


def _asked(
    context: Context, relation: Relation, source: RelationSyntax, each: Asked, env: Environment
) -> Relation:
    """The rows of ``relation``, ``source``, for which the other query says yes."""
    inner, query = None, each.query
    is_plain = not (query.ctes or query.further or query.qualify or query.takes_first)
    if query.source is not None and is_plain and not is_grouped(query):
        inner = _source(context, query, env)
    if not each.tested and is_one_row(query):  # whatever there is, or is not
        return filtered_out(relation) if each.is_not else relation
    tested = (qualified(one, relation, context.checker, each.span) for one in each.tested)
    each = each._replace(tested=tuple(tested))
    how = question(each, inner, context.checker)
    if how.is_whole:
        right = plan_query(context, query, env)
        if each.tested:
            named = zip(right.visible, each.names, strict=True)
            right = replace(right, fields=tuple(replace(f, path=(name,)) for f, name in named))
        right = right.called(ASKED)
    else:
        assert inner is not None
        right = inner if how.own is None else filtered(context, inner, how.own, env)
    kind = JoinKind.ANTI if each.is_not else JoinKind.SEMI
    other = SubqueryRef(query, None, query.span)
    syntax = JoinRef(kind, source, other, how.condition, (), each.span)
    return _join_of(context, relation, right, syntax, env, [])[0]


def _relation(context: Context, syntax: RelationSyntax, env: Environment) -> Relation:
    """The relation with its alias."""
    match syntax:
        case TableRef():
            return _table(context, syntax, env).named(syntax.alias)
        case SubqueryRef():
            return plan_query(context, syntax.query, env).called("").named(syntax.alias)
        case WindowRef():
            check_session(syntax, env)
            below = _relation(context, syntax.input, env)
            if syntax.kind == "SESSION" or env.emit:
                what = "sessions of" if syntax.kind == "SESSION" else f"{ONCE} of windows of"
                refuse_never_final(below, syntax.span, what)
            return windowed(context, below, syntax).named(syntax.alias)
        case WatermarkRef():
            below = _relation(context, syntax.input, replace(env, judged=True))
            return judged(context, below, syntax).named(syntax.alias)
        case MatchRef():
            below = _relation(context, syntax.input, env)
            return matched(context, below, syntax, unbounded=env.unbounded)
        case JoinRef():
            return _joined(context, syntax, env, [])[0]


def _source(context: Context, query: Query, env: Environment) -> Relation:
    """What stands in FROM of ``query``, which is inside of another one."""
    for cte in query.ctes:
        env = env.with_cte(cte)
    assert query.source is not None
    return _relation(context, query.source, env)


def _joined(
    context: Context, syntax: JoinRef, env: Environment, conditions: list[Scalar]
) -> tuple[Relation, list[Scalar]]:
    """A join, and what is left of ``conditions``, the parts of WHERE above it.

    An inner join takes those that are about its two sides, as if they stood in ON: tables with
    a comma between them have no others.
    """
    if isinstance(syntax.left, JoinRef):
        passed = [] if syntax.kind.keeps_right else conditions  # rows that it adds meet WHERE
        left, rest = _joined(context, syntax.left, env, passed)
        conditions = conditions if syntax.kind.keeps_right else rest
    else:
        left = _relation(context, syntax.left, env)
    right, syntax = _right(context, left, syntax, env)
    return _join_of(context, left, right, syntax, env, conditions)


def _right(
    context: Context, left: Relation, syntax: JoinRef, env: Environment
) -> tuple[Relation, JoinRef]:
    """What stands on the right of a join, and how it is joined."""
    side = syntax.right
    if not (isinstance(side, SubqueryRef) and side.lateral):
        return _relation(context, side, env), syntax
    if side.query.further or side.query.source is None:
        return _relation(context, side, env), syntax
    if syntax.kind.keeps_right:
        raise UnsupportedError(
            f"a {syntax.kind} JOIN with LATERAL is not supported",
            side.span.place,
            hint="write JOIN or LEFT JOIN",
        )
    inner = _source(context, side.query, env)
    query, at_hand = asked_at_once(side.query, inner, left, context.checker)
    right = plan_query(context, query, env).called("").named(side.alias)
    return joined_by_keys(right, syntax, at_hand, len(left.fields))


def _join_of(
    context: Context,
    left: Relation,
    right: Relation,
    syntax: JoinRef,
    env: Environment,
    conditions: list[Scalar],
) -> tuple[Relation, list[Scalar]]:
    """The join of two sides that are planned."""
    if syntax.as_of is not None:
        refuse_changing(left, syntax.span, "FOR SYSTEM_TIME AS OF the time of")
    elif env.emit:
        for side in (left, right):
            refuse_changing(side, syntax.span, f"{ONCE} of a join of")
    if syntax.nearest and env.emit:
        raise UnsupportedError(
            f"ASOF JOIN with {ONCE} is not supported: a nearer row may come",
            syntax.span.place,
            hint="write JOIN b FOR SYSTEM_TIME AS OF a.t: each row of b is valid from its time on",
        )
    unbounded = env.unbounded and not env.emit
    return joined(context, left, right, syntax, conditions, unbounded=unbounded, ttls=env.ttls)


def _table(context: Context, syntax: TableRef, env: Environment) -> Relation:
    for cte, outer in env.ctes:
        if matches(syntax.name, cte.name.text):
            inner = replace(env, ctes=outer.ctes)
            if isinstance(cte.body, Query):
                return plan_query(context, cte.body, inner).called(cte.name.text)
            return _relation(context, cte.body, inner).called(cte.name.text)
    entry = context.catalog.find(syntax.name)
    if isinstance(entry, CreateView):
        return plan_view(context, entry, env)
    return read_table(context, entry).called(entry.name.text)


def _check_clauses(query: Query, env: Environment, top: bool) -> None:
    if query.source is None:
        raise UnsupportedError(
            "a query without FROM is not supported", query.head.place, hint="select FROM a table"
        )
    if query.distinct_on and query.limit is not None:
        raise UnsupportedError(
            "LIMIT beside DISTINCT ON is not supported",
            query.limit.span.place,
            hint="put DISTINCT ON into a query in FROM, and LIMIT behind the one around it",
        )
    if query.limit is not None and query.limit.ties and not query.order_by:
        raise BindError(
            "WITH TIES is about an order, and there is none",
            query.limit.span.place,
            hint="add ORDER BY",
        )
    if query.takes_first:
        if env.emit:
            span = query.limit.span if query.limit else query.distinct_on[0].span
            raise UnsupportedError(
                f"{ONCE} of the first rows of all is not supported: a better one may come",
                span.place,
                hint="leave EMIT ON WINDOW CLOSE out: results change then; or take the first of"
                " each window: QUALIFY row_number() OVER (PARTITION BY window_start, window_end"
                " ORDER BY …) <= 3",
            )
        return
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
