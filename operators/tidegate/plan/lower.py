"""Lowering: from the logical tree of a sink to the physical one, with its exchanges.

Each rule is one branch of `lower`:

- an aggregation becomes a partial one, an exchange by the hash of its keys, a final one; over
  overlapping windows the partial one is by panes, which the windows share (`panes`);
- a sort becomes parallel sorts and one last merge, so that its order is total (S5);
- the stateless part of a branch over a source ends in a `Tally`, which counts for S7;
- without push-down, an exchange by split stands below the lowest watermark filter, which then
  keeps its state in the state store, as the RFC has it.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.plan.derivation import derive, same_window_keys
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
    Window,
)
from tidegate.plan.panes import paned
from tidegate.plan.physical import (
    Distribution,
    Exchange,
    FinalAggregate,
    MergeRuns,
    PartialAggregate,
    SortRuns,
    Tally,
    WindowPartials,
)
from tidegate.types import BROKER_TIME, HIDDEN_PREFIX, OFFSET, RECORD, SPLIT

_ORDERED_CALLS = ("first_value", "last_value")


def lower(node: Node, pushdown: bool) -> Node:
    """The physical tree of a logical one."""
    match node:
        case Scan():
            return node
        case WatermarkFilter():
            below = lower(node.input, pushdown)
            if not pushdown and not _has_filter(below):
                hidden = (OFFSET, RECORD, BROKER_TIME)
                below = Exchange(below.schema, below, Distribution.BY_SPLIT, hidden=hidden)
            return replace(node, input=below)
        case Project() | Filter() | Window():
            return replace(node, input=lower(node.input, pushdown))
        case Aggregate():
            return _lower_aggregate(node, pushdown)
        case Sort():
            return _lower_sort(node, lower(node.input, pushdown))
        case Sink():
            return replace(node, input=_tallied(lower(node.input, pushdown), keep=()))
    raise AssertionError(f"no lowering for {type(node).__name__}")


def _lower_aggregate(node: Aggregate, pushdown: bool) -> Node:
    derived = same_window_keys(node, derive(node.input))
    ordered = any(call.function in _ORDERED_CALLS for call in node.calls)
    hidden = (SPLIT, OFFSET) if ordered else ()
    panes = paned(node)
    if panes is None:
        below = _tallied(lower(node.input, pushdown), keep=hidden)
        partial: Node = PartialAggregate(node.schema, below, node)
    else:
        by_pane = panes.aggregate
        below = _tallied(lower(by_pane.input, pushdown), keep=hidden)
        partial = PartialAggregate(by_pane.schema, below, by_pane)
        partial = WindowPartials(node.schema, partial, node, panes.window, panes.pane, panes.parts)
    exchange = Exchange(node.schema, partial, Distribution.HASH, keys=node.keys)
    return FinalAggregate(node.schema, exchange, node, derived)


def _lower_sort(node: Sort, below: Node) -> Node:
    hidden = tuple(tie for tie in node.ties if tie.startswith(HIDDEN_PREFIX))
    below = _tallied(below, keep=hidden)
    spread = Exchange(node.schema, below, Distribution.SPREAD, hidden=hidden)
    runs = SortRuns(node.schema, spread, node, hidden)
    gather = Exchange(node.schema, runs, Distribution.GATHER, hidden=hidden)
    return MergeRuns(node.schema, gather, node, hidden)


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
    repeats = False
    for part in _region(node):
        if isinstance(part, WatermarkFilter | Scan):
            return Tally(node.schema, node, part.account, keep, repeats)
        if not isinstance(part, Project | Filter | Window):
            break
        repeats = repeats or (isinstance(part, Window) and not isinstance(part, Tumble))
    return node
