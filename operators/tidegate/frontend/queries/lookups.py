"""Tables that end and then stay as they are: what a LookupJoin joins with (S5).

All that such a table reads is bounded, and nothing in it has a watermark but the processing time.
It gets one, on a column of its own, of which no row has a candidate: so it says nothing until the
table has ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from tidegate.connectors.registry import connector_of
from tidegate.frontend.ast.queries import Scalar
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.clocks import without_clocks
from tidegate.frontend.expressions.scalar import Binder
from tidegate.frontend.expressions.scope import Relation, unused
from tidegate.frontend.tables.defaults import without_defaults
from tidegate.plan.derivation import derive
from tidegate.plan.derived import NONE, PROCESSING_TIME, Columns
from tidegate.plan.joins import LookupJoin, Union
from tidegate.plan.nodes import (
    NEVER,
    PROC_TIME_SQL,
    Expr,
    Filter,
    Node,
    Project,
    Scan,
    WatermarkFilter,
    column_expr,
)
from tidegate.plan.projections import widened
from tidegate.types import Column

_NAME: Final = "$end"
_TYPE: Final = "BIGINT"
_VALUE: Final = Expr(f"CAST(0 AS {_TYPE})", _TYPE, text="0")


def is_static(relation: Relation) -> bool:
    """Whether the relation is a table that ends, or what is selected from such tables."""
    node = without_clocks(without_defaults(relation.node))
    if any(derived.has_watermark for derived in derive(node).values()):
        return False
    parts = list(node.walk())
    kinds = Scan | Project | Filter | Union | LookupJoin
    stateless = all(
        isinstance(part, kinds) or (isinstance(part, WatermarkFilter) and part.is_end)
        for part in parts
    )
    tables = [part.table for part in parts if isinstance(part, Scan)]
    return stateless and all(connector_of(table).is_bounded(table) for table in tables)


def with_end(node: Node, taken: Iterable[str]) -> tuple[Node, str]:
    """The plan of a static relation with a column, called unlike all ``taken``, that says by its
    watermark when the relation has ended."""
    node = without_clocks(without_defaults(node))
    names = {column.name for part in node.walk() for column in part.schema}
    name = unused(_NAME, [*names, *taken])
    return _ending(node, name), name


def _ending(node: Node, name: str) -> Node:
    end = Column(name, _TYPE)
    match node:
        case Scan():
            below = widened(node, [(name, _VALUE)])
            return WatermarkFilter(
                below.schema, below, f"{node.account}.{name}", node.account, name, NEVER,
                skew_us_max=0, unit_us=0,
            )  # fmt: skip
        case Project():
            below = _ending(node.input, name)
            return Project((*node.schema, end), below, (*node.columns, (name, column_expr(end))))
        case Filter():
            below = _ending(node.input, name)
            return replace(node, schema=below.schema, input=below)
        case LookupJoin():  # its rows leave, and their watermarks pass, when its table has ended
            left = _ending(node.left, name)
            schema = node.given(left.schema, node.right.schema)
            return replace(node, schema=schema, left=left)
    assert isinstance(node, Union)
    parts = tuple(_ending(branch, name) for branch in node.branches)
    return Union((*node.schema, end), parts)


def is_now(context: Context, left: Relation, as_of: Scalar) -> bool:
    """Whether ``as_of``, of rows of ``left``, is the processing time."""
    return says_now(Binder(left, context.checker), derive(left.node), as_of)


def says_now(binder: Binder, known: Columns, as_of: Scalar) -> bool:
    """The same of what is ``known`` of the columns of the binder's relation."""
    expr = binder.bind(as_of)
    if not expr.columns:
        return PROC_TIME_SQL in expr.sql
    found = known.get(next(iter(expr.columns)), NONE)
    return expr.is_column and (found.lost == PROCESSING_TIME or found.is_clock)
