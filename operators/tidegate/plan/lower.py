"""Lowering: from the logical tree of a sink to the physical one, with its exchanges.

Each rule is one branch of `lower`:

- an aggregation becomes a partial one, an exchange by the hash of its keys, a final one; over
  overlapping windows the partial one is by panes, which the windows share (`panes`);
- sessions are kept behind an exchange by the hash of their keys, of rows without what nobody reads;
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
    Session,
    Sink,
    Sort,
    Tumble,
    Unary,
    WatermarkFilter,
    Window,
    column_expr,
)
from tidegate.plan.panes import paned
from tidegate.plan.physical import (
    Distribution,
    Exchange,
    FinalAggregate,
    MergeRuns,
    PartialAggregate,
    SessionRows,
    SortRuns,
    Tally,
    WindowPartials,
)
from tidegate.types import BROKER_TIME, HIDDEN_PREFIX, OFFSET, RECORD, SPLIT

_ORDERED_CALLS = ("first_value", "last_value")


def lower(node: Node, pushdown: bool, keep: tuple[str, ...] = ()) -> Node:
    """The physical tree of a logical one; ``keep`` are the hidden columns asked for above it."""
    match node:
        case Scan():
            return node
        case WatermarkFilter():
            below = lower(node.input, pushdown, keep)
            if not pushdown and not _has_filter(below):
                hidden = (OFFSET, RECORD, BROKER_TIME)
                below = Exchange(below.schema, below, Distribution.BY_SPLIT, hidden=hidden)
            return replace(node, input=below)
        case Project() if isinstance(node.input, Session):
            return replace(node, input=_lower_session(_narrowed(node), pushdown, keep))
        case Project() | Filter() | Window():
            return replace(node, input=lower(node.input, pushdown, keep))
        case Session():
            return _lower_session(node, pushdown, keep)
        case Aggregate():
            return _lower_aggregate(node, pushdown)
        case Sort():
            return _lower_sort(node, pushdown)
        case Sink():
            return replace(node, input=_tallied(lower(node.input, pushdown), keep=()))
    raise AssertionError(f"no lowering for {type(node).__name__}")


def _lower_aggregate(node: Aggregate, pushdown: bool) -> Node:
    derived = same_window_keys(node, derive(node.input))
    ordered = any(call.function in _ORDERED_CALLS for call in node.calls)
    hidden = (SPLIT, OFFSET) if ordered else ()
    panes = paned(node)
    grouped = node if panes is None else panes.aggregate
    below = _tallied(lower(grouped.input, pushdown, hidden), keep=hidden)
    partial: Node = PartialAggregate(grouped.schema, below, grouped)
    if panes is not None:
        partial = WindowPartials(node.schema, partial, node, panes.window, panes.pane, panes.parts)
    if not _are_together(node.input, node.keys):
        partial = Exchange(node.schema, partial, Distribution.HASH, keys=node.keys)
    return FinalAggregate(node.schema, partial, node, derived)


def _are_together(node: Node, keys: tuple[str, ...]) -> bool:
    """Whether all rows of ``node`` that are alike in ``keys`` are in one actor already."""
    match node:
        case Session():
            return set(node.keys) <= set(keys)
        case Filter():
            return _are_together(node.input, keys)
        case Project():
            given = [expr for name, expr in node.columns if name in keys and expr.is_column]
            below = tuple(column for expr in given for column in expr.columns)
            return _are_together(node.input, below)
    return False


def _narrowed(node: Project) -> Session:
    """The sessions below ``node``, of rows that have only what it reads: they are sent and kept."""
    session = node.input
    assert isinstance(session, Session)
    wanted = frozenset(session.keys) | {session.time_column}
    wanted = wanted.union(*(expr.columns for _, expr in node.columns))
    kept = tuple(column for column in session.input.schema if column.name in wanted)
    if len(kept) == len(session.input.schema):
        return session
    rows = Project(kept, session.input, tuple((c.name, column_expr(c)) for c in kept))
    added = session.schema[len(session.input.schema) :]
    return replace(session, schema=(*kept, *added), input=rows)


def _lower_session(node: Session, pushdown: bool, keep: tuple[str, ...]) -> Node:
    below = _tallied(lower(node.input, pushdown, keep), keep)
    together = Distribution.HASH if node.keys else Distribution.GATHER
    exchange = Exchange(below.schema, below, together, keys=node.keys, hidden=keep)
    return SessionRows(node.schema, exchange, node, keep)


def _lower_sort(node: Sort, pushdown: bool) -> Node:
    hidden = tuple(tie for tie in node.ties if tie.startswith(HIDDEN_PREFIX))
    below = _tallied(lower(node.input, pushdown, hidden), keep=hidden)
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
