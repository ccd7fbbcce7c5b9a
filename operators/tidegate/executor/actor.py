"""An actor: one instance of a fragment at work, for one epoch or many.

Two levels of pipelines stand in it. What the plan says must run per split (scans, watermark
filters, all below them) runs once for each split that the actor has; the splits' streams are then
merged (S3), and the rest of the fragment runs on the merged stream. A fragment behind an exchange
merges its upstream actors instead, or, behind an exchange by split, both.

An actor is pure: it is pushed messages and gives `Emission`s. Spark and the simulator carry them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tidegate.connectors.base import SourceChunk
from tidegate.executor.base import Executor
from tidegate.executor.build import Context, build, build_filter
from tidegate.executor.dispatch import Dispatch, Mode
from tidegate.executor.engine import Engine
from tidegate.executor.merge import Merge
from tidegate.executor.pipeline import Pipeline
from tidegate.executor.scan import Scan
from tidegate.executor.tally import Tally, used_by_split
from tidegate.executor.watermark_filter import WatermarkFilter
from tidegate.plan import nodes
from tidegate.plan.fragments import Fragment, is_split_local
from tidegate.plan.physical import Distribution, Exchange, Input, watermark_columns
from tidegate.plan.physical import Tally as TallyNode
from tidegate.state import StateTable
from tidegate.types import (
    Barrier,
    Chunk,
    Counts,
    Message,
    Rejected,
    SplitReport,
    SplitStatus,
    Status,
    Watermark,
)

NO_SPLIT = ""
"""The stand-in input of a source actor that has no split of its table."""


@dataclass(frozen=True, slots=True)
class Emission:
    """What leaves an actor: ``message`` by the fragment's ``output`` (None: to the ledger).

    ``vnode`` is the receiver's; None is a broadcast, or does not matter (ledger, sinks).
    """

    output: int | None
    vnode: int | None
    message: Message


class Actor:
    """One instance of ``fragment``. ``state(name)`` gives the state table of an operator."""

    def __init__(
        self,
        fragment: Fragment,
        vnodes: int,
        engine: Engine,
        state: Callable[[str], StateTable],
        instance: int = 0,
        checks: bool = False,
    ) -> None:
        self.fragment = fragment
        self._engine = engine
        self._context = Context(engine, state, _shared_accounts(fragment), checks)
        self._local = is_split_local(fragment)
        self._time_us = 0
        self._splits: dict[str, _SplitLevel] = {}
        self._boundaries = _boundaries(fragment, self._local)
        self._merges = {
            node: Merge(watermark_columns(node), state(f"merge.{index}"))
            for index, node in enumerate(self._boundaries)
        }
        self._pipeline = Pipeline(
            {
                node: build(node, self._context, f"op.{index}")
                for index, node in enumerate(fragment.nodes)
                if node not in self._local and not isinstance(node, Input)
            },
            [output.node for output in fragment.outputs],
        )
        self._dispatches: list[Dispatch | None] = [
            _dispatch(output.exchange, vnodes, engine, instance) if output.exchange else None
            for output in fragment.outputs
        ]
        self._upstreams = Merge((), None)  # aligns the barriers of the actors before a split level

    # Source side

    def open_splits(self, splits: Sequence[str], time_us: int) -> None:
        """Begins an epoch of a split level: its splits and its recorded time."""
        self._time_us = time_us
        for split in splits:
            if split not in self._splits:
                self._splits[split] = _SplitLevel(self, split)
            self._splits[split].begin_epoch(time_us)
        for node, merge in self._merges.items():
            if node in self._local:
                merge.open(list(self._splits) or [NO_SPLIT])

    def on_source(self, split: str, chunk: SourceChunk) -> Iterator[Emission]:
        """Rows that the reader decoded."""
        for node, message in self._splits[split].on_source(chunk):
            yield from self._after_split(split, node, message)

    def close_splits(self, statuses: dict[str, Status], barrier: Barrier) -> Iterator[Emission]:
        """The end of an epoch of a split level: every split says its status, then the barrier.

        ``statuses`` has `NO_SPLIT` alone where the actor has no split.
        """
        for split, status in statuses.items():
            if split != NO_SPLIT:
                yield from self._announce(SplitStatus(status, split))
            for message in (SplitStatus(status, split), barrier):
                if split == NO_SPLIT:
                    for node in self._boundaries:
                        yield from self._without_split(node, status, message)
                else:
                    for node, result in self._splits[split].push(message):
                        yield from self._after_split(split, node, result)

    def _announce(self, status: SplitStatus) -> Iterator[Emission]:
        """Tells the actors behind an exchange by split which splits there are."""
        for index, dispatch in enumerate(self._dispatches):
            exchange = self.fragment.outputs[index].exchange
            if dispatch and exchange and exchange.distribution is Distribution.BY_SPLIT:
                for vnode, routed in dispatch.route(status):
                    yield Emission(index, vnode, routed)

    def _without_split(
        self, node: nodes.Node, status: Status, message: Message
    ) -> Iterator[Emission]:
        if isinstance(message, SplitStatus):
            for column in watermark_columns(node):
                speech = Watermark(column, None, status)
                yield from self._after_split(NO_SPLIT, node, speech)
        else:
            yield from self._after_split(NO_SPLIT, node, message)

    def _after_split(self, split: str, node: nodes.Node, message: Message) -> Iterator[Emission]:
        if isinstance(message, Rejected):
            yield Emission(None, None, message)
            return
        for merged in self._merges[node].process(split, message):
            yield from self._run(node, merged)

    # Behind an exchange

    def open_upstreams(self, port: int, upstreams: Sequence[str]) -> None:
        """Says which actors speak on ``port`` in this epoch."""
        node = self._input(port)
        if node in self._local:
            self._upstreams.open(upstreams)
        else:
            self._merges[node].open(upstreams)

    def begin_epoch(self, time_us: int) -> None:
        """Begins an epoch behind an exchange, at its recorded time."""
        self.open_splits(list(self._splits), time_us)

    def on_message(self, port: int, upstream: str, message: Message) -> Iterator[Emission]:
        """A message of an upstream actor."""
        node = self._input(port)
        if node not in self._local:
            for merged in self._merges[node].process(upstream, message):
                yield from self._run(node, merged)
            return
        yield from self._on_split_message(node, upstream, message)

    def _on_split_message(
        self, node: nodes.Node, upstream: str, message: Message
    ) -> Iterator[Emission]:
        """Behind an exchange by split: the messages say which split they are of."""
        match message:
            case Chunk(split=str(split)):
                self._open_split(split)
                for reached, result in self._splits[split].push_behind(node, message):
                    yield from self._after_split(split, reached, result)
            case SplitStatus(status, split):
                self._open_split(split)
                self._splits[split].status = status
            case Barrier():
                for aligned in self._upstreams.process(upstream, message):
                    assert isinstance(aligned, Barrier)
                    ended = {name: level.status for name, level in self._splits.items()}
                    yield from self.close_splits(ended or {NO_SPLIT: Status.IDLE}, aligned)

    def _open_split(self, split: str) -> None:
        if split not in self._splits:
            self.open_splits([split], self._time_us)

    def _input(self, port: int) -> nodes.Node:
        for node in self.fragment.nodes:
            if isinstance(node, Input) and node.port == port:
                return node
        raise AssertionError(f"fragment {self.fragment.id} has no port {port}")

    # The merged level

    def _run(self, node: nodes.Node, message: Message) -> Iterator[Emission]:
        for reached, result in self._pipeline.push_behind(node, message):
            if isinstance(result, Rejected):
                yield Emission(None, None, result)
                continue
            for index, output in enumerate(self.fragment.outputs):
                if output.node is not reached and output.node != reached:
                    continue
                dispatch = self._dispatches[index]
                if dispatch is None:
                    yield Emission(index, None, result)
                else:
                    for vnode, routed in dispatch.route(result):
                        yield Emission(index, vnode, routed)

    def merged_watermarks(self) -> dict[str, int | None]:
        """The merged watermark of each column (of all merges; the last input's wins a name)."""
        return {c: v for merge in self._merges.values() for c, v in merge.merged.items()}

    def reports(self) -> list[SplitReport]:
        """What each split did since the last call, by account (S7). Call behind the barrier."""
        tallies: dict[str, list[Tally]] = {}
        for executor in self._pipeline.executors.values():
            inner = getattr(executor, "inner", executor)
            if isinstance(inner, Tally):
                tallies.setdefault(inner.account, []).append(inner)
        used = {account: used_by_split(parts) for account, parts in tallies.items()}
        return [
            report
            for level in self._splits.values()
            for report in level.reports({a: u.get(level.split, 0) for a, u in used.items()})
        ]


class _SplitLevel:
    """The executors of one split."""

    def __init__(self, actor: Actor, split: str) -> None:
        context = actor._context
        table = actor.fragment.table
        self.split = split
        self.status = Status.ACTIVE
        self.scans: dict[nodes.Node, Scan] = {}
        self.filters: dict[nodes.Node, WatermarkFilter] = {}
        executors: dict[nodes.Node, Executor] = {}
        for index, node in enumerate(actor.fragment.nodes):
            if node not in actor._local or isinstance(node, Input):
                continue
            if isinstance(node, nodes.Scan):
                self.scans[node] = Scan(
                    node.table, node.computed, node.account, split, context.engine
                )
            elif isinstance(node, nodes.WatermarkFilter):
                name = table.name if table else node.account.split("#")[0]
                self.filters[node] = executors[node] = build_filter(node, context, name, split)
            else:
                executors[node] = build(node, context, f"split.{index}.{split}")
        self.pipeline = Pipeline(executors, actor._boundaries)

    def begin_epoch(self, time_us: int) -> None:
        for executor in self.filters.values():
            executor.begin_epoch(time_us)

    def on_source(self, chunk: SourceChunk) -> Iterator[tuple[nodes.Node, Message]]:
        for node, scan in self.scans.items():
            for message in scan.on_source(chunk):
                yield from self.pipeline.push_behind(node, message)

    def push(self, message: Message) -> Iterator[tuple[nodes.Node, Message]]:
        """A status or a barrier, to every entry."""
        for node in self.scans or self._entries():
            yield from self.pipeline.push_behind(node, message)

    def push_behind(
        self, node: nodes.Node, message: Message
    ) -> Iterator[tuple[nodes.Node, Message]]:
        return self.pipeline.push_behind(node, message)

    def _entries(self) -> list[nodes.Node]:
        below = {node.inputs[0] for node in self.pipeline.executors}
        return [node for node in below if isinstance(node, Input)]

    def reports(self, used: dict[str, int]) -> list[SplitReport]:
        """One report per account."""
        by_account: dict[str, SplitReport] = {}

        def report(account: str) -> SplitReport:
            return by_account.setdefault(account, SplitReport(account, self.split, Counts()))

        for node, scan in self.scans.items():
            assert isinstance(node, nodes.Scan)
            report(node.account).counts.add(scan.take_counts())
        for node, executor in self.filters.items():
            assert isinstance(node, nodes.WatermarkFilter)
            entry = report(node.account)
            entry.counts.add(executor.take_counts())
            entry.filters[node.id] = executor.snapshot()
        for entry in by_account.values():
            entry.status = self.status
            entry.counts.used = used.get(entry.account, 0)
        return list(by_account.values())


def _boundaries(fragment: Fragment, local: frozenset[nodes.Node]) -> list[nodes.Node]:
    """Where streams are merged: the topmost per-split nodes, and inputs that are not per split."""
    outputs = [output.node for output in fragment.outputs]
    result: list[nodes.Node] = []
    for node in fragment.nodes:
        if node not in local:
            if isinstance(node, Input):
                result.append(node)
            continue
        consumed = any(node in other.inputs for other in fragment.nodes if other not in local)
        if consumed or node in outputs:
            result.append(node)
    return result


def _shared_accounts(fragment: Fragment) -> frozenset[str]:
    accounts = [node.account for node in fragment.nodes if isinstance(node, TallyNode)]
    return frozenset(a for a in accounts if accounts.count(a) > 1)


def _dispatch(exchange: Exchange, vnodes: int, engine: Engine, instance: int) -> Dispatch:
    mode = Mode(exchange.distribution.value)
    return Dispatch(exchange.keys, vnodes, engine, mode=mode, first=instance)
