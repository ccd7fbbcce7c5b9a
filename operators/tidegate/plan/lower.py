"""Lowering: from the logical tree of a sink to the physical one, with its exchanges.

Each rule is one branch of `lower`:

- an aggregation becomes a partial one, an exchange by the hash of its keys, a final one;
- a sort becomes parallel sorts and one last merge, so that its order is total (S5);
- the stateless part of a branch over a source ends in a `Tally`, which counts for S7;
- without push-down, an exchange by split stands below the lowest watermark filter, which then
  keeps its state in the state store, as the RFC has it.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.plan.nodes import (
    Aggregate,
    Filter,
    Node,
    Project,
    Scan,
    Sink,
    Sort,
    Tumble,
    Unary,
    WatermarkFilter,
)
from tidegate.plan.physical import (
    Distribution,
    Exchange,
    FinalAggregate,
    MergeRuns,
    PartialAggregate,
    SortRuns,
    Tally,
)
from tidegate.types import HIDDEN_PREFIX, OFFSET, RECORD, SPLIT

_ORDERED_CALLS = ("first_value", "last_value")


def lower(node: Node, pushdown: bool) -> Node:
    """The physical tree of a logical one."""
    match node:
        case Scan():
            return node
        case WatermarkFilter():
            below = lower(node.input, pushdown)
            if not pushdown and not _has_filter(below):
                below = Exchange(
                    below.schema, below, Distribution.BY_SPLIT, hidden=(OFFSET, RECORD)
                )
            return replace(node, input=below)
        case Project() | Filter() | Tumble():
            return replace(node, input=lower(node.input, pushdown))
        case Aggregate():
            return _lower_aggregate(node, lower(node.input, pushdown))
        case Sort():
            return _lower_sort(node, lower(node.input, pushdown))
        case Sink():
            return replace(node, input=_tallied(lower(node.input, pushdown), keep=()))
    raise AssertionError(f"no lowering for {type(node).__name__}")


def _lower_aggregate(node: Aggregate, below: Node) -> Node:
    ordered = any(call.function in _ORDERED_CALLS for call in node.calls)
    below = _tallied(below, keep=(SPLIT, OFFSET) if ordered else ())
    partial = PartialAggregate(node.schema, below, node)
    exchange = Exchange(node.schema, partial, Distribution.HASH, keys=node.keys)
    return FinalAggregate(node.schema, exchange, node, _derived(node))


def _lower_sort(node: Sort, below: Node) -> Node:
    hidden = tuple(tie for tie in node.ties if tie.startswith(HIDDEN_PREFIX))
    below = _tallied(below, keep=hidden)
    spread = Exchange(node.schema, below, Distribution.SPREAD, hidden=hidden)
    runs = SortRuns(node.schema, spread, node, hidden)
    gather = Exchange(node.schema, runs, Distribution.GATHER, hidden=hidden)
    return MergeRuns(node.schema, gather, node, hidden)


def _derived(node: Aggregate) -> tuple[tuple[str, int], ...]:
    """Keys at a fixed distance from the closing key: the other end of the same tumbling window."""
    closing = _window_end_of(node.input, node.closing_key)
    if closing is None:
        return ()
    derived = []
    for key in node.keys:
        other = _window_end_of(node.input, key)
        if key != node.closing_key and other is not None and other[0] == closing[0]:
            derived.append((key, other[1] - closing[1]))
    return tuple(derived)


def _window_end_of(node: Node, column: str) -> tuple[Tumble, int] | None:
    """The window that ``column`` is an end of, and its distance from the window's start."""
    while isinstance(node, Unary):
        if isinstance(node, Tumble) and column in ("window_start", "window_end"):
            return node, node.size if column == "window_end" else 0
        if isinstance(node, Project):
            expr = dict(node.columns)[column]
            if not expr.is_column:
                return None
            (column,) = expr.columns
        elif not isinstance(node, Filter | Tumble):
            return None
        node = node.input
    return None


def _region(node: Node) -> list[Node]:
    """``node`` and what lies below it in the same fragment."""
    region = [node]
    while isinstance(node, Unary) and not isinstance(node, Exchange):
        node = node.input
        region.append(node)
    return region


def _has_filter(node: Node) -> bool:
    return any(isinstance(part, WatermarkFilter) for part in _region(node))


def _tallied(node: Node, keep: tuple[str, ...]) -> Node:
    """``node`` with a `Tally` on top where it is the stateless part of a branch over a source."""
    for part in _region(node):
        if isinstance(part, WatermarkFilter | Scan):
            return Tally(node.schema, node, part.account, keep)
        if not isinstance(part, Project | Filter | Tumble):
            break
    return node
