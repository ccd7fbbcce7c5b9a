"""What asks another query: ``IN (SELECT …)``, ``EXISTS (SELECT …)``, their NOT, and single values.

Each condition is a semi or an anti join of what stands in FROM with the other query. Parts of the
other query's WHERE that name columns of this one become conditions of that join; so it may be about
the row at hand, as long as it has no groups and no first rows of its own.

A single value is an aggregate without GROUP BY. It is joined to each row; where parts of its WHERE
equate something of it with something of the row at hand, it is grouped by that, and joined by it.

``x NOT IN (…)`` is not known to be true where ``x`` is NULL, or one of the others is, but of no
rows at all: a row meets all those that it might be equal to. ``(x, y) IN (…)`` compares each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from sqlglot import exp

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.ast.queries import Item, Query, Scalar
from tidegate.frontend.expressions.functions import conjuncts
from tidegate.frontend.expressions.scalar import identifier_path, path_node
from tidegate.frontend.expressions.scope import Relation, Scope
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.source import Span
from tidegate.frontend.syntax.dialect import InnerQuery

ASKED: Final = "$asked"
VALUE: Final = "value"
"""What the other query's result, and its column, are called."""


class Asked(NamedTuple):
    """A condition that asks ``query``: for any row, or for one that is as ``tested``, which are the
    values of its columns."""

    query: Query
    is_not: bool
    tested: tuple[exp.Expr, ...]
    span: Span

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns of the result are called that are compared."""
        return tuple(f"{VALUE}{number or ''}" for number in range(len(self.tested)))


def asked(condition: Scalar) -> Asked | None:
    """What a part of WHERE asks of another query; None where it asks none, or for a value."""
    node, is_not = condition.node.unnest(), False
    while isinstance(node, exp.Not):
        node, is_not = node.this.unnest(), not is_not
    if isinstance(node, exp.In) and node.args.get("query"):
        tested = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        return Asked(_query_in(node.args["query"]), is_not, tuple(tested), condition.span)
    if isinstance(node, exp.Exists):
        return Asked(_query_in(node), is_not, (), condition.span)
    return None


def divided(
    conditions: Iterable[Scalar],
) -> tuple[list[Scalar], list[Asked]]:
    """The ``conditions`` of a WHERE that ask nothing, and what the others ask."""
    plain, asking = [], []
    for whole in conditions:
        if whole.node.find(InnerQuery) is None:
            plain.append(whole)
            continue
        for part in conjuncts(whole.node):
            one = Scalar(part, whole.span)
            found = asked(one)
            if found is None:
                plain.append(one)
            else:
                asking.append(found)
    return plain, asking


class Question(NamedTuple):
    """How it is asked: what holds of both sides, and ``own``, what of the other one alone.

    ``is_whole``: of the result of the other query, whose columns have the names of what is asked,
    if that matters. Else of the rows in its FROM.
    """

    condition: Scalar | None
    own: Scalar | None
    is_whole: bool


def question(each: Asked, inner: Relation | None, checker: TypeChecker) -> Question:
    """How ``each`` is asked. ``inner`` is what stands in FROM of its query, if that has rows as
    they are, so that it can be about the row at hand."""
    query, count = each.query, len(each.tested)
    values = [item.value for item in query.items if item.value is not None]
    if count and not count == len(values) == len(query.items):
        columns = "one column" if count == 1 else f"{count} columns"
        told = "name that column alone" if count == 1 else "name one for each value before IN"
        raise BindError(f"IN takes a query of {columns}", query.head.place, hint=told)
    if inner is None or query.where is None:
        return _of_whole(each)
    scope, span = Scope(inner, checker), query.where.span
    own, outer = list[exp.Expr](), list[exp.Expr]()
    for part in conjuncts(query.where.node):
        (own if is_of(scope, part, span) else outer).append(part)
    if not outer:
        return _of_whole(each)
    conditions = [named(scope, part, span) for part in outer]
    same = zip(each.tested, values, strict=False)
    conditions[:0] = [_equal(each, one, named(scope, v.node, v.span)) for one, v in same]
    return Question(_all(conditions, each.span), _all(own, span), is_whole=False)


def _of_whole(each: Asked) -> Question:
    same = zip(each.tested, each.names, strict=True)
    conditions = [_equal(each, one, column_of(ASKED, name)) for one, name in same]
    return Question(_all(conditions, each.span), None, is_whole=True)


def _all(parts: Sequence[exp.Expr], span: Span) -> Scalar | None:
    return Scalar(exp.and_(*parts, copy=True), span) if parts else None


def _equal(each: Asked, tested: exp.Expr, value: exp.Expr) -> exp.Expr:
    same = exp.EQ(this=tested.copy(), expression=value.copy())
    if not each.is_not:
        return same
    nulls = (exp.Is(this=side.copy(), expression=exp.Null()) for side in (tested, value))
    return exp.Paren(this=exp.or_(same, *nulls, copy=False))


def is_of(scope: Scope, node: exp.Expr, span: Span) -> bool:
    """Whether all that ``node`` names is there."""
    columns = node.find_all(exp.Column, exp.Dot)
    named = (column for column in columns if not isinstance(column.parent, exp.Dot))
    paths = (identifier_path(column, span) for column in named)
    return all(path is None or scope.try_find(path) is not None for path in paths)


def qualified(node: exp.Expr, outer: Relation, checker: TypeChecker, span: Span) -> exp.Expr:
    """``node``, which is about the row at hand, with the tables of its columns."""
    return named(Scope(outer, checker), node, span)


def named(scope: Scope, node: exp.Expr, span: Span) -> exp.Expr:
    """``node`` with the table before each column that ``scope`` has: the other query's own come
    first, whatever this one has of the name."""

    def with_table(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column) or part.args.get("table") is not None:
            return part
        path = identifier_path(part, span)
        found = None if path is None else scope.try_find(path)
        if path is None or found is None:
            return part
        table = found.field.table or scope.relation.alias
        if not table:
            return part
        first = replace(path[0], text=table, quoted=True)
        return path_node((first, *path))

    return node.transform(with_table)


def column_of(table: str, name: str) -> exp.Expr:
    """A column of what was asked."""
    first, second = (exp.Identifier(this=text, quoted=True) for text in (table, name))
    return exp.Column(this=second, table=first)


def with_values(node: exp.Expr, known: Mapping[int, exp.Expr]) -> exp.Expr:
    """``node`` with what is ``known`` in the place of queries, by the identity of these."""

    def put(part: exp.Expr) -> exp.Expr:
        inner = part
        while isinstance(inner, exp.Paren | exp.Subquery) and not isinstance(inner, InnerQuery):
            inner = inner.this
        value = known.get(id(inner.args["query"])) if isinstance(inner, InnerQuery) else None
        return part if value is None else value.copy()

    return node.transform(put)


class Value(NamedTuple):
    """How a single value is asked for: the query that gives it, with what equates its rows with
    those at hand behind it, and that of the row at hand."""

    query: Query
    equated: tuple[exp.Expr, ...]
    is_count: bool


def values_in(scalars: Iterable[Scalar]) -> Iterator[Query]:
    """The queries in ``scalars`` that stand for a value."""
    for scalar in scalars:
        for node in scalar.node.find_all(InnerQuery):
            holder = node.parent
            while isinstance(holder, exp.Paren | exp.Subquery):
                holder = holder.parent
            asks = isinstance(holder, exp.Exists) or (
                isinstance(holder, exp.In) and _is_below(holder.args.get("query"), node)
            )
            if not asks:
                yield node.args["query"]


def _is_below(above: exp.Expr | None, node: exp.Expr) -> bool:
    return above is not None and any(part is node for part in above.walk())


def _query_in(node: exp.Expr) -> Query:
    inner = node.find(InnerQuery)
    assert inner is not None
    query: Query = inner.args["query"]
    return query


def value_of(query: Query, inner: Relation, checker: TypeChecker) -> Value:
    """How ``query``, an aggregate of what is ``inner``, is asked for its value.

    Raises UnsupportedError where it is about the row at hand, and not by an equation.
    """
    value = query.items[0].value
    assert value is not None
    is_count = isinstance(value.node, exp.Anonymous) and value.node.name.lower() == "count"
    found = equations(query, inner, checker, "a query for a value")
    span = query.where.span if query.where else query.span
    items = (*query.items, *(Item(key, None, None, span) for key in found.keys))
    grouped = replace(query, items=items, where=found.own, group_by=found.keys)
    query = replace(grouped, group_span=span if found.keys else None)
    return Value(query, found.outer, is_count)


class Equations(NamedTuple):
    """What a WHERE says: ``own`` of its query alone; ``keys`` of it that are equal to ``outer``
    parts of the row at hand."""

    own: Scalar | None
    keys: tuple[Scalar, ...]
    outer: tuple[exp.Expr, ...]


def equations(query: Query, inner: Relation, checker: TypeChecker, what: str) -> Equations:
    """Those of ``query``, which is ``what``, over ``inner``.

    Raises UnsupportedError where it is about the row at hand, and not by an equation.
    """
    if query.where is None:
        return Equations(None, (), ())
    scope, span = Scope(inner, checker), query.where.span
    own, keys, outer = list[exp.Expr](), list[Scalar](), list[exp.Expr]()
    for part in conjuncts(query.where.node):
        if is_of(scope, part, span):
            own.append(part)
            continue
        sides = (part.this, part.expression) if isinstance(part, exp.EQ) else ()
        of_inner = [side for side in sides if is_of(scope, side, span)]
        if len(of_inner) != 1:
            raise UnsupportedError(
                f"{what} may be about the row at hand by equations only",
                span.place,
                hint="write WHERE inner.key = outer.key; or join with the query",
            )
        keys.append(Scalar(of_inner[0], span))
        outer += [side for side in sides if side is not of_inner[0]]
    return Equations(_all(own, span), tuple(keys), tuple(outer))
