"""Projections that planning puts between nodes: all columns and more, fewer, or others."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.plan.nodes import Expr, Node, Project, column_expr
from tidegate.types import Column, Schema


def project(node: Node, columns: Iterable[tuple[str, Expr]]) -> Project:
    """``columns``, names and what computes them, over ``node``."""
    columns = tuple(columns)
    return Project(tuple(Column(name, expr.type) for name, expr in columns), node, columns)


def projected(node: Node, columns: Iterable[tuple[str, Expr]]) -> Node:
    """As `project`, or ``node`` itself where it would change nothing."""
    columns = tuple(columns)
    above = project(node, columns)
    plain = all(expr.is_column and name in expr.columns for name, expr in columns)
    return node if plain and above.schema == node.schema else above


def narrowed(node: Node, schema: Schema) -> Node:
    """``node`` with the columns of ``schema`` only, which it has."""
    return projected(node, ((column.name, column_expr(column)) for column in schema))


def widened(node: Node, added: Iterable[tuple[str, Expr]]) -> Node:
    """``node`` with all of its columns, and ``added`` behind them."""
    own = ((column.name, column_expr(column)) for column in node.schema)
    return projected(node, (*own, *added))
