"""The per-split part of an actor: scans, watermark filters, and what lies below these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidegate.executor.base import Executor
from tidegate.executor.build import Context, build, build_filter, build_recent
from tidegate.executor.over.recent_rows import RecentRowsExecutor
from tidegate.executor.pipeline import Pipeline
from tidegate.executor.scan import SplitScan
from tidegate.executor.watermarks.watermark_filter import WatermarkFilterExecutor
from tidegate.phases import PHASES
from tidegate.plan import nodes
from tidegate.plan.fragments import Fragment
from tidegate.plan.over import RecentRows
from tidegate.plan.physical import Input
from tidegate.ports import SourceChunk
from tidegate.types import Counts, Message, SplitReport, Status


class SplitLevel:
    """The executors of one split."""

    def __init__(
        self,
        fragment: Fragment,
        local: frozenset[int],
        exits: Sequence[int],
        split: str,
        context: Context,
    ) -> None:
        table = fragment.table
        self._nodes = fragment.nodes
        self.split = split
        self.status = Status.ACTIVE
        self.scans: dict[int, SplitScan] = {}
        self.filters: dict[int, WatermarkFilterExecutor] = {}
        self.recent: dict[int, RecentRowsExecutor] = {}
        executors: dict[int, Executor] = {}
        self._entries: list[int] = []
        stacked = fragment.below_filters
        for at in sorted(local):
            node = fragment.nodes[at]
            if isinstance(node, Input):
                self._entries.append(at)
            elif isinstance(node, nodes.Scan):
                self._entries.append(at)
                self.scans[at] = SplitScan(
                    node.table, node.computed, node.account, split, context.engine
                )
            elif isinstance(node, nodes.WatermarkFilter):
                name = table.name if table else node.account.split("#")[0]
                self.filters[at] = executors[at] = build_filter(
                    node, context, name, split, keep_record=at in stacked
                )
            elif isinstance(node, RecentRows):
                self.recent[at] = executors[at] = build_recent(node, context, split)
            else:
                executors[at] = build(node, context, f"split.{at}.{split}")
        self.pipeline = Pipeline(executors, fragment.below, exits)

    def begin_epoch(self, time_us: int) -> None:
        for executor in self.filters.values():
            executor.begin_epoch(time_us)

    def take_over(self, floors: dict[str, int]) -> None:
        """The filters start from merged watermarks that went on without the split (S6)."""
        for at, executor in self.filters.items():
            node = self._nodes[at]
            assert isinstance(node, nodes.WatermarkFilter)
            if node.id in floors:
                executor.take_over(floors[node.id])

    def on_source(self, chunk: SourceChunk) -> Iterator[tuple[int, Message]]:
        for node, scan in self.scans.items():
            for message in PHASES.timed("Scan", scan.on_source(chunk)):
                yield from self.pipeline.push_behind(node, message)

    def push(self, message: Message) -> Iterator[tuple[int, Message]]:
        """A status or a barrier, to every entry."""
        for node in self._entries:
            yield from self.pipeline.push_behind(node, message)

    def push_behind(self, node: int, message: Message) -> Iterator[tuple[int, Message]]:
        return self.pipeline.push_behind(node, message)

    def reports(self, used: dict[str, int]) -> list[SplitReport]:
        """One report per account."""
        by_account: dict[str, SplitReport] = {}

        def report(account: str) -> SplitReport:
            return by_account.setdefault(account, SplitReport(account, self.split, Counts()))

        for at, scan in self.scans.items():
            node = self._nodes[at]
            assert isinstance(node, nodes.Scan)
            report(node.account).counts.add(scan.take_counts())
        for at, executor in self.filters.items():
            node = self._nodes[at]
            assert isinstance(node, nodes.WatermarkFilter)
            entry = report(node.account)
            entry.counts.add(executor.take_counts())
            entry.filters[node.id] = executor.snapshot()
        for at, recent in self.recent.items():
            node = self._nodes[at]
            assert isinstance(node, RecentRows)
            report(node.account).filters[node.id] = recent.snapshot()
        for entry in by_account.values():
            entry.status = self.status
            entry.counts.used = used.get(entry.account, 0)
        return list(by_account.values())
