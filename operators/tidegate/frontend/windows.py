"""What Flink's windows have besides RisingWave's: a ``window_time``, left out where nobody asks."""

from __future__ import annotations

from dataclasses import replace

from tidegate.plan.derivation import WINDOW_TIME
from tidegate.plan.nodes import Filter, Node, Project, Tumble


def without_unused_time(project: Project) -> Project:
    """``project`` over windows that have a ``window_time`` only if it, or a filter, reads it.

    Both forms of one window are one plan then, and rows don't carry what nobody reads.
    """
    used = frozenset[str]().union(*(expr.columns for _, expr in project.columns))
    if WINDOW_TIME in used:
        return project
    below = _without_time(project.input)
    return project if below is None else replace(project, input=below)


def _without_time(node: Node) -> Node | None:
    """``node`` without ``window_time``; None where it has none, or needs it."""
    match node:
        case Tumble(with_time=True):
            kept = tuple(column for column in node.schema if column.name != WINDOW_TIME)
            return replace(node, schema=kept, with_time=False)
        case Filter() if WINDOW_TIME not in node.predicate.columns:
            below = _without_time(node.input)
            return None if below is None else replace(node, schema=below.schema, input=below)
    return None
