"""The columns of a query's result, and the projection that makes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tidegate.frontend.ast.queries import Scalar
from tidegate.frontend.expressions.scope import Field, Relation, unused
from tidegate.frontend.queries.windows import without_unused_time
from tidegate.plan import projections
from tidegate.plan.nodes import Expr, Node, Project

Bind = Callable[[Scalar], Expr]


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the result: its name for the user, its plan name, its value."""

    path: tuple[str, ...]
    column: str
    value: Expr
    hidden: bool = False

    @staticmethod
    def of(field: Field) -> Output:
        """A field of the input as it is."""
        return Output(field.path, field.column, field.value, field.hidden)


def extra(name: str, value: Expr, outputs: list[Output]) -> Output:
    """A column besides ``outputs``, which nobody can name."""
    column = unused(name, [output.column for output in outputs])
    return Output((column,), column, value, hidden=True)


def with_unique_columns(outputs: list[Output]) -> list[Output]:
    """``outputs`` with plan columns of different names."""
    taken: list[str] = []
    result = []
    for output in outputs:
        column = unused(output.column, taken)
        taken.append(column)
        result.append(replace(output, column=column))
    return result


def projected(node: Node, outputs: list[Output]) -> Relation:
    """A `Project` with the outputs, or none where it would change nothing."""
    fields = tuple(
        Field(output.path, output.column, output.value.type, output.hidden) for output in outputs
    )
    above = projections.projected(node, ((output.column, output.value) for output in outputs))
    if above is not node and isinstance(above, Project):
        above = without_unused_time(above)
    return Relation(above, fields)
