"""What is planned below an operator over ordered rows: computed columns, and what breaks ties."""

from __future__ import annotations

from dataclasses import replace

from tidegate.frontend.expressions.scope import unused
from tidegate.frontend.queries.windows import repeated_by
from tidegate.plan.joins import Union, has_splits
from tidegate.plan.nodes import Expr, Node
from tidegate.plan.projections import widened
from tidegate.types import OFFSET, SPLIT, Column


class Below:
    """The projection below an operator: all columns of ``node``, and what it wants computed."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._added: dict[str, Expr] = {}
        self._outputs: list[str] = []

    @property
    def names(self) -> list[str]:
        """The columns that it has so far."""
        return [*(column.name for column in self._node.schema), *self._added]

    def column(self, expr: Expr) -> str:
        """The column that holds ``expr``."""
        if expr.is_column:
            return next(iter(expr.columns))
        for name, known in self._added.items():
            if known.sql == expr.sql:
                return name
        name = unused(expr.text or "value", [*self.names, *self._outputs])
        self._added[name] = expr
        return name

    def output(self, column: Column) -> Column:
        """``column``, under a name that no other has."""
        name = unused(column.name, [*self.names, *self._outputs])
        self._outputs.append(name)
        return replace(column, name=name)

    def build(self) -> Node:
        """The node below."""
        return widened(self._node, self._added.items())


def ties_of(node: Node) -> tuple[str, ...]:
    """What orders rows that SQL leaves unordered (S6)."""
    columns = tuple(column.name for column in node.schema)
    if not has_splits(node):
        return columns
    own = (SPLIT, OFFSET, *repeated_by(node))
    return (*own, *columns) if any(isinstance(part, Union) for part in node.walk()) else own
