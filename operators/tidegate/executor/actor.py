"""An actor: one instance of a fragment at work, for one epoch or many.

Two levels of pipelines stand in it. What the plan says must run per split (scans, watermark
filters, all below them) runs once for each split that the actor has; the splits' streams are then
merged (S3), and the rest of the fragment runs on the merged stream. A fragment behind an exchange
merges its upstream actors instead, or, behind an exchange by split, both.

An actor is pure: it is pushed messages and gives `Emission`s. Spark and the simulator carry them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tidegate.engine.engine import Engine
from tidegate.executor.build import Context, build
from tidegate.executor.exchange.dispatch import Dispatch
from tidegate.executor.exchange.merge import Merge
from tidegate.executor.filter import refused_by
from tidegate.executor.pipeline import Pipeline
from tidegate.executor.split_level import SplitLevel
from tidegate.executor.split_rows import SplitRows
from tidegate.executor.tally import Branch, TallyExecutor, filtered_by_split, used_by_split
from tidegate.phases import PHASES
from tidegate.plan.derivation import watermark_columns
from tidegate.plan.fragments import Fragment
from tidegate.plan.nodes import Filter
from tidegate.plan.physical import Input, Tally
from tidegate.ports import SourceChunk
from tidegate.state import StateTable
from tidegate.types import (
    Barrier,
    Chunk,
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
        self._context = Context(engine, state, _named_accounts(fragment), checks)
        self._local = fragment.split_local
        self._time_us = 0
        self._splits: dict[str, SplitLevel] = {}
        self._merges = {
            at: Merge(
                watermark_columns(fragment.nodes[at]),
                None if at in self._local else state(fragment.names[at]),
            )
            for at in _boundaries(fragment)
        }
        context = replace(self._context, of_splits=bool(self._local))
        self._pipeline = Pipeline(
            {
                at: build(node, context, fragment.names[at])
                for at, node in enumerate(fragment.nodes)
                if at not in self._local and not isinstance(node, Input)
            },
            fragment.below,
            [output.at for output in fragment.outputs],
        )
        self._dispatches = [
            None if x is None else Dispatch(x.keys, vnodes, engine, x.distribution, instance)
            for x in (output.exchange for output in fragment.outputs)
        ]
        self._upstreams = Merge((), None)
        """Aligns the barriers of the actors before a split level."""

    # Source side

    def open_splits(self, splits: Sequence[str], time_us: int) -> None:
        """Begins an epoch of a split level: its splits and its recorded time."""
        self._time_us = time_us
        for split in splits:
            if split not in self._splits:
                self._splits[split] = SplitLevel(
                    self.fragment, self._local, list(self._merges), split, self._context
                )
            self._splits[split].begin_epoch(time_us)
        for node, merge in self._merges.items():
            if node in self._local:
                merge.open(list(self._splits) or [NO_SPLIT])

    def take_over(self, split: str, floors: dict[str, int]) -> None:
        """The split's filters start from merged watermarks that went on without it (S6)."""
        self._splits[split].take_over(floors)

    def on_source(self, split: str, chunk: SourceChunk) -> Iterator[Emission]:
        """Rows that the reader decoded."""
        for node, message in self._splits[split].on_source(chunk):
            yield from self._after_split(split, node, message)

    def close_splits(self, statuses: dict[str, Status], barrier: Barrier) -> Iterator[Emission]:
        """The end of an epoch of a split level: every split says its status, then the barrier.

        ``statuses`` has `NO_SPLIT` alone where the actor has no split.
        """
        if NO_SPLIT in statuses:
            status = statuses[NO_SPLIT]
            for node, merge in self._merges.items():
                for column in merge.merged:
                    yield from self._after_split(NO_SPLIT, node, Watermark(column, None, status))
            for node in self._merges:
                yield from self._after_split(NO_SPLIT, node, barrier)
            return
        for split, status in statuses.items():
            self._splits[split].status = status
            told = SplitStatus(status, split)
            yield from self.announce(told)
            for message in (told, barrier):
                for node, result in self._splits[split].push(message):
                    yield from self._after_split(split, node, result)

    def announce(self, status: SplitStatus) -> Iterator[Emission]:
        """Tells the actors behind an exchange by split what is known of a split.

        Each split is announced when its epoch ends; one that takes over watermarks, before.
        """
        for index, dispatch in enumerate(self._dispatches):
            if dispatch is not None:
                for vnode, routed in dispatch.route(status):
                    yield Emission(index, vnode, routed)

    def _after_split(self, split: str, node: int, message: Message) -> Iterator[Emission]:
        if isinstance(message, Rejected):
            yield Emission(None, None, message)
            return
        for merged in self._merges[node].process(split, message):
            yield from self._run(node, merged)

    # Behind an exchange

    def open_upstreams(self, port: int, upstreams: Sequence[str]) -> None:
        """The actors that send on ``port`` in this epoch."""
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
        if node in self._local:
            yield from self._on_split_message(node, upstream, message)
            return
        for merged in self._merges[node].process(upstream, message):
            yield from self._run(node, merged)

    def _on_split_message(self, node: int, upstream: str, message: Message) -> Iterator[Emission]:
        """Behind an exchange by split: the messages say which split they are of."""
        match message:
            case Chunk(split=str(split)):
                self._open_split(split)
                for reached, result in self._splits[split].pipeline.push_behind(node, message):
                    # Another sender may yet announce a split that this one's watermark must wait
                    # for. At the barrier all splits are known, and all say theirs again.
                    if not isinstance(result, Watermark):
                        yield from self._after_split(split, reached, result)
            case SplitStatus(status, split, floors):
                self._open_split(split)
                self._splits[split].status = status
                self._splits[split].take_over(dict(floors))
            case Barrier():
                for aligned in self._upstreams.process(upstream, message):
                    assert isinstance(aligned, Barrier)
                    ended = {name: level.status for name, level in self._splits.items()}
                    yield from self.close_splits(ended or {NO_SPLIT: Status.IDLE}, aligned)

    def _open_split(self, split: str) -> None:
        if split not in self._splits:
            self.open_splits([split], self._time_us)

    def _input(self, port: int) -> int:
        for at, node in enumerate(self.fragment.nodes):
            if isinstance(node, Input) and node.port == port:
                return at
        raise AssertionError(f"fragment {self.fragment.id} has no port {port}")

    # The merged level

    def _run(self, node: int, message: Message) -> Iterator[Emission]:
        for reached, result in self._pipeline.push_behind(node, message):
            if isinstance(result, Rejected):
                yield Emission(None, None, result)
                continue
            for index, output in enumerate(self.fragment.outputs):
                if output.at != reached:
                    continue
                dispatch = self._dispatches[index]
                if dispatch is None:
                    yield Emission(index, None, result)
                else:
                    for vnode, routed in PHASES.timed("dispatch", dispatch.route(result)):
                        yield Emission(index, vnode, routed)

    def merged_watermarks(self) -> dict[str, int | None]:
        """The merged watermark of each column (of all merges; the last input's wins a name)."""
        return {c: v for merge in self._merges.values() for c, v in merge.merged.items()}

    def reports(self) -> list[SplitReport]:
        """What each split did since the last call, by account (S7). Call behind the barrier."""
        branches: dict[str, list[Branch]] = {}
        for at, executor in self._pipeline.executors.items():
            inner = getattr(executor, "inner", executor)
            if isinstance(inner, TallyExecutor):
                branches.setdefault(inner.account, []).append(Branch(inner, self._refused(at)))
        used = {a: used_by_split([each.tally for each in found]) for a, found in branches.items()}
        filtered = {account: filtered_by_split(found) for account, found in branches.items()}

        def of(split: str, rows: dict[str, dict[str, int]]) -> dict[str, int]:
            return {account: counted.get(split, 0) for account, counted in rows.items()}

        own = [
            report
            for level in self._splits.values()
            for report in level.reports(of(level.split, used), of(level.split, filtered))
        ]
        return own + [more for each in self._pipeline.executors.values() for more in each.reports()]

    def _refused(self, tally: int) -> list[SplitRows]:
        """What the filters below a tally have refused."""
        merged = self._pipeline.executors
        found = [
            [refused_by(merged.get(at)), *(level.refused(at) for level in self._splits.values())]
            for at in chain(self.fragment, tally)
        ]
        return [rows for each in found for rows in each if rows is not None]


def _boundaries(fragment: Fragment) -> list[int]:
    """Where streams are merged: the topmost per-split nodes, and inputs that are not per split."""
    local = fragment.split_local
    ends = {output.at for output in fragment.outputs}
    for at, below in enumerate(fragment.below):
        if at not in local:
            ends.update(below)
    leaves = {at for at, node in enumerate(fragment.nodes) if isinstance(node, Input)} - local
    return sorted((ends & local) | leaves)


def _named_accounts(fragment: Fragment) -> frozenset[str]:
    """Those with several branches; and those of which a row may be refused in part, since filters
    stand above windows that repeat rows."""
    tallies = {at: node for at, node in enumerate(fragment.nodes) if isinstance(node, Tally)}
    accounts = [node.account for node in tallies.values()]
    parted = {node.account for at, node in tallies.items() if _refuses_in_part(fragment, at)}
    return frozenset(a for a in accounts if accounts.count(a) > 1 or a in parted)


def _refuses_in_part(fragment: Fragment, tally: int) -> bool:
    has_filter = False
    for node in (fragment.nodes[at] for at in chain(fragment, tally)):
        has_filter = has_filter or isinstance(node, Filter)
        if has_filter and node.repeats:
            return True
    return False


def chain(fragment: Fragment, top: int) -> Iterator[int]:
    """The nodes from ``top`` down, each the only input of the one before."""
    yield top
    while len(fragment.below[top]) == 1:
        (top,) = fragment.below[top]
        yield top
