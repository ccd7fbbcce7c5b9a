"""A pipeline: executors of one actor, wired as the plan's nodes are.

An executor has one input or several, called ports, and any number of consumers. A message that is
pushed behind a node runs through all that hangs on it, depth first, before the next message is
looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tidegate.executor.base import Executor
from tidegate.phases import PHASES
from tidegate.types import Message, Rejected


class Pipeline:
    """``executors`` by node number; ``below`` are the plan's inputs of each node.

    A node without executor is an entry. What reaches one of ``exits`` comes out.
    """

    def __init__(
        self,
        executors: Mapping[int, Executor],
        below: Sequence[Sequence[int]],
        exits: Collection[int],
    ) -> None:
        self.executors = executors
        self._exits = frozenset(exits)
        self._names = {
            node: getattr(executor, "inner", executor).operator
            for node, executor in executors.items()
        }
        self._consumers: dict[int, list[tuple[int, int]]] = {}  # (consumer, its port)
        for node in executors:
            for port, entry in enumerate(below[node]):
                self._consumers.setdefault(entry, []).append((node, port))

    def push_behind(self, node: int, message: Message) -> Iterator[tuple[int, Message]]:
        """Runs ``message``, an output of ``node``, through the rest: (exit node, message)."""
        if isinstance(message, Rejected):
            yield node, message  # to the ledger, whatever lies between
            return
        if node in self._exits:
            yield node, message
        for consumer, port in self._consumers.get(node, ()):
            executor = self.executors[consumer]
            phase = self._names[consumer]
            with PHASES.phase(phase):  # some do their work when called, some as results are taken
                results = executor.process(message, port)
            for result in PHASES.timed(phase, results):
                yield from self.push_behind(consumer, result)
