"""Wiring: from plan nodes to executors, one branch an operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.engine.engine import Engine
from tidegate.executor.aggregation.early_aggregate import EarlyAggregateExecutor
from tidegate.executor.aggregation.final_aggregate import FinalAggregateExecutor
from tidegate.executor.aggregation.partial_aggregate import PartialAggregateExecutor
from tidegate.executor.aggregation.updating_aggregate import UpdatingAggregateExecutor
from tidegate.executor.aggregation.window_partials import WindowPartialsExecutor
from tidegate.executor.base import Executor
from tidegate.executor.changes.aggregate_block import AggregateBlock
from tidegate.executor.changes.as_changes import AsChangesExecutor
from tidegate.executor.changes.block import Block
from tidegate.executor.changes.delete_old_keys import DeleteOldKeysExecutor
from tidegate.executor.changes.fold_changes import FoldChangesExecutor
from tidegate.executor.changes.join_block import JoinBlock
from tidegate.executor.changes.over_block import OverBlock
from tidegate.executor.changes.recompute import RecomputeExecutor
from tidegate.executor.changes.settle import SettleExecutor
from tidegate.executor.changes.table_block import TableBlock
from tidegate.executor.changes.temporal_filter import TemporalFilterExecutor
from tidegate.executor.changes.versions import VersionsExecutor
from tidegate.executor.checked import Checked
from tidegate.executor.filter import FilterExecutor
from tidegate.executor.joins.interval_join import IntervalJoinExecutor
from tidegate.executor.joins.lookup_join import LookupJoinExecutor
from tidegate.executor.joins.now_join import NowJoinExecutor
from tidegate.executor.joins.regular_join import RegularJoinExecutor
from tidegate.executor.joins.temporal_join import TemporalJoinExecutor
from tidegate.executor.joins.window_join import WindowJoinExecutor
from tidegate.executor.over.over_partitions import OverPartitionsExecutor
from tidegate.executor.over.over_rows import OverRowsExecutor
from tidegate.executor.patterns.match_rows import MatchRowsExecutor
from tidegate.executor.project import ProjectExecutor
from tidegate.executor.sorting.merge_sort import MergeSortExecutor
from tidegate.executor.sorting.sort import SortExecutor
from tidegate.executor.tally import TallyExecutor
from tidegate.executor.union import UnionExecutor
from tidegate.executor.windows.cumulate import CumulateExecutor
from tidegate.executor.windows.fixed_windows import WindowExecutor
from tidegate.executor.windows.hop import HopExecutor
from tidegate.executor.windows.session_rows import SessionRowsExecutor
from tidegate.executor.windows.tumble import TumbleExecutor
from tidegate.plan import joins, nodes, physical, windows
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.match import MatchRecognize
from tidegate.plan.normalize import Normalize
from tidegate.plan.over import ChangingOver
from tidegate.plan.settle import Settle
from tidegate.plan.temporal_filter import TemporalFilter
from tidegate.plan.versions import Versions
from tidegate.state import StateTable


@dataclass(frozen=True, slots=True)
class Context:
    """What an actor gives its executors: the engine, and a state table by name.

    The rows of ``named_accounts`` are told apart by their offsets (S7, `tally`)."""

    engine: Engine
    state: Callable[[str], StateTable]
    named_accounts: frozenset[str]
    checks: bool = False
    of_splits: bool = False  # they stand behind a merge of splits


def build(node: nodes.Node, context: Context, name: str) -> Executor:
    """The executor of a node; ``name`` is unique in the fragment and names its state."""
    executor = _build(node, context, name)
    return Checked(executor, of_splits=context.of_splits) if context.checks else executor


def _build(  # noqa: PLR0912  # one branch an operator
    node: nodes.Node, context: Context, name: str
) -> Executor:
    engine = context.engine

    def state(table: str = "") -> StateTable:
        """What it keeps, or, of an operator that has several, the ``table`` of that name."""
        return context.state(f"{name}.{table}" if table else name)

    def side(port: int) -> StateTable:
        return state(("left", "right")[port])

    def numbered(port: int) -> StateTable:
        return state(str(port))

    match node:
        case nodes.Project():
            return ProjectExecutor(node, engine)
        case nodes.Filter():
            return FilterExecutor(node, engine, named=bool(context.named_accounts))
        case windows.Window():
            return _windows(node)
        case joins.Union():
            return UnionExecutor(node)
        case joins.Join() | physical.RegularJoin():
            return _join(node, engine, side)
        case Versions():
            return VersionsExecutor(node)
        case MatchRecognize():
            return MatchRowsExecutor(node, engine, state)
        case physical.FoldChanges():
            return FoldChangesExecutor(node, engine)
        case physical.AsChanges():
            return AsChangesExecutor(node)
        case physical.DeleteOldKeys():
            return DeleteOldKeysExecutor(node)
        case TemporalFilter():
            return TemporalFilterExecutor(node, engine, state)
        case Settle():
            return SettleExecutor(node, engine, state())
        case physical.Recompute():
            return RecomputeExecutor(node, _block(node.of, engine), engine, numbered)
        case physical.OverRows() if node.over.by_partition:
            return OverPartitionsExecutor(node, engine, state())
        case physical.OverRows():
            return OverRowsExecutor(node, engine, state)
        case physical.Tally():
            return TallyExecutor(node, shared=node.account in context.named_accounts)
        case physical.PartialAggregate():
            return PartialAggregateExecutor(node.aggregate, engine)
        case physical.WindowPartials():
            return WindowPartialsExecutor(node, _windows(node.window))
        case physical.EarlyAggregate():
            return EarlyAggregateExecutor(node, engine, state)
        case physical.UpdatingAggregate():
            return UpdatingAggregateExecutor(node, engine, state())
        case physical.FinalAggregate():
            return FinalAggregateExecutor(node, engine, state())
        case physical.SessionRows():
            return SessionRowsExecutor(node, engine, state())
        case physical.SortRuns():
            return SortExecutor(node, engine, state())
        case physical.MergeRuns():
            return MergeSortExecutor(node.sort, node.hidden, engine)
    raise AssertionError(f"no executor for {type(node).__name__}")


def _join(
    node: joins.Join | physical.RegularJoin, engine: Engine, side: Callable[[int], StateTable]
) -> Executor:
    match node:
        case physical.RegularJoin():
            return RegularJoinExecutor(node.join, engine, side)
        case joins.TemporalJoin():
            return TemporalJoinExecutor(node, engine, side)
        case joins.NowJoin():
            return NowJoinExecutor(node, engine, side)
        case joins.LookupJoin():
            return LookupJoinExecutor(node, engine, side)
    join = WindowJoinExecutor if node.at_one_time else IntervalJoinExecutor
    return join(node, engine, side)


def _block(node: nodes.Node, engine: Engine) -> Block:
    """What is computed anew, one branch a kind of node."""
    match node:
        case Normalize():
            return TableBlock(node, engine)
        case ChangingOver():
            return OverBlock(node, engine)
        case Aggregate():
            return AggregateBlock(node, engine)
        case joins.ChangingJoin():
            return JoinBlock(node, engine)
    raise AssertionError(f"no block for {type(node).__name__}")


def _windows(node: windows.Window) -> WindowExecutor:
    match node:
        case windows.Tumble():
            return TumbleExecutor(node)
        case windows.Hop():
            return HopExecutor(node)
        case windows.Cumulate():
            return CumulateExecutor(node)
    raise AssertionError(f"no executor for {type(node).__name__}")
