"""An epoch's tasks and actors, and the messages between them, in one thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import pyarrow as pa

from tidegate.epochs.planner import ReaderTask
from tidegate.epochs.reading import read_task
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.epochs.task_reports import SourceReport, TaskReport
from tidegate.epochs.worker import Worker, report_of
from tidegate.errors import InvariantError
from tidegate.executor.actor import Actor, Emission
from tidegate.plan.fragments import Fragment
from tidegate.simulator.course import Course
from tidegate.simulator.states import States
from tidegate.types import Barrier, Chunk, Message, Rejected

Channel: TypeAlias = "tuple[int, int, int, str]"
"""To a fragment, its vnode, its port; from an upstream actor of that name."""
Reading: TypeAlias = "Generator[tuple[int, Emission | SourceReport]]"

_NOBODY: Final = -1


@dataclass(slots=True)
class Done:
    """What the tasks of an epoch have said, and what they have for writers: rows by target and by
    the actor's number, each in its order."""

    reports: list[TaskReport] = field(default_factory=list)
    rows: dict[tuple[int, int], list[pa.Table]] = field(default_factory=dict)
    ends: int = 0
    """How often a sink was told that the epoch ends."""

    def chunks_of(self, writer: int, writers: int) -> list[tuple[int, pa.Table]]:
        """What the task ``writer`` of so many stages: what an actor sends stays in its order."""
        return [
            (target, table)
            for (target, instance), tables in sorted(self.rows.items())
            if instance % writers == writer
            for table in ([pa.concat_tables(tables)] if target == TO_LEDGER else tables)
        ]


class Exchange:
    """The actors behind exchanges, in one life of a driver."""

    def __init__(self, worker: Worker, states: States, course: Course) -> None:
        self._worker = worker
        self._plan = worker.job.plan
        self._states = states
        self._course = course
        self._actors: dict[tuple[int, int], Actor] = {}
        self._queues: dict[Channel, deque[Message]] = {}
        self._ready: list[int | Channel] = []

    def run(self, tasks: Sequence[ReaderTask]) -> Done:
        """Runs the epoch of ``tasks``, to the last message."""
        if not self._course.actors_live_on:
            self._actors.clear()
        self._open(tasks)
        done = Done()
        with ExitStack() as stack:
            readings: list[Reading] = [
                stack.enter_context(closing(read_task(self._worker, task))) for task in tasks
            ]
            self._ready = list(range(len(readings)))
            while self._ready:
                self._course.step()
                chosen = self._course.choose(self._ready)
                if isinstance(chosen, int):
                    self._read_on(done, readings[chosen], tasks[chosen], chosen)
                else:
                    self._deliver(done, chosen)
        if not done.ends:
            raise InvariantError(f"epoch {tasks[0].epoch} reached no sink")
        epoch = tasks[0].epoch
        done.reports += [report_of(actor, epoch) for actor in self._actors.values()]
        return done

    def _open(self, tasks: Sequence[ReaderTask]) -> None:
        self._queues = {}
        upstreams = {
            work.fragment: [str(peer) for peer in work.peers]
            for task in tasks
            for work in task.fragments
        }
        for fragment in self._plan.fragments:
            if fragment.table is not None:
                continue
            upstreams[fragment.id] = [str(vnode) for vnode in range(fragment.instances)]
            for vnode in range(fragment.instances):
                actor = self._actor(fragment, vnode)
                for port, upstream in enumerate(fragment.inputs):
                    actor.open_upstreams(port, upstreams[upstream])
                actor.begin_epoch(tasks[0].time_us)

    def _read_on(self, done: Done, reading: Reading, task: ReaderTask, number: int) -> None:
        fragment, sent = next(reading, (_NOBODY, None))
        if sent is None:
            self._ready.remove(number)
        elif isinstance(sent, Emission):
            self._send(done, self._plan.fragments[fragment], task.index, sent)
        else:
            done.reports.append(sent)

    def _deliver(self, done: Done, channel: Channel) -> None:
        to, vnode, port, upstream = channel
        queue = self._queues[channel]
        message = queue.popleft()
        if not queue:
            self._ready.remove(channel)
        fragment = self._plan.fragments[to]
        for sent in self._actor(fragment, vnode).on_message(port, upstream, message):
            self._send(done, fragment, vnode, sent)

    def _send(self, done: Done, fragment: Fragment, instance: int, sent: Emission) -> None:
        message = sent.message
        if sent.output is None:
            assert isinstance(message, Rejected)
            done.rows.setdefault((TO_LEDGER, instance), []).append(message.data)
            return
        output = fragment.outputs[sent.output]
        if output.exchange is None:
            if isinstance(message, Chunk):
                to_sink = (TO_SINK - output.sink, instance)
                done.rows.setdefault(to_sink, []).append(message.data)
            elif isinstance(message, Barrier):
                done.ends += 1
            return
        count = self._plan.fragments[output.fragment].instances
        for vnode in range(count) if sent.vnode is None else (sent.vnode,):
            channel = (output.fragment, vnode, output.port, str(instance))
            queue = self._queues.setdefault(channel, deque())
            if not queue:
                self._ready.append(channel)
            queue.append(message)

    def _actor(self, fragment: Fragment, vnode: int) -> Actor:
        key = (fragment.id, vnode)
        if key not in self._actors:
            self._actors[key] = Actor(
                fragment,
                self._plan.vnodes,
                self._worker.engine,
                lambda name: self._states.table((*key, name)),
                vnode,
                self._worker.checks,
            )
        return self._actors[key]
