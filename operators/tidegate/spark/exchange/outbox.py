"""From an actor's emissions to rows on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tidegate.epochs.targets import TO_DRIVER, TO_LEDGER, TO_SINK
from tidegate.epochs.task_reports import FragmentReport, Sent, packed
from tidegate.executor.actor import Emission
from tidegate.phases import PHASES
from tidegate.plan.fragments import Fragment, Plan
from tidegate.spark.exchange.routes import routes
from tidegate.spark.exchange.wire import Kind, Row, encode, upstream_of
from tidegate.spark.memory import resident_bytes
from tidegate.types import Barrier, Chunk, Message, Rejected, Watermark


class Outbox:
    """Numbers and addresses what one actor emits in one epoch.

    Watermarks are held until the barrier, and only the last of each column is sent (RFC, Prop 1.1:
    a watermark may be postponed or left out): receivers act on them at the epoch's end anyway.
    """

    def __init__(self, plan: Plan, fragment: Fragment, instance: int, peers: Iterable[int]) -> None:
        self._plan = plan
        self._fragment = fragment
        self._instance = instance
        self._peers = tuple(peers)
        self._routes = routes(plan.vnodes)
        self._seq = 0
        self._sent = Sent()
        self._held: dict[tuple[int, int | None, str], Watermark] = {}
        """By output, vnode and column."""

    def send(self, emission: Emission) -> Iterator[Row]:
        """The rows of one emission."""
        message = emission.message
        if emission.output is None:
            assert isinstance(message, Rejected)
            yield from self._rows(message, TO_LEDGER)
            return
        output = self._fragment.outputs[emission.output]
        if output.exchange is None:
            if isinstance(message, Chunk):
                yield from self._rows(message, TO_SINK - output.sink)
            return
        if isinstance(message, Watermark):
            self._held[emission.output, emission.vnode, message.column] = message
            return
        if isinstance(message, Barrier):
            for held in [key for key in self._held if key[0] == emission.output]:
                watermark = self._held.pop(held)
                yield from self._rows(watermark, output.fragment, held[1], output.port)
        yield from self._rows(message, output.fragment, emission.vnode, output.port)

    def report(self, report: FragmentReport) -> Row:
        """A report to the driver, with what was sent through exchanges, and the process' memory."""
        body = packed(replace(report, sent=self._sent, memory=resident_bytes()))
        return self._row(TO_DRIVER, self._instance % self._plan.vnodes, 0, Kind.REPORT, body)

    def _rows(
        self, message: Message, to: int, vnode: int | None = None, port: int = 0
    ) -> Iterator[Row]:
        if to < 0:
            targets = [self._instance % self._plan.vnodes]
        elif vnode is None:
            targets = list(range(self._plan.fragments[to].instances))
        else:
            targets = [vnode]
        for kind, body in PHASES.timed("serialise", encode(message, self._peers)):
            if to >= 0:
                copies = len(targets)
                self._sent = Sent(self._sent[0] + copies, self._sent[1] + copies * len(body))
            for target in targets:
                yield self._row(to, target, port, kind, body)

    def _row(self, to: int, vnode: int, port: int, kind: Kind, body: bytes) -> Row:
        self._seq += 1
        # An instance that stands alone (behind a gather) is put on a vnode by its fragment.
        alone = to >= 0 and self._plan.fragments[to].instances == 1
        at = to % self._plan.vnodes if alone else vnode
        upstream = upstream_of(port, self._instance)
        return Row(self._routes[at], to, vnode, upstream, self._seq, kind, body)
