"""Transactions of the exactly-once `kafka` sink: an epoch's rows of one writer, and its marker.

A writer is a task of an epoch; which rows it gets is a function of the rows' vnodes, so when an
epoch is run again each writer gets the same rows again, and must not write them again.

    fence      init_transactions: every earlier producer of the writer's id, in whatever process,
               can commit nothing from here on; what one had begun is undone, what one was
               committing is completed
    look       the marker, behind the fence (`markers`)
    write      begin, the rows, the marker, commit; nothing if the marker says that it is done

*Two attempts at once.* Whoever fences last, looks last. An attempt that was fenced between any two
of its steps fails at its next request, fences in turn, and finds what the other has committed.

*A producer that is kept* for the worker's next epoch needs no look while it is not fenced: only who
has fenced it can have moved the marker. Spark gives a writer's tasks to any worker. So the task is
told what the epoch log knows: where another worker has written since, the producer is useless.

*Another driver* of the same checkpoint begins by fencing and marking every writer (`claim`), each
marker with the name of its run. A task of the old driver is fenced, fences in turn, finds the
marker of another run, and stops: it can write nothing that the new driver has planned otherwise.
The price is one fence too many for the new driver's task, which then tries again.

*An outcome that is not known*, since no broker answered a commit, is found out in the same way: by
the fence, which completes or undoes it, and the look.

As every consumer does, a look trusts the broker that calls itself the group's coordinator. One
that was cut off, and not told yet that another took over, may answer with an older offset.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tidegate.clock import Clock, SystemClock
from tidegate.connectors.kafka.client import Trouble, made
from tidegate.connectors.kafka.delivery import Failed, Sender, failing, failure, is_permanent
from tidegate.connectors.kafka.markers import Judge, Marker
from tidegate.connectors.kafka.options import KafkaSinkOptions
from tidegate.connectors.kafka.patience import USUAL, KafkaPatience
from tidegate.connectors.kafka.quirks import EndlessOffsets, ForgottenRequests, LastError, LockedOut
from tidegate.events import EVENTS, SINK_RETRY
from tidegate.failpoints import hit
from tidegate.patience import Waiting, patiently
from tidegate.ports import Progress

_KEPT_MAX: Final = 16
_SAFE: Final = "".join(map(chr, range(ord(" "), ord("~")))).replace("%", "")
"""What the client takes in the name of a group, but the sign of what it does not take."""
_PASSING: Final = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.UNSTABLE_OFFSET_COMMIT,
    KafkaError._TRANSPORT,
    KafkaError._WAIT_COORD,
)
"""Of a group's coordinator: it is not there yet, or has not read its log yet."""
_SILENCE: Final = (KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT)
"""The brokers are away, for a while."""

Send = Callable[[Sender], None]


@dataclass(slots=True)
class _Kept:
    """A producer behind the fence of its writer, and the marker that it has found or committed."""

    sender: Sender
    group: Any
    marker: Marker | None


_CACHE: OrderedDict[tuple[str, str, str, str], _Kept] = OrderedDict()
"""This worker's producers, the one used last at the end."""


def transactional_id(options: KafkaSinkOptions, table: str, checkpoint: str, writer: str) -> str:
    """The id of a writer, which is its group's name too: of a table that may be called anything."""
    prefix = options.id_prefix or f"tidegate-{checkpoint}"
    return quote(f"{prefix}-{table}-{writer}", safe=_SAFE)


class Transactions:
    """Those of one writer. ``given``: what `KafkaCommitter` gives to writers.

    Raises SinkError when rows cannot be written, OptionsError when the brokers refuse us, and what
    `markers.Judge` raises.
    """

    def __init__(
        self,
        table: str,
        options: KafkaSinkOptions,
        writer: str,
        given: Mapping[str, str],
        clock: Clock | None = None,
        patience: KafkaPatience = USUAL,
    ) -> None:
        self._table = table
        self._options = options
        self._writer = writer
        checkpoint, run = given["identity"], given["run"]
        self._id = transactional_id(options, table, checkpoint, writer)
        self._judge = Judge(table, self._id, checkpoint, run)
        self._key = (options.servers, self._id, checkpoint, run)
        self._usual = {"batch.size": given["batch"]}
        self._patience = patience
        self._clock: Clock = clock or SystemClock()
        self._try_s = 0.0
        """How long each step of an attempt may take."""

    def write(self, epoch: int, known: int, send: Send) -> None:
        """Writes what ``send`` sends as ``epoch``, unless it is written.

        ``known`` is the last epoch that, by the epoch log, this writer has written.
        """

        def attempt() -> None:
            kept = self._kept(known)
            if kept is None:
                kept = self._fenced(epoch)
                hit("sink-looked", epoch)
            marker = self._judge.in_task(kept.marker, known)
            if marker.epoch < epoch:
                self._commit(kept, epoch, send)
                hit("sink-after-commit", epoch)
            self._keep(kept)

        self._again(attempt)

    def claim(self, progress: Callable[[], Progress]) -> None:
        """Takes the writer over from earlier drivers and jobs, on start.

        ``progress`` is asked behind the fence: whatever an earlier driver lets its tasks write, it
        has planned before.
        """

        def attempt() -> None:
            kept = self._fenced()
            at = progress()
            known = at.written.get(self._writer, 0)
            self._commit(kept, self._judge.at_start(kept.marker, known, at))

        self._again(attempt)

    def renew(self, epoch: int) -> None:
        """Marks a writer again that had no rows for long; ``epoch`` is the last one of the log."""

        def attempt() -> None:
            kept = self._fenced()
            self._commit(kept, self._judge.at_renewal(kept.marker, epoch))

        self._again(attempt)

    def _again(self, attempt: Callable[[], None]) -> None:
        """Makes attempts until one succeeds: others may fence us, and brokers go away."""
        waiting = Waiting(self._patience.fence, self._clock)
        while True:
            self._try_s = waiting.try_s
            try:
                attempt()
                break
            except Failed as failed:
                silent = failed.error.code() in _SILENCE
                if is_permanent(failed.error) or not waiting.again(silent=silent):
                    raise failure(
                        self._table, self._options, failed.error, failed.trouble
                    ) from None
                EVENTS.happened(SINK_RETRY)

    def _kept(self, known: int) -> _Kept | None:
        """This worker's producer of the writer, if it is the one that has written last."""
        kept = _CACHE.pop(self._key, None)
        return kept if kept is not None and kept.marker and kept.marker.epoch >= known else None

    def _keep(self, kept: _Kept) -> None:
        if kept.sender.trouble.is_stuck:
            return
        _CACHE[self._key] = kept
        while len(_CACHE) > _KEPT_MAX:
            _CACHE.popitem(last=False)

    def _fenced(self, epoch: int = 0) -> _Kept:
        """A producer behind the fence, with the marker that stands there."""
        options = self._options
        extra = {
            "transactional.id": self._id,
            "transaction.timeout.ms": options.transaction_timeout_us // 1000,
        }
        sender = Sender.of(options, self._usual, extra)
        with failing(sender.trouble):
            with LastError.timed_out(self._clock, self._try_s, is_permanent):
                sender.connect(options.topic, self._try_s)
                # One that is given up here must end: if it heard at last, it would fence the next.
                sender.producer.init_transactions(self._try_s)
            hit("sink-fenced", epoch)
            return _Kept(sender, *self._look())

    def _look(self) -> tuple[Any, Marker | None]:
        """The group's name for the producer, and its marker."""
        trouble = Trouble()
        ours = {
            "group.id": self._id,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",  # waits for the end of what is being committed
            "reconnect.backoff.ms": 1,
            **ForgottenRequests.CONFIG,
        }
        with failing(trouble):
            reader = made(Consumer, self._options, trouble, ours)
            try:
                return reader.consumer_group_metadata(), self._marker(reader, trouble)
            finally:
                LockedOut.let_go(reader)

    def _marker(self, reader: Any, trouble: Trouble) -> Marker | None:
        """That which the group's offset is. Its coordinator may be on the move, or not there yet;
        but one that no longer answers this client may answer another."""

        def ask(seconds: float) -> Marker | None:
            try:
                (found,) = reader.committed([TopicPartition(self._options.topic, 0)], seconds)
                error = found.error
            except KafkaException as raised:
                error = raised.args[0]
            if error is None:
                return Marker.of(found)
            raise KafkaException(error) if error.code() in _PASSING else Failed(error, trouble)

        kept = self._patience.coordinator
        patience = replace(kept, in_all_s=self._try_s, passing=(KafkaException,))
        with LastError.timed_out(self._clock, self._try_s, is_permanent):
            return patiently(ask, patience, self._clock)

    def _commit(self, kept: _Kept, epoch: int, send: Send | None = None) -> None:
        """One transaction: what ``send`` sends, and the marker of ``epoch``."""
        sender = kept.sender
        sender.begin()
        marker = self._judge.marker(epoch)
        offsets = [marker.offset(self._options.topic)]
        try:
            with failing(sender.trouble):
                sender.producer.begin_transaction()
                if send is not None:
                    send(sender)
                    sender.drain(self._patience.delivery)
                    hit("sink-produced", epoch)
                EndlessOffsets.send(sender.producer, offsets, kept.group, self._try_s)
                if send is not None:
                    hit("sink-before-commit", epoch)
                sender.producer.commit_transaction(self._patience.delivery.in_all_s)
                kept.marker = marker
                return
        except Failed as failed:
            error = failed.error
        # Not where it is caught: the client would never let go of it, nor it of the epoch's rows.
        if is_permanent(error):  # else the next fence undoes what was begun
            with suppress(Failed), failing(sender.trouble):
                sender.producer.abort_transaction(self._patience.abort_s)
        raise Failed(error, sender.trouble)
