"""Results that change (S5): which nodes give them, and what tells their rows apart."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.plan.aggregates import Aggregate
from tidegate.plan.joins import ChangingJoin, JoinKind, NowJoin
from tidegate.plan.nodes import Filter, Node, Project, Sink
from tidegate.plan.normalize import Normalize
from tidegate.plan.over import ChangingOver
from tidegate.plan.physical import (
    EarlyAggregate,
    PartialAggregate,
    Recompute,
    RegularJoin,
    UpdatingAggregate,
)
from tidegate.plan.settle import Settle
from tidegate.plan.temporal_filter import TemporalFilter
from tidegate.plan.versions import Versions
from tidegate.plan.windows import Tumble, Window


def is_changing(node: Node) -> bool:
    """Whether rows of ``node`` may be taken back: chunks then have the column `OP`."""
    if isinstance(node, Settle | Versions | PartialAggregate):
        return False
    if isinstance(node, NowJoin):
        return is_changing(node.left)
    if isinstance(node, Recompute | RegularJoin):
        return is_changing(node.of if isinstance(node, Recompute) else node.join)
    return _changes(node) or any(map(is_changing, node.inputs))


def _changes(node: Node) -> bool:
    if isinstance(node, UpdatingAggregate | EarlyAggregate):
        return True  # as `lower` has them
    if isinstance(node, ChangingJoin):
        return not node.takes_nothing_back
    if isinstance(node, Normalize | ChangingOver | TemporalFilter):
        return True
    return isinstance(node, Aggregate) and node.updates


def is_early(node: Node) -> bool:
    """Whether rows of ``node`` may be shown before they are final."""
    return any(isinstance(part, Aggregate) and part.early is not None for part in node.walk())


def changing_key(node: Node) -> tuple[str, ...] | None:
    """The columns that tell the rows of a changing ``node`` apart, of which there is one at a time.

    None where they are not all there any more, or several results are in it. Empty: it has one row.
    """
    match node:
        case Aggregate() | Normalize():
            return node.keys
        case ChangingOver():
            return _key_of_first(node)
        case ChangingJoin():
            return _key_of_pairs(node)
        case Filter() | Sink() | Tumble() | TemporalFilter():
            return changing_key(node.input)
        case Window():
            below = changing_key(node.input)
            windows = (column.name for column in node.schema[len(node.input.schema) :])
            return None if below is None else (*below, *windows)
        case Project():
            below = changing_key(node.input)
            kept = {next(iter(expr.columns)): name for name, expr in node.columns if expr.is_column}
            if below is None or not set(below) <= set(kept):
                return None
            return tuple(kept[key] for key in below)
    return None


def _key_of_first(node: ChangingOver) -> tuple[str, ...] | None:
    """A partition's rows are told apart by their numbers, if equal ones have not the same."""
    if node.first is None or node.numbering.function != "row_number":
        return None
    name, most = node.first
    if most == 1:
        return node.keys
    return (*node.keys, name) if any(column.name == name for column in node.schema) else None


def _key_of_pairs(node: ChangingJoin) -> tuple[str, ...] | None:
    """What tells pairs apart: the left row, if it has one partner at most, else both."""
    left, right = (changing_key(side) for side in node.inputs)
    if not node.kind.has_right or left is None or node.nearest:
        return left
    is_one = right is not None and set(right) <= {key for _, key in node.keys}
    if is_one and node.kind in (JoinKind.INNER, JoinKind.LEFT):
        return left
    if right is None or node.kind is JoinKind.FULL:
        return None  # of a FULL JOIN, rows with NULL keys on either side may be alone
    return (*left, *right)


def kept_for_ever(node: Node) -> Iterator[tuple[Node, Node]]:
    """What keeps all rows of an input that none are taken from, with that input."""
    for part in node.walk():
        ttls: tuple[int, ...] = ()
        if isinstance(part, ChangingJoin):
            ttls = part.ttls
        elif isinstance(part, ChangingOver) and not part.keeps_first:
            ttls = (part.ttl,)
        sides = zip(part.inputs, ttls, strict=False)
        yield from ((part, side) for side, ttl in sides if not (ttl or is_changing(side)))
