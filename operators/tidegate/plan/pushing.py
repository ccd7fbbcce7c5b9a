"""Conditions of WHERE move below the joins that keep all rows, to the side that they are about.

What such a condition refuses is then neither sent nor kept, and counts as ``filtered`` (S7). Other
joins forget their rows by themselves, and had their conditions above them before this was done: a
checkpoint of theirs has rows that only those refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegate.plan.joins import ChangingJoin
from tidegate.plan.nodes import PROC_TIME_SQL, Filter, Node, Project, Sink


def pushed(sinks: Sequence[Sink]) -> list[Sink]:
    """``sinks`` with conditions as far down as they can be."""
    built: dict[Node, Node] = {}  # a node that two queries share stays one node
    return [replace(sink, input=_pushed(sink.input, built)) for sink in sinks]


def _pushed(node: Node, built: dict[Node, Node]) -> Node:
    if node not in built:
        new = node.on([_pushed(below, built) for below in node.inputs])
        if isinstance(new, Filter) and PROC_TIME_SQL not in new.predicate.sql:
            new = _sunk(new, new.input) or new
        built[node] = new
    return built[node]


def _sunk(condition: Filter, node: Node) -> Node | None:
    """``node`` with ``condition`` below a join in it; None where it cannot get there."""
    read = condition.predicate.columns
    match node:
        case Filter():
            below = _sunk(condition, node.input)
            return None if below is None else replace(node, input=below)
        case Project():
            same = {name for name, expr in node.columns if expr.is_column and name in expr.columns}
            below = _sunk(condition, node.input) if read <= same else None
            return None if below is None else replace(node, input=below)
        case ChangingJoin():
            inputs = list(node.inputs)
            for side, below in enumerate(node.inputs):
                if node.kind.keeps_alone(1 - side) or (side and node.nearest):
                    continue  # without a row another one would be alone, or have another partner
                if read and read <= {column.name for column in below.schema}:
                    own = Filter(below.schema, below, condition.predicate)
                    inputs[side] = _sunk(own, below) or own
                    return node.on(inputs)
    return None
