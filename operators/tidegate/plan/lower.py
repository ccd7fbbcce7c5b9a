"""Lowering: from the logical tree of a sink to the physical one, with its exchanges.

Each rule is one branch of `lower`:

- an aggregation becomes a partial one, an exchange by the hash of its keys, a final one; over
  overlapping windows the partial one is by panes, which the windows share (`panes`);
- one with early results has its first phase by ticks too (`early`);
- sessions are kept behind an exchange by the hash of their keys;
- a sort becomes parallel sorts and one last merge, so that its order is total (S5);
- over-windows and row patterns are computed behind an exchange by the hash of their partition;
- what is computed anew where rows change has all rows alike in its keys in one actor, and so have
  the records of a changing table;
- the two sides of a join meet behind exchanges by the hash of its keys;
- a union rises above what has no state (`raised`): each of its branches is sent, to the operator
  that needs them all or to the sink, by whoever has it;
- the stateless part of a branch over a source ends in a `Tally`, which counts for S7;
- without push-down, an exchange by split stands below the lowest watermark filter, which then
  keeps its state in the state store, as the RFC has it.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.plan.aggregates import Aggregate
from tidegate.plan.changes import changing_key, is_changing
from tidegate.plan.derivation import behind_time, derive, following, same_window_keys
from tidegate.plan.joins import (
    ChangingJoin,
    Join,
    JoinKind,
    TemporalJoin,
    Union,
    UntimedJoin,
    branches,
    has_splits,
    united,
)
from tidegate.plan.match import MatchRecognize
from tidegate.plan.nodes import (
    Filter,
    Node,
    PerSplit,
    Project,
    Refusing,
    Scan,
    Sink,
    Sort,
    Unary,
    WatermarkFilter,
)
from tidegate.plan.normalize import Normalize
from tidegate.plan.over import ChangingOver, OverWindow
from tidegate.plan.panes import paned
from tidegate.plan.physical import (
    AsChanges,
    DeleteOldKeys,
    Distribution,
    EarlyAggregate,
    Exchange,
    FinalAggregate,
    FoldChanges,
    MergeRuns,
    OverRows,
    PartialAggregate,
    Recompute,
    RegularJoin,
    SessionRows,
    SortRuns,
    Tally,
    UpdatingAggregate,
    WindowPartials,
)
from tidegate.plan.settle import Settle
from tidegate.plan.tables import ChangingTable
from tidegate.plan.temporal_filter import TemporalFilter
from tidegate.plan.versions import Versions
from tidegate.plan.windows import Session, Window
from tidegate.types import (
    BEFORE,
    BROKER_TIME,
    HIDDEN_PREFIX,
    OFFSET,
    OLD_KEY,
    OP,
    RECORD,
    SPLIT,
    TICK,
)


def lower(  # noqa: PLR0912  # one branch an operator
    node: Node, pushdown: bool, keep: tuple[str, ...] = ()
) -> Node:
    """The physical tree of a logical one; ``keep`` are the hidden columns asked for above it."""
    if isinstance(node, Aggregate) and is_changing(node.input):
        if not node.can_subtract:
            return _recomputed(node, pushdown)
        return _lower_aggregate(replace(node, subtracts=True), pushdown)
    is_regular = isinstance(node, ChangingJoin) and node.is_regular
    if isinstance(node, ChangingOver | ChangingJoin) and not is_regular:
        return _recomputed(node, pushdown)
    match node:
        case Normalize():
            return _normalized(node, pushdown)
        case TemporalFilter():
            rides = (OP,) if is_changing(node.input) else ()
            return replace(node, input=_sent(node.input, pushdown, (node.column,), rides))
        case Settle() | Versions():
            return replace(node, input=lower(node.input, pushdown))
        case Scan():
            return node
        case PerSplit():
            below = lower(node.input, pushdown, keep)
            if isinstance(node, WatermarkFilter) and node.is_end:
                return replace(node, input=below)
            if not pushdown and not _has_filter(below):
                hidden: tuple[str, ...] = (OFFSET, RECORD, BROKER_TIME)
                if _reads_changes(below):
                    hidden += (OP, OLD_KEY)
                below = Exchange(below.schema, below, Distribution.BY_SPLIT, hidden=hidden)
            return replace(node, input=below)
        case Unary() if node.row_wise:
            return replace(node, input=lower(node.input, pushdown, keep))
        case Session():
            together = _sent(node.input, pushdown, node.keys, keep)
            return SessionRows(node.schema, together, node, keep)
        case Aggregate():
            return _lower_aggregate(node, pushdown)
        case Sort():
            return _lower_sort(node, pushdown)
        case Join():
            return _lower_join(node, pushdown)
        case OverWindow() | MatchRecognize():
            return _lower_over(node, pushdown, keep)
        case Union():
            return node.on([lower(branch, pushdown, keep) for branch in node.branches])
        case Sink():
            return replace(node, input=united(_written(node.input, pushdown)))
    raise AssertionError(f"no lowering for {type(node).__name__}")


def raised(node: Node) -> Node:
    """``node`` with its unions above the projections, filters and windows over them."""
    node = node.on([raised(below) for below in node.inputs])
    if isinstance(node, Union):
        return united([part for branch in node.branches for part in branches(branch)])
    if node.row_wise:
        (below,) = node.inputs
        return united([node.on((branch,)) for branch in branches(below)])
    return node


def _lower_aggregate(node: Aggregate, pushdown: bool) -> Node:
    derived = same_window_keys(node, derive(node.input))
    partials = []
    parts = branches(node.input)
    together = len(parts) == 1 and _are_together(node.input, node.keys)
    first = _with_ticks(node)
    for branch in parts:
        partial = _lower_partial(replace(first, input=branch), pushdown)
        if not together:
            partial = Exchange(first.schema, partial, _together(node.keys), keys=node.keys)
        partials.append(partial)
    final = FinalAggregate
    if node.updates:
        final = EarlyAggregate if node.early else UpdatingAggregate
    return final(node.schema, united(partials), node, derived)


def _with_ticks(node: Aggregate) -> Aggregate:
    """``node`` as its first phase has it: by ticks too, if it has early results."""
    if node.early is None:
        return node
    schema = (node.input.column_of(TICK), *node.schema)
    return replace(node, schema=schema, keys=(*node.keys, TICK))


def _lower_partial(node: Aggregate, pushdown: bool) -> Node:
    """The first phase of an aggregation."""
    hidden = (SPLIT, OFFSET) if any(call.by_source for call in node.calls) else ()
    panes = paned(node)
    grouped = node if panes is None else panes.aggregate
    kept = (*hidden, TICK) if node.early else hidden
    below = _tallied(lower(grouped.input, pushdown, hidden), keep=kept)
    partial: Node = PartialAggregate(grouped.schema, below, grouped)
    if panes is not None:
        partial = WindowPartials(node.schema, partial, node, panes.window, panes.pane, panes.parts)
    return partial


def _are_together(node: Node, keys: tuple[str, ...]) -> bool:
    """Whether all rows of ``node`` that are alike in ``keys`` are in one actor already."""
    match node:
        case Session() | OverWindow() | MatchRecognize():
            return set(node.keys) <= set(keys)
        case Filter():
            return _are_together(node.input, keys)
        case Project():
            given = [expr for name, expr in node.columns if name in keys and expr.is_column]
            below = tuple(column for expr in given for column in expr.columns)
            return _are_together(node.input, below)
    return False


def _change_together(node: Node, key: tuple[str, ...]) -> bool:
    """Whether all that happens to a row that ``key`` tells apart happens in one actor."""
    match node:
        case Aggregate() | Normalize() | ChangingOver():
            return set(node.keys) <= set(key)
        case ChangingJoin():
            sides = range(2) if node.kind is JoinKind.INNER else (int(node.kind.keeps_right),)
            return any({keys[side] for keys in node.keys} <= set(key) for side in sides)
        case TemporalFilter():
            return node.column in key
        case Project():
            given = [expr for name, expr in node.columns if name in key and expr.is_column]
            return _change_together(node.input, tuple(name for e in given for name in e.columns))
        case Filter() | Window():
            return _change_together(node.input, key)
    return False


def _together(keys: tuple[str, ...]) -> Distribution:
    """How what is alike in ``keys`` comes to one actor."""
    return Distribution.HASH if keys else Distribution.GATHER


def _written(node: Node, pushdown: bool) -> list[Node]:
    """What is written of ``node``: of each branch of a union."""
    key = changing_key(node) if is_changing(node) else None
    if key and not _change_together(node, key):
        sent = _sent(node, pushdown, key, (OP,))
        return [FoldChanges(node.schema, sent, key)]
    parts = [_tallied(lower(part, pushdown), ()) for part in branches(node)]
    if is_changing(node):
        parts = [p if is_changing(p) else AsChanges(p.schema, p) for p in parts]
    return parts


def _sent(
    node: Node,
    pushdown: bool,
    keys: tuple[str, ...],
    keep: tuple[str, ...] = (),
    how: Distribution | None = None,
) -> Node:
    """``node`` behind an exchange, by ``keys`` or else ``how``; one for each branch of a union."""
    sent = []
    for branch in branches(node):
        below = _tallied(lower(branch, pushdown, keep), keep)
        sent.append(Exchange(below.schema, below, how or _together(keys), keys=keys, hidden=keep))
    return united(sent)


def _lower_join(node: Join, pushdown: bool) -> Node:
    hidden: tuple[str, ...] = ()
    if isinstance(node, TemporalJoin):
        if has_splits(node.right):
            hidden = (SPLIT, OFFSET)
        ties = hidden
        if not hidden or any(part.repeats for part in node.right.walk()):
            ties += tuple(column.name for column in node.right.schema)  # a row may be there twice
        node = replace(node, ties=ties)
    changes = [(OP,) if is_changing(side) else () for side in node.inputs]
    left = _sent(node.left, pushdown, tuple(key for key, _ in node.keys), changes[0])
    right = _sent(node.right, pushdown, tuple(key for _, key in node.keys), hidden or changes[1])
    if isinstance(node, ChangingJoin):
        return RegularJoin(node.schema, left, right, node)
    if isinstance(node, UntimedJoin):
        return replace(node, left=left, right=right)
    follow = following(node, (derive(node.left), derive(node.right)))
    return replace(node, left=left, right=right, follow=follow)


def _lower_over(node: OverWindow | MatchRecognize, pushdown: bool, keep: tuple[str, ...]) -> Node:
    if isinstance(node, MatchRecognize):
        return replace(node, input=_sent(node.input, pushdown, node.keys, node.hidden))
    own = (tie for tie in node.ties if tie.startswith(HIDDEN_PREFIX))
    hidden = tuple(dict.fromkeys((*keep, *own)))
    follow = behind_time(node.time, derive(node.input))
    together = _sent(node.input, pushdown, node.keys, hidden)
    return OverRows(node.schema, together, node, hidden, keep, follow)


def _recomputed(node: Aggregate | ChangingOver | ChangingJoin, pushdown: bool) -> Recompute:
    """``node`` where all rows alike in its keys are, as they change."""
    ties: tuple[str, ...] = ()
    keys: tuple[tuple[str, ...], ...]
    if isinstance(node, ChangingJoin):
        keys = (tuple(key for key, _ in node.keys), tuple(key for _, key in node.keys))
    else:
        keys = (node.keys,)
    if isinstance(node, ChangingOver):
        ties = tuple(tie for tie in node.ties if tie.startswith(HIDDEN_PREFIX))
    parts = []
    for part, own in zip(node.inputs, keys, strict=True):
        rides = (*ties, OP) if is_changing(part) else ties
        parts.append(_sent(part, pushdown, own, rides))
    ttls = node.ttls if isinstance(node, ChangingJoin) else (node.ttl,)
    return Recompute(node.schema, tuple(parts), node, keys, (ties,) * len(parts), ttls)


def _normalized(node: Normalize, pushdown: bool) -> Recompute:
    """``node`` where all records alike in its keys are, with their places."""
    hidden = (SPLIT, OFFSET, OP, *((f"{BEFORE}{node.history}",) if node.history else ()))
    below = _tallied(lower(node.input, pushdown, hidden), (*hidden, OLD_KEY))
    below = DeleteOldKeys(below.schema, below)
    sent = Exchange(below.schema, below, Distribution.HASH, keys=node.keys, hidden=hidden)
    return Recompute(node.schema, (sent,), node, (node.keys,), (hidden,), (0,))


def _reads_changes(node: Node) -> bool:
    """Whether rows of ``node`` are records of a changing table."""
    return any(isinstance(n, Scan) and isinstance(n.table, ChangingTable) for n in node.walk())


def _lower_sort(node: Sort, pushdown: bool) -> Node:
    hidden = tuple(tie for tie in node.ties if tie.startswith(HIDDEN_PREFIX))
    spread = _sent(node.input, pushdown, (), hidden, Distribution.SPREAD)
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
    """Whether ``node`` needs the rows of each split by themselves."""
    return any(isinstance(part, PerSplit) for part in _region(node))


def _tallied(node: Node, keep: tuple[str, ...]) -> Node:
    """``node`` with a `Tally` on top where it is the stateless part of a branch over a source."""
    repeats = False
    for part in _region(node):
        if isinstance(part, Refusing):
            return Tally(node.schema, node, part.account, keep, repeats)
        if not part.row_wise:
            break
        repeats = repeats or part.repeats
    return node
