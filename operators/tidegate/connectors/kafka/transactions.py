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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tidegate.clock import Clock, SystemClock
from tidegate.connectors.kafka.client import Trouble, config, in_time, let_go, made
from tidegate.connectors.kafka.delivery import (
    WAIT_S,
    Failed,
    Sender,
    failing,
    failure,
    is_permanent,
)
from tidegate.connectors.kafka.markers import Judge, Marker
from tidegate.connectors.kafka.options import KafkaSinkOptions
from tidegate.events import EVENTS, SINK_RETRY
from tidegate.failpoints import hit
from tidegate.ports import Progress

_KEPT_MAX: Final = 16
_TRIES: Final = 4
_PAUSE_S: Final = 0.02
_ABORT_S: Final = 10
_PATIENCE_S: Final = 5.0
"""How long a client may get no answer, at first, of a fence, a look or a coordinator: a new client
connects and asks anew, and each has twice as long as the one before."""
_SAFE: Final = "".join(map(chr, range(ord(" "), ord("~")))).replace("%", "")
"""What the client takes in the name of a group, but the sign of what it does not take."""
_PASSING: Final = frozenset(
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
        KafkaError._TRANSPORT,
        KafkaError._WAIT_COORD,
    }
)
"""Of a group's coordinator: it is not there yet, or has not read its log yet."""
_SILENCE: Final = frozenset({KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT})
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
    ) -> None:
        self._table = table
        self._options = options
        self._writer = writer
        checkpoint, run = given["identity"], given["run"]
        self._id = transactional_id(options, table, checkpoint, writer)
        self._judge = Judge(table, self._id, checkpoint, run)
        self._key = (options.servers, self._id, checkpoint, run)
        self._usual = {"batch.size": given["batch"]}
        self._patience_s = _PATIENCE_S
        self._clock: Clock = clock or SystemClock()

    def write(self, epoch: int, known: int, send: Send) -> None:
        """Writes what ``send`` sends as ``epoch``, unless it is written.

        ``known`` is the last epoch that, by the epoch log, this writer has written.
        """

        def attempt() -> None:
            kept = self._kept(known) or self._looked(epoch)
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
        until_s = self._clock.monotonic_s() + WAIT_S
        tries = 0
        while True:
            try:
                attempt()
                break
            except Failed as failed:
                left_s = until_s - self._clock.monotonic_s()
                if failed.error.code() in _SILENCE:
                    self._patience_s = min(2 * self._patience_s, max(left_s, _PATIENCE_S))
                else:
                    tries += 1
                if is_permanent(failed.error) or left_s < 0 or tries == _TRIES:
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

    def _looked(self, epoch: int) -> _Kept:
        kept = self._fenced(epoch)
        hit("sink-looked", epoch)
        return kept

    def _fenced(self, epoch: int = 0) -> _Kept:
        """A producer behind the fence, with the marker that stands there."""
        options = self._options
        extra = {
            "transactional.id": self._id,
            "transaction.timeout.ms": options.transaction_timeout_us // 1000,
        }
        sender = Sender.of(options, self._usual, extra)
        with failing(sender.trouble):
            with self._patiently():
                sender.connect(options.topic, self._patience_s)
                # One that is given up here must end: if it heard at last, it would fence the next.
                sender.producer.init_transactions(self._patience_s)
            hit("sink-fenced", epoch)
            return _Kept(sender, *self._look())

    @contextmanager
    def _patiently(self) -> Iterator[None]:
        """Turns what a client says when its time is up into a silence, which is no try.

        It says then what it heard last, such as that a transaction is still being completed.
        """
        until_s = self._clock.monotonic_s() + self._patience_s / 2  # it may count a little faster
        try:
            yield
        except KafkaException as raised:
            error = raised.args[0]
            if is_permanent(error) or self._clock.monotonic_s() < until_s:
                raise
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, error.str())) from None

    def _look(self) -> tuple[Any, Marker | None]:
        """The group's name for the producer, and its marker."""
        trouble = Trouble()
        ours = {
            "group.id": self._id,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",  # waits for the end of what is being committed
            "reconnect.backoff.ms": 1,
            "metadata.recovery.strategy": "none",
        }
        with failing(trouble):
            reader = made(Consumer, config(self._options, trouble, ours))
            try:
                return reader.consumer_group_metadata(), Marker.of(self._committed(reader))
            finally:
                let_go(reader)

    def _committed(self, reader: Any) -> TopicPartition:
        """The group's offset. Its coordinator may be on the move, or not be there yet; but one that
        no longer answers this client may answer another."""
        asked = [TopicPartition(self._options.topic, 0)]
        until_s = self._clock.monotonic_s() + self._patience_s
        while True:
            left_s = until_s - self._clock.monotonic_s()
            try:
                (found,) = reader.committed(asked, max(left_s, _PAUSE_S))
                if found.error is None:
                    assert isinstance(found, TopicPartition)
                    return found
                error = found.error
            except KafkaException as failed:
                error = failed.args[0]
            if error.code() not in _PASSING:
                raise KafkaException(error)
            if self._clock.monotonic_s() > until_s:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, error.str()))
            self._clock.sleep(_PAUSE_S)

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
                    sender.drain()
                    hit("sink-produced", epoch)
                # Whatever limit it is given, it waits without end for a group's coordinator that it
                # has known and that the cluster has forgotten (librdkafka 2.16, its issues 5456 and
                # 5511). The next fence makes the producer that is left behind useless.
                in_time(
                    lambda: sender.producer.send_offsets_to_transaction(offsets, kept.group),
                    self._patience_s,
                )
                if send is not None:
                    hit("sink-before-commit", epoch)
                sender.producer.commit_transaction(WAIT_S)
                kept.marker = marker
                return
        except Failed as failed:
            error = failed.error
        # Not where it is caught: the client would never let go of it, nor it of the epoch's rows.
        if is_permanent(error):  # else the next fence undoes what was begun
            with suppress(Failed), failing(sender.trouble):
                sender.producer.abort_transaction(_ABORT_S)
        raise Failed(error, sender.trouble)
