"""Results that change (S5): which nodes give them, and what tells their rows apart."""

from __future__ import annotations

from tidegate.plan.aggregates import Aggregate
from tidegate.plan.nodes import Filter, Node, Project, Sink


def is_changing(node: Node) -> bool:
    """Whether rows of ``node`` may be taken back: chunks then have the column `OP`."""
    return any(isinstance(part, Aggregate) and part.updates for part in node.walk())


def is_early(node: Node) -> bool:
    """Whether rows of ``node`` may be shown before they are final."""
    return any(isinstance(part, Aggregate) and part.early is not None for part in node.walk())


def changing_key(node: Node) -> tuple[str, ...] | None:
    """The columns that tell the rows of a changing ``node`` apart, of which there is one at a time.

    None where they are not all there any more, or several results are in it. Empty: it has one row.
    """
    match node:
        case Aggregate():
            return node.keys
        case Filter() | Sink():
            return changing_key(node.input)
        case Project():
            below = changing_key(node.input)
            kept = {next(iter(expr.columns)): name for name, expr in node.columns if expr.is_column}
            if below is None or not set(below) <= set(kept):
                return None
            return tuple(kept[key] for key in below)
    return None
