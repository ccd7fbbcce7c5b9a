"""A deterministic world for a plan: the same actors as under Spark, and everything else by a seed.

The seed chooses how many reader tasks there are, how many rows an epoch and a chunk have, in which
order messages of different senders arrive, whether actors live on or are made anew in each epoch,
and when all of it crashes. What Spark guarantees holds here too and no more: messages of one sender
to one receiver keep their order; an epoch that failed is run again with the same offsets and the
same recorded time, from the state at its start; what it wrote before is gone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import pyarrow as pa

from tidegate.connectors.registry import connector_of
from tidegate.engine.engine import Engine
from tidegate.errors import InvariantError
from tidegate.executor.actor import NO_SPLIT, Actor, Emission
from tidegate.executor.watermarks.saved import save
from tidegate.plan.fragments import Fragment, Plan
from tidegate.ports import SourceChunk
from tidegate.simulator.splits import Split, cut, load
from tidegate.state import MemoryStateTable, StateTable
from tidegate.types import Barrier, Chunk, Counts, FilterState, Message, Rejected, Status

EPOCHS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Choices:
    """How a run goes; drawn from the seed by `draw`."""

    rows_max: int | None
    chunk_rows: int
    actors_live_on: bool
    crash_probability: float
    idle_probability: float = 0.0
    """Of a table with one split, in each epoch: with several, what is late depends on it (S6)."""
    time_step_us: int = 1_000_000

    @classmethod
    def draw(cls, rng: Random) -> Choices:
        return cls(
            rows_max=rng.choice([1, 2, 3, 7, 20, 100, None]),
            chunk_rows=rng.choice([1, 2, 5, 50, 1 << 30]),
            actors_live_on=rng.random() < 0.5,
            crash_probability=rng.choice([0.0, 0.1, 0.5]),
            idle_probability=rng.choice([0.0, 0.5]),
        )


@dataclass(slots=True)
class Committed:
    """What has been committed: all that outlives a crash."""

    epoch: int = 0
    positions: dict[str, dict[str, int]] = field(default_factory=dict)  # table, split
    filters: dict[str, dict[str, FilterState]] = field(default_factory=dict)  # filter id, split
    states: dict[tuple[int, int, str], MemoryStateTable] = field(default_factory=dict)
    outputs: list[list[pa.Table]] = field(default_factory=list)
    ledger: list[pa.Table] = field(default_factory=list)
    counts: dict[str, dict[str, Counts]] = field(default_factory=dict)
    crashes: int = 0


@dataclass(slots=True)
class _Epoch:
    """An epoch that runs: what it would commit."""

    barrier: Barrier
    ends: dict[str, dict[str, int]]
    outputs: list[list[pa.Table]]
    ledger: list[pa.Table] = field(default_factory=list)
    sources: list[tuple[str, Actor]] = field(default_factory=list)
    channels: dict[tuple[int, int, int, str], deque[Message]] = field(default_factory=dict)
    running: list[Iterator[list[Emission]]] = field(default_factory=list)
    origins: dict[int, tuple[Fragment, int]] = field(default_factory=dict)
    barriers: int = 0


class _CrashError(Exception):
    """The world went down in the middle of an epoch."""


class World:
    """Runs one plan under one seed."""

    def __init__(
        self, plan: Plan, rng: Random, choices: Choices, engine: Engine, time_us: int
    ) -> None:
        self._plan = plan
        self._rng = rng
        self._choices = choices
        self._engine = engine
        self._time_us = time_us
        self._bounded = {table.name: connector_of(table).is_bounded(table) for table in plan.tables}
        self._splits: dict[str, dict[str, Split]] = {
            table.name: load(table, engine) for table in plan.tables
        }
        self._idle: set[str] = set()  # tables whose split is called idle in this epoch
        self._states: dict[tuple[int, int, str], MemoryStateTable] = {}
        self._actors: dict[tuple[int, int], Actor] = {}
        self.committed = Committed(outputs=[[] for _ in plan.job.sinks])

    def run(self) -> Committed:
        """Runs epoch after epoch until nothing is left to read."""
        for _ in range(EPOCHS_MAX):
            ends = self._plan_epoch()
            if ends is None:
                return self.committed
            self._time_us += self._choices.time_step_us
            self._idle = {
                table
                for table, splits in self._splits.items()
                if len(splits) == 1 and self._rng.random() < self._choices.idle_probability
            }
            barrier = Barrier(self.committed.epoch + 1, self._time_us)
            while not self._try_epoch(barrier, ends):
                self._restore()
        raise InvariantError(f"the simulated job does not end in {EPOCHS_MAX} epochs")

    def _plan_epoch(self) -> dict[str, dict[str, int]] | None:
        """Where each split ends in the next epoch; None when all is read."""
        ends: dict[str, dict[str, int]] = {}
        for table, splits in self._splits.items():
            start = self.committed.positions.get(table) or dict.fromkeys(splits, 0)
            left = {split: splits[split].rows - start[split] for split in splits}
            taken = cut(self._rng, left, self._choices.rows_max)
            ends[table] = {split: start[split] + taken[split] for split in splits}
        changed = self.committed.epoch == 0 or ends != self.committed.positions
        return ends if changed else None

    def _try_epoch(self, barrier: Barrier, ends: dict[str, dict[str, int]]) -> bool:
        epoch = _Epoch(barrier, ends, [[] for _ in self._plan.job.sinks])
        fuse = None
        if self._rng.random() < self._choices.crash_probability:
            fuse = self._rng.randrange(1, 200)
        self._engine.set_epoch_time(barrier.time_us)
        if not self._choices.actors_live_on:
            self._actors.clear()
        try:
            self._open(epoch)
            self._drain(epoch, fuse)
        except _CrashError:
            return False
        self._commit(epoch)
        return True

    def _restore(self) -> None:
        """After a crash: actors are gone, state is as it was at the last barrier."""
        self.committed.crashes += 1
        self._actors.clear()
        self._states = {key: table.snapshot() for key, table in self.committed.states.items()}

    # One epoch

    def _open(self, epoch: _Epoch) -> None:
        speakers: dict[int, list[str]] = {}
        for fragment in self._plan.fragments:
            if fragment.table is not None:
                speakers[fragment.id] = self._open_source(epoch, fragment)
                continue
            speakers[fragment.id] = [str(vnode) for vnode in range(fragment.instances)]
            for vnode in range(fragment.instances):
                actor = self._actor(fragment, vnode)
                for port, upstream in enumerate(fragment.inputs):
                    actor.open_upstreams(port, speakers[upstream])
                actor.begin_epoch(epoch.barrier.time_us)

    def _open_source(self, epoch: _Epoch, fragment: Fragment) -> list[str]:
        assert fragment.table is not None
        splits = sorted(epoch.ends[fragment.table.name])
        tasks = self._rng.randint(1, max(1, len(splits)))
        shares = [splits[index::tasks] for index in range(tasks)]
        for index, share in enumerate(shares):
            number = len(epoch.running)
            epoch.origins[number] = (fragment, index)
            epoch.running.append(self._read(epoch, fragment, index, share))
        return [str(index) for index in range(tasks)]

    def _read(
        self, epoch: _Epoch, fragment: Fragment, index: int, splits: list[str]
    ) -> Iterator[list[Emission]]:
        """A reader task, step by step, its splits interleaved."""
        table = fragment.table
        assert table is not None
        log = self.committed
        states: dict[str, MemoryStateTable] = {}
        for filter_id, by_split in log.filters.items():
            restored = states.setdefault(filter_id, MemoryStateTable())
            for split, known in by_split.items():
                save(restored, split, known)

        def state(name: str) -> StateTable:
            return states.setdefault(name, MemoryStateTable())

        actor = Actor(fragment, self._plan.vnodes, self._engine, state, index, checks=True)
        epoch.sources.append((table.name, actor))
        actor.open_splits(splits, epoch.barrier.time_us)
        readings = {split: self._chunks(epoch, table.name, split) for split in splits}
        while readings:
            split = self._rng.choice(sorted(readings))
            chunk = next(readings[split], None)
            if chunk is None:
                del readings[split]
            else:
                yield list(actor.on_source(split, chunk))
        statuses = {split: self._status(epoch, table.name, split) for split in splits}
        if not statuses:
            statuses = {NO_SPLIT: Status.FINISHED if self._bounded[table.name] else Status.IDLE}
        yield list(actor.close_splits(statuses, epoch.barrier))

    def _chunks(self, epoch: _Epoch, table: str, split: str) -> Iterator[SourceChunk]:
        """A split's rows of this epoch, in chunks of the size that the seed chose."""
        start = self.committed.positions.get(table, {}).get(split, 0)
        end = epoch.ends[table][split]
        return self._splits[table][split].between(start, end, self._choices.chunk_rows)

    def _status(self, epoch: _Epoch, table: str, split: str) -> Status:
        whole = self._splits[table][split]
        if not whole.finished or epoch.ends[table][split] < whole.rows:
            is_idle = table in self._idle and not self._bounded[table]
            return Status.IDLE if is_idle else Status.ACTIVE
        return Status.FINISHED if self._bounded[table] else Status.IDLE

    def _drain(self, epoch: _Epoch, fuse: int | None) -> None:
        """Moves messages until none is left; the seed says which goes next."""
        live = dict(enumerate(epoch.running))
        steps = 0
        while True:
            steps += 1
            if fuse is not None and steps > fuse:
                raise _CrashError
            ready: list[int | tuple[int, int, int, str]] = list(live)
            ready += [key for key, queue in epoch.channels.items() if queue]
            if not ready:
                break
            chosen = self._rng.choice(ready)
            if isinstance(chosen, int):
                fragment, index = epoch.origins[chosen]
                emissions = next(live[chosen], None)
                if emissions is None:
                    del live[chosen]
                    continue
                self._send(epoch, fragment, index, emissions)
            else:
                to, vnode, port, upstream = chosen
                fragment = self._plan.fragments[to]
                message = epoch.channels[chosen].popleft()
                actor = self._actor(fragment, vnode)
                self._send(epoch, fragment, vnode, list(actor.on_message(port, upstream, message)))
        if fuse is not None:
            raise _CrashError  # between the last message and the commit

    def _send(
        self, epoch: _Epoch, fragment: Fragment, instance: int, emissions: list[Emission]
    ) -> None:
        for emission in emissions:
            message = emission.message
            if emission.output is None:
                assert isinstance(message, Rejected)
                epoch.ledger.append(message.data)
                continue
            output = fragment.outputs[emission.output]
            if output.exchange is None:
                if isinstance(message, Chunk):
                    epoch.outputs[output.sink].append(message.data)
                elif isinstance(message, Barrier):
                    epoch.barriers += 1
                continue
            count = self._plan.fragments[output.fragment].instances
            targets = range(count) if emission.vnode is None else [emission.vnode]
            for vnode in targets:
                key = (output.fragment, vnode, output.port, str(instance))
                epoch.channels.setdefault(key, deque()).append(message)

    def _actor(self, fragment: Fragment, vnode: int) -> Actor:
        key = (fragment.id, vnode)
        if key not in self._actors:

            def state(name: str) -> StateTable:
                return self._states.setdefault((*key, name), MemoryStateTable())

            self._actors[key] = Actor(
                fragment, self._plan.vnodes, self._engine, state, vnode, checks=True
            )
        return self._actors[key]

    def _commit(self, epoch: _Epoch) -> None:
        log = self.committed
        log.epoch = epoch.barrier.epoch
        if epoch.barriers == 0:
            raise InvariantError(f"epoch {log.epoch} reached no sink")
        log.positions = epoch.ends
        actors = [actor for _, actor in epoch.sources] + list(self._actors.values())
        for actor in actors:
            for report in actor.reports():
                counts = log.counts.setdefault(report.account, {})
                counts.setdefault(report.split, Counts()).add(report.counts)
                if actor.fragment.table is not None:
                    for filter_id, state in report.filters.items():
                        log.filters.setdefault(filter_id, {})[report.split] = state
        for by_split_counts in log.counts.values():
            for counts_ in by_split_counts.values():
                passed = counts_.read - counts_.late - counts_.quarantined
                counts_.filtered = passed - counts_.used
        for sink, tables in enumerate(epoch.outputs):
            log.outputs[sink] += tables
        log.ledger += epoch.ledger
        log.states = {key: table.snapshot() for key, table in self._states.items()}
