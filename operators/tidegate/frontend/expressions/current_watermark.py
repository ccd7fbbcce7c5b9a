"""``CURRENT_WATERMARK(c)``: the watermark of the row's split before the row (Flink, Confluent).

It is a column that the watermark filter of ``c`` adds, on its way up to the query that asks. Below
grouping and sorting a row has a split; above, it has none, and there is nothing to ask for.

The filter with the column and the one without it are one declaration, with one account (S7). So
where any query of the file asks, all filters of that declaration have the column
(`share_watermarks_before`), and the others leave it out again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from tidegate.errors import BindError, SqlError, UnsupportedError
from tidegate.frontend.ast.queries import Query
from tidegate.frontend.expressions.functions import BEFORE_PREFIX, CURRENT_WATERMARK
from tidegate.frontend.expressions.scalar import call_span, identifier_path
from tidegate.frontend.expressions.scope import Relation, Scope, unused
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.source import Span
from tidegate.plan.derivation import derive
from tidegate.plan.nodes import Filter, Node, Project, Sink, Unary, WatermarkFilter, column_expr
from tidegate.plan.projections import narrowed
from tidegate.plan.windows import Window
from tidegate.types import Column


def with_watermarks_before(checker: TypeChecker, relation: Relation, query: Query) -> Relation:
    """``relation``, the FROM of ``query``, with the columns for its CURRENT_WATERMARK calls."""
    for node, span in _calls(query):
        place = span.place
        (argument,) = node.expressions if len(node.expressions) == 1 else (None,)
        path = None if argument is None else identifier_path(argument, span)
        if path is None:
            raise BindError(
                "CURRENT_WATERMARK takes one column that has a watermark",
                place,
                hint="write CURRENT_WATERMARK(t)",
            )
        found = Scope(relation, checker).find(path)
        column = ".".join((found.field.column, *found.inside))
        if column in dict(relation.before):
            continue
        if found.inside:
            raise _without_watermark(relation, column, span)
        node_, name = _carried(relation, relation.node, column, span)
        relation = replace(relation, node=node_, before=(*relation.before, (column, name)))
    return relation


def share_watermarks_before(sinks: list[Sink]) -> list[Sink]:
    """The sinks, with filters that differ only in whether somebody asks made one."""
    asked = {
        replace(node, schema=node.input.schema, before=""): node
        for sink in sinks
        for node in sink.walk()
        if isinstance(node, WatermarkFilter) and node.before
    }
    if not asked:
        return sinks
    shared = (_shared(sink, asked) for sink in sinks)
    return [sink for sink in shared if isinstance(sink, Sink)]


def _shared(node: Node, asked: dict[WatermarkFilter, WatermarkFilter]) -> Node:
    if isinstance(node, WatermarkFilter) and node in asked:
        node = asked[node]
    below = [_shared(part, asked) for part in node.inputs]
    if isinstance(node, Unary):
        return _over(node, *below)
    return node.on([narrowed(b, was.schema) for b, was in zip(below, node.inputs, strict=True)])


def _calls(query: Query) -> Iterator[tuple[exp.Anonymous, Span]]:
    scalars = [item.value for item in query.items if item.value is not None]
    scalars += [scalar for scalar in (query.where, query.having) if scalar is not None]
    scalars += [*query.group_by, *(item.value for item in query.order_by)]
    for scalar in scalars:
        for node in scalar.node.find_all(exp.Anonymous):
            if node.name.lower() == CURRENT_WATERMARK:
                yield node, call_span(node, scalar.span)


def _carried(relation: Relation, node: Node, column: str, span: Span) -> tuple[Node, str]:
    """``node`` with one column more, the watermark of ``column`` before the row, and its name."""
    match node:
        case WatermarkFilter() if node.column == column:
            if node.before:
                return node, node.before
            name = _name_of(node)
            schema = (*node.schema, Column(name, node.column_of(column).type))
            return replace(node, schema=schema, before=name), name
        case Project():
            expr = dict(node.columns)[column]
            if not expr.is_column:
                raise _without_watermark(relation, column, span)
            (below_column,) = expr.columns
            below, name = _carried(relation, node.input, below_column, span)
            passed = column_expr(below.column_of(name))
            if name not in dict(node.columns):
                schema = (*node.schema, below.column_of(name))
                node = replace(node, schema=schema, columns=(*node.columns, (name, passed)))
            return replace(node, input=below), name
        case Filter() | Window() | WatermarkFilter():
            if all(known.name != column for known in node.input.schema):
                raise _without_watermark(relation, column, span)
            below, name = _carried(relation, node.input, column, span)
            return _over(node, below), name
        case _ if node.stateful or len(node.inputs) > 1:
            raise UnsupportedError(
                "rows that are grouped, sorted, joined or united have no split, so"
                " CURRENT_WATERMARK is not known",
                span.place,
                hint="write it in a query on the table: SELECT …, CURRENT_WATERMARK(t) AS w FROM t",
            )
    raise _without_watermark(relation, column, span)


def _name_of(node: WatermarkFilter) -> str:
    """What the column of a filter is called: not as that of one below, which another query may ask
    for (`share_watermarks_before`)."""
    if node.before:
        return node.before
    below = [_name_of(part) for part in node.input.walk() if isinstance(part, WatermarkFilter)]
    return unused(f"{BEFORE_PREFIX}{node.column}", below)


def _over(node: Unary, below: Node) -> Node:
    """``node`` over ``below``, which may have more columns than the input that it had."""
    match node:
        case Filter():
            return replace(node, schema=below.schema, input=below)
        case WatermarkFilter() | Window():
            own = node.schema[len(node.input.schema) :]
            return replace(node, schema=(*below.schema, *own), input=below)
        case Project():
            return replace(node, input=below)
    return replace(node, input=narrowed(below, node.input.schema))


def _without_watermark(relation: Relation, column: str, span: Span) -> SqlError:
    derived = derive(relation.node)
    having = [name for name, known in derived.items() if known.has_watermark]
    place = span.place
    if column in having:
        return BindError(
            f"CURRENT_WATERMARK takes the column of a watermark, '{column}' follows from one",
            place,
            hint=f"write CURRENT_WATERMARK({derived[column].source})",
        )
    return BindError(
        f"'{column}' has no watermark",
        place,
        detail=derived[column].lost if column in derived else "",
        hint=f"the watermark is on {', '.join(having)}"
        if having
        else f"declare WATERMARK FOR {column} AS … in CREATE TABLE",
    )
