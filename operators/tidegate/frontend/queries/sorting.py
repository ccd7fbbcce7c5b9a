"""Plans ORDER BY: by a time with a watermark, then by anything, and never in an open order (S6)."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.ast.queries import OrderItem, Query, Scalar
from tidegate.frontend.expressions.aliases import aliased
from tidegate.frontend.expressions.clocks import clock_hint
from tidegate.frontend.expressions.scope import Relation
from tidegate.frontend.queries.changes import settled
from tidegate.frontend.queries.outputs import Bind, Output, extra, projected
from tidegate.frontend.queries.windows import repeated_by
from tidegate.plan.derivation import derive
from tidegate.plan.joins import Union, has_splits
from tidegate.plan.nodes import Expr, Node, Sort, SortKey, column_expr
from tidegate.types import OFFSET, SPLIT


def in_order(
    query: Query, node: Node, outputs: list[Output], bind: Bind, keys: tuple[str, ...] | None
) -> Relation:
    """``outputs`` over ``node`` in the order that ``query`` says; ``keys`` of a grouped one."""
    extras: list[Output] = []
    columns = order_columns(query, outputs, extras, bind)
    ties = ties_between(node, outputs, extras, keys)
    below = projected(node, outputs + extras)
    first = query.order_by[0]
    if query.emit is not None:
        below = replace(below, node=settled(below.node, columns[:1]))
    derived = derive(below.node)[columns[0]]
    if derived.lost:
        shown = first.value.span.shown
        raise BindError(
            f"ORDER BY {shown}: the column has no watermark, so no row would ever leave",
            first.span.place,
            detail=f"{shown}: {derived.lost}",
            hint=clock_hint(derived.lost, _sortable_hint(node)),
        )
    _check_direction(first)
    time, further = columns[0], dict[str, SortKey]()
    for column, item in zip(columns[1:], query.order_by[1:], strict=True):
        if column != time:  # a column that came before decides nothing more
            further.setdefault(column, SortKey(column, item.descending, item.nulls_first))
    rest = tuple(tie for tie in ties if tie != time and tie not in further)
    sort = Sort(below.node.schema, below.node, time, rest, tuple(further.values()))
    return replace(below, node=sort)


def order_columns(
    query: Query, outputs: list[Output], extras: list[Output], bind: Bind
) -> list[str]:
    """The columns of what the query orders by, some of them among ``extras`` then."""
    columns: list[str] = []
    for item in query.order_by:
        known = _ordinal(item, outputs)
        if known is None:
            value = bind(order_target(item, query))
            known = output_of(item.value.span.shown, value, outputs, extras)
        columns.append(known.column)
    return columns


def ties_between(
    node: Node, outputs: list[Output], extras: list[Output], keys: tuple[str, ...] | None
) -> tuple[str, ...]:
    """What orders equal times: split and offset of source rows, the group keys of groups.

    Of rows that stand in several windows, these too.
    """
    own: tuple[str, ...] = ()
    if keys is None and has_splits(node):
        own, keys = (SPLIT, OFFSET), repeated_by(node)
    if keys is None:
        return tuple(output.column for output in outputs)
    ties = list(own)
    if any(isinstance(part, Union) for part in node.walk()):
        ties += [output.column for output in outputs]  # a row may be in several parts
        keys = ()
    for key in keys:
        value = column_expr(node.column_of(key))
        ties.append(output_of(key, value, outputs, extras).column)
    return tuple(ties)


def output_of(name: str, value: Expr, outputs: list[Output], extras: list[Output]) -> Output:
    """The one of ``outputs`` and ``extras`` that is ``value``; one more of these where none is."""
    for known in outputs + extras:
        if known.value.sql == value.sql:
            return known
    extras.append(extra(name, value, outputs + extras))
    return extras[-1]


def _check_direction(time: OrderItem) -> None:
    if time.descending or time.nulls_first:
        shown = time.value.span.shown
        raise UnsupportedError(
            f"ORDER BY {shown} {'DESC' if time.descending else 'NULLS FIRST'} is not supported on"
            " a stream, whose rows leave in the order of time",
            time.span.place,
            hint=f"order by {shown} ascending, NULLs last; columns behind it may be DESC",
        )


def _ordinal(item: OrderItem, outputs: list[Output]) -> Output | None:
    """The column of the result that an ORDER BY key counts off."""
    node = item.value.node
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    visible = [output for output in outputs if not output.hidden]
    index = int(node.name) - 1 if node.name.isdigit() else -1
    if not 0 <= index < len(visible):
        raise BindError(
            f"ORDER BY {node.name}: the SELECT list has no column {node.name}",
            item.span.place,
            hint=f"write a number from 1 to {len(visible)}, or a column",
        )
    return visible[index]


def order_target(item: OrderItem, query: Query) -> Scalar:
    """What an ORDER BY key that is no ordinal means: an alias of the SELECT list, or itself."""
    return order_target_of(item.value, query)


def order_target_of(scalar: Scalar, query: Query) -> Scalar:
    """As `order_target`, of what DISTINCT ON is about too."""
    found = aliased(query, scalar)
    return scalar if found is None else found[0]


def _sortable_hint(node: Node) -> str:
    """Which columns have a watermark to order by."""
    names = [name for name, derived in derive(node).items() if derived.has_watermark]
    if names:
        return f"order by {' or '.join(names)}"
    return "declare WATERMARK FOR a time column in CREATE TABLE, and order by that"
