"""Wiring: from plan nodes to executors, one branch an operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tidegate.engine.engine import Engine
from tidegate.executor.aggregation.early_aggregate import EarlyAggregate
from tidegate.executor.aggregation.final_aggregate import FinalAggregate
from tidegate.executor.aggregation.partial_aggregate import PartialAggregate
from tidegate.executor.aggregation.updating_aggregate import UpdatingAggregate
from tidegate.executor.aggregation.window_partials import WindowPartials
from tidegate.executor.base import Executor
from tidegate.executor.checked import Checked
from tidegate.executor.filter import Filter
from tidegate.executor.joins.interval_join import IntervalJoin
from tidegate.executor.joins.lookup_join import LookupJoin
from tidegate.executor.joins.temporal_join import TemporalJoin
from tidegate.executor.joins.window_join import WindowJoin
from tidegate.executor.over.over_partitions import OverPartitions
from tidegate.executor.over.over_rows import OverRows
from tidegate.executor.over.recent_rows import RecentRows
from tidegate.executor.patterns.match_rows import MatchRows
from tidegate.executor.project import Project
from tidegate.executor.sorting.merge_sort import MergeSort
from tidegate.executor.sorting.sort import Sort
from tidegate.executor.tally import Tally
from tidegate.executor.union import Union
from tidegate.executor.watermarks.watermark_filter import WatermarkFilter
from tidegate.executor.windows.cumulate import Cumulate
from tidegate.executor.windows.fixed_windows import WindowExecutor
from tidegate.executor.windows.hop import Hop
from tidegate.executor.windows.session_rows import SessionRows
from tidegate.executor.windows.tumble import Tumble
from tidegate.plan import joins, nodes, physical, windows
from tidegate.plan.match import MatchRecognize
from tidegate.plan.over import RecentRows as RecentRowsNode
from tidegate.state import StateTable

_SIDES: Final = ("left", "right")
"""What the state tables of a join's ports are called, behind the operator's name."""


@dataclass(frozen=True, slots=True)
class Context:
    """What an actor gives its executors: the engine, and a state table by name.

    ``shared_accounts`` have several branches, whose tallies must be united (S7).
    """

    engine: Engine
    state: Callable[[str], StateTable]
    shared_accounts: frozenset[str]
    checks: bool = False


def build(node: nodes.Node, context: Context, name: str) -> Executor:
    """The executor of a node; ``name`` is unique in the fragment and names its state."""
    executor = _build(node, context, name)
    return Checked(executor) if context.checks else executor


def _build(node: nodes.Node, context: Context, name: str) -> Executor:
    engine = context.engine
    match node:
        case nodes.Project():
            return Project(node, engine)
        case nodes.Filter():
            return Filter(node, engine)
        case windows.Window():
            return _windows(node)
        case joins.Union() | joins.Join():
            return _junction(node, context, name)
        case physical.OverRows() | MatchRecognize():
            return _over(node, context, name)
        case physical.Tally():
            return Tally(
                node.account,
                node.keep,
                node.schema,
                shared=node.account in context.shared_accounts,
                repeats=node.repeats,
            )
        case physical.PartialAggregate():
            return PartialAggregate(node.aggregate, engine)
        case physical.WindowPartials():
            return WindowPartials(node, _windows(node.window))
        case physical.FinalAggregate():
            return _final(node, context, name)
        case physical.SessionRows():
            return SessionRows(node, engine, context.state(name))
        case physical.SortRuns():
            return Sort(node.sort, node.hidden, engine, context.state(name))
        case physical.MergeRuns():
            return MergeSort(node.sort, node.hidden, engine)
    raise AssertionError(f"no executor for {type(node).__name__}")


def _junction(node: joins.Union | joins.Join, context: Context, name: str) -> Executor:
    if isinstance(node, joins.Union):
        return Union(node)

    def state(port: int) -> StateTable:
        return context.state(f"{name}.{_SIDES[port]}")

    if isinstance(node, joins.TemporalJoin):
        return TemporalJoin(node, context.engine, state)
    if isinstance(node, joins.LookupJoin):
        return LookupJoin(node, context.engine, state)
    join = WindowJoin if node.at_one_time else IntervalJoin
    return join(node, context.engine, state)


def _over(node: physical.OverRows | MatchRecognize, context: Context, name: str) -> Executor:
    """What looks at rows in their order."""

    if isinstance(node, MatchRecognize):
        return MatchRows(node, context.engine, _tables(context, name))
    if node.over.by_partition:
        return OverPartitions(node, context.engine, context.state(name))
    return OverRows(node, context.engine, _tables(context, name))


def _tables(context: Context, name: str) -> Callable[[str], StateTable]:
    """The state tables of an operator that has several, by what it calls them."""
    return lambda table: context.state(f"{name}.{table}")


def _final(node: physical.FinalAggregate, context: Context, name: str) -> Executor:
    """The second phase of an aggregation."""
    if isinstance(node, physical.EarlyAggregate):
        tables = _tables(context, name)
        return EarlyAggregate(node.aggregate, node.derived, context.engine, tables)
    updates = isinstance(node, physical.UpdatingAggregate)
    final = UpdatingAggregate if updates else FinalAggregate
    return final(node.aggregate, node.derived, context.engine, context.state(name))


def _windows(node: windows.Window) -> WindowExecutor:
    match node:
        case windows.Tumble():
            return Tumble(node)
        case windows.Hop():
            return Hop(node)
        case windows.Cumulate():
            return Cumulate(node)
    raise AssertionError(f"no executor for {type(node).__name__}")


def build_recent(node: RecentRowsNode, context: Context, split: str) -> RecentRows:
    """The executor of one split; its state table is shared by the splits of the actor."""
    return RecentRows(node, split, context.engine, context.state(node.id))


def build_filter(
    node: nodes.WatermarkFilter, context: Context, table: str, split: str, keep_record: bool
) -> WatermarkFilter:
    """The watermark filter of one split; its state table is shared by the splits of the actor.

    ``keep_record``: another filter stands above it, which may refuse what this one accepts.
    """
    state = context.state(node.id)
    return WatermarkFilter(node, table, split, context.engine, state, keep_record=keep_record)
