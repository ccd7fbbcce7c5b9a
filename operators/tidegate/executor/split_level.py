"""The per-split part of an actor: scans, watermark filters, and what lies below these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidegate.executor.base import Executor
from tidegate.executor.build import Context, build
from tidegate.executor.filter import refused_by
from tidegate.executor.over.recent_rows import RecentRowsExecutor
from tidegate.executor.pipeline import Pipeline
from tidegate.executor.scan import SplitScan
from tidegate.executor.split_rows import SplitRows
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
        table, engine = fragment.table, context.engine
        self.split = split
        self.status = Status.ACTIVE
        self._scans: dict[int, SplitScan] = {}
        self._filters: list[WatermarkFilterExecutor] = []
        self._recent: list[RecentRowsExecutor] = []
        executors: dict[int, Executor] = {}
        self._entries: list[int] = []
        stacked = fragment.below_filters
        for at in sorted(local):
            match node := fragment.nodes[at]:
                case Input():
                    self._entries.append(at)
                case nodes.Scan():
                    self._entries.append(at)
                    self._scans[at] = SplitScan(node, split, engine)
                case nodes.WatermarkFilter():
                    name = table.name if table else node.account.split("#")[0]
                    # Its state table is shared by the splits; a filter above it wants its records.
                    judging = WatermarkFilterExecutor(
                        node, name, split, engine, context.state(node.id), keep_record=at in stacked
                    )
                    executors[at] = judging
                    self._filters.append(judging)
                case RecentRows():
                    recent = RecentRowsExecutor(node, split, engine, context.state(node.id))
                    executors[at] = recent
                    self._recent.append(recent)
                case _:
                    executors[at] = build(node, context, f"split.{at}.{split}")
        self.pipeline = Pipeline(executors, fragment.below, exits)

    def begin_epoch(self, time_us: int) -> None:
        for executor in self._filters:
            executor.begin_epoch(time_us)

    def take_over(self, floors: dict[str, int]) -> None:
        """The filters start from merged watermarks that went on without the split (S6)."""
        for executor in self._filters:
            executor.take_over(floors.get(executor.node.id))

    def on_source(self, chunk: SourceChunk) -> Iterator[tuple[int, Message]]:
        for node, scan in self._scans.items():
            for message in PHASES.timed("Scan", scan.on_source(chunk)):
                yield from self.pipeline.push_behind(node, message)

    def push(self, message: Message) -> Iterator[tuple[int, Message]]:
        """A status or a barrier, to every entry."""
        for node in self._entries:
            yield from self.pipeline.push_behind(node, message)

    def refused(self, at: int) -> SplitRows | None:
        """What node ``at`` has refused, if it is a filter of this level."""
        return refused_by(self.pipeline.executors.get(at))

    def reports(self, used: dict[str, int], filtered: dict[str, int]) -> list[SplitReport]:
        """One report per account; ``used`` and ``filtered`` are its rows by account."""
        by_account: dict[str, SplitReport] = {}

        def report(account: str) -> SplitReport:
            return by_account.setdefault(account, SplitReport(account, self.split, Counts()))

        for scan in self._scans.values():
            report(scan.node.account).counts += scan.counts
            scan.counts = Counts()
        for judging in self._filters:
            entry = report(judging.node.account)
            entry.counts += judging.counts
            judging.counts = Counts()
            entry.filters[judging.node.id] = judging.snapshot()
        for recent in self._recent:
            report(recent.node.account).filters[recent.node.id] = recent.snapshot()
        for entry in by_account.values():
            entry.status = self.status
            entry.counts.used = used.get(entry.account, 0)
            entry.counts.filtered = filtered.get(entry.account, 0)
        return list(by_account.values())
