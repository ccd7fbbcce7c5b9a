"""The `kafka` sink: one transaction for each writer task and epoch (design §2 "Sinks").

A writer is a task of an epoch; which rows it gets is a function of the rows' vnodes, so when an
epoch is run again each writer gets the same rows again. It must not write them again. So each
transaction also commits a *marker*: the epoch's number as the offset, and the checkpoint's identity
as the metadata, of a consumer group that is called like the writer's transactional id and that
nobody consumes with. What a ``read_committed`` reader sees of an epoch, and the marker that tells
of it, are there together or not at all.

    fence      init_transactions: every earlier producer of this id, in whatever process, can
               commit nothing from here on, and what it had begun is undone
    look       the marker, behind the fence: an epoch at or below it is written; nothing to do
    write      begin, the rows, the marker, commit

A producer is kept for the worker's next epoch. One that was fenced meanwhile, since another worker
had the writer's task, says so at its next transaction, and the writer starts again at the fence.
One that was not fenced knows its marker, since nobody else can have moved it.

The transaction commits in the task, before the driver writes the epoch's entry: a reader may see an
epoch some moments before the job has committed it, and never twice. The marker of another
checkpoint does not count: whoever starts a job anew asks for its rows anew.

Markers are committed offsets, which brokers forget when a group was not used for
``offsets.retention.minutes`` (a week). So the epoch log keeps for each writer the last epoch that
it has written, and a marker that is gone then stops the job instead of doubling rows.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tidegate.connectors.base import StagedFile
from tidegate.connectors.kafka.client import Trouble, config, explained, made
from tidegate.connectors.kafka.encode import Encoder, Messages
from tidegate.connectors.kafka.options import KafkaSinkOptions
from tidegate.connectors.kafka.topics import Topics
from tidegate.connectors.options import parsed
from tidegate.connectors.staging import write_order
from tidegate.errors import SinkError, TidegateError, TrustError
from tidegate.executor.engine import Engine
from tidegate.plan.nodes import Table

_PRODUCERS_MAX: Final = 8
_IN_FLIGHT_MAX: Final = 200_000
_LOOK_ROWS: Final = 10_000
_FLUSH_S: Final = 120.0
_TRIES: Final = 3
_JAVA_PARTITIONER: Final = "murmur2_random"

_CONFIG: Final = {
    "partitioner": _JAVA_PARTITIONER,
    "queue.buffering.max.messages": 2 * _IN_FLIGHT_MAX,
    "queue.buffering.max.kbytes": 1 << 20,
    "linger.ms": 5,
    "delivery.report.only.error": True,
    "message.max.bytes": 32 << 20,
    "retry.backoff.ms": 20,
}


@dataclass(slots=True)
class _Kept:
    """A producer that lives on, and the marker that it has committed or found."""

    producer: Any
    trouble: Trouble
    group: Any = None
    marker: int = 0
    failed: KafkaError | None = None

    def on_delivery(self, error: KafkaError | None, message: Any) -> None:
        """Called for messages that were not delivered."""
        del message
        self.failed = self.failed or error


_CACHE: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
"""This worker's producers, the one used last at the end."""


class KafkaWriter:
    """Implements `tidegate.connectors.base.SinkWriter`. ``remembered``: see `KafkaCommitter`."""

    def __init__(
        self, table: Table, epoch: int, writer: str, remembered: Mapping[str, str]
    ) -> None:
        self._options: KafkaSinkOptions = parsed(KafkaSinkOptions, table.connector, table.options)
        self._table = table.name
        self._epoch = epoch
        self._writer = writer
        self._identity = remembered["identity"]
        prefix = self._options.id_prefix or f"tidegate-{self._identity}"
        self._id = f"{prefix}-{table.name}-{writer}"
        self._encoder = Encoder(table, self._options, Engine())
        self._topic = self._options.topic
        self._parts: list[Messages] = []
        self._rows = 0
        self._bytes = 0

    def write(self, data: pa.Table) -> None:
        if data.num_rows == 0:
            return
        messages = self._encoder.encode(data)
        self._parts.append(messages)
        self._rows += data.num_rows
        self._bytes += sum(len(value or b"") for value in messages.values)

    def close(self) -> list[StagedFile]:
        if self._rows == 0:
            return []
        if self._options.guarantee == "exactly-once":
            self._in_a_transaction()
        else:
            self._plainly()
        place = f"{self._options.servers}/{self._topic}"
        return [StagedFile(place, write_order(self._writer, 0), self._rows, self._bytes)]

    def abort(self) -> None:
        """Nothing is open between `write` and the end of `close`."""
        self._parts.clear()
        self._rows = 0

    def _in_a_transaction(self) -> None:
        for attempt in range(1, _TRIES + 1):
            kept = _CACHE.pop((self._options.servers, self._id), None) or self._fenced_in()
            if kept.marker >= self._epoch:
                self._keep(kept)
                return
            try:
                self._transaction(kept)
            except KafkaException as error:
                problem: KafkaError = error.args[0]
                _give_up(kept, problem)
                if not _may_begin_again(problem) or attempt == _TRIES:
                    raise self._error("a transaction failed", problem, kept.trouble) from None
            else:
                kept.marker = self._epoch
                self._keep(kept)
                return

    def _transaction(self, kept: _Kept) -> None:
        producer = kept.producer
        producer.begin_transaction()
        self._produce(kept)
        marker = TopicPartition(self._topic, 0, self._epoch, metadata=self._identity)
        producer.send_offsets_to_transaction([marker], kept.group, _FLUSH_S)
        producer.commit_transaction(_FLUSH_S)

    def _plainly(self) -> None:
        key = (self._options.servers, f"plain-{self._table}-{self._writer}")
        kept = _CACHE.pop(key, None)
        if kept is None:
            trouble = Trouble()
            extra = {**_CONFIG, "enable.idempotence": True}
            kept = _Kept(made(Producer, config(self._options, trouble, extra)), trouble)
        self._produce(kept)
        if self._options.guarantee == "at-least-once":
            left = kept.producer.flush(_FLUSH_S)
            if left or kept.failed is not None:
                raise self._error(f"{left} rows were not written", kept.failed, kept.trouble)
        else:
            kept.producer.poll(0)
            kept.failed = None
        _CACHE[key] = kept

    def _produce(self, kept: _Kept) -> None:
        produce: Callable[..., None] = kept.producer.produce
        choose = self._partitioning(kept)
        rows = 0
        for part in self._parts:
            for value, given in zip(part.values, _particulars(part, choose, rows), strict=True):
                while True:
                    try:
                        produce(self._topic, value, on_delivery=kept.on_delivery, **given)
                        break
                    except BufferError:
                        self._wait_for_room(kept, len(kept.producer) // 2)
                rows += 1
                if rows % _LOOK_ROWS == 0:
                    self._wait_for_room(kept, _IN_FLIGHT_MAX)

    def _wait_for_room(self, kept: _Kept, most: int) -> None:
        """Until no more than ``most`` messages are on their way."""
        kept.producer.poll(0)
        while len(kept.producer) > most and kept.failed is None:
            kept.producer.poll(0.05)
        if kept.failed is not None:
            raise KafkaException(kept.failed)

    def _partitioning(self, kept: _Kept) -> Callable[[int], int] | None:
        """The partition of a row by its number in the epoch; None: the client's choice, by key."""
        how = self._options.partitioner
        if how == "default":
            return None
        found = kept.producer.list_topics(self._topic, timeout=30).topics[self._topic]
        count = max(1, len(found.partitions))
        if how == "fixed":
            fixed = int(self._writer) % count
            return lambda _: fixed
        return lambda number: number % count

    def _fenced_in(self) -> _Kept:
        """A producer of this writer's id, behind its fence, that knows the marker."""
        trouble = Trouble()
        timeout_ms = self._options.transaction_timeout_us // 1000
        extra = {**_CONFIG, "transactional.id": self._id, "transaction.timeout.ms": timeout_ms}
        kept = _Kept(made(Producer, config(self._options, trouble, extra)), trouble)
        reader = None
        try:
            kept.producer.init_transactions(_FLUSH_S)
            reader = made(
                Consumer,
                config(self._options, trouble, {"group.id": self._id, "enable.auto.commit": False}),
            )
            (found,) = reader.committed([TopicPartition(self._topic, 0)], _FLUSH_S)
            if found.error is not None:
                raise KafkaException(found.error)
            kept.group = reader.consumer_group_metadata()
        except KafkaException as error:
            raise self._error("it cannot begin a transaction", error.args[0], trouble) from None
        finally:
            if reader is not None:
                reader.close()
        if found.offset >= 0 and found.metadata == self._identity:
            kept.marker = found.offset
        return kept

    def _keep(self, kept: _Kept) -> None:
        _CACHE[self._options.servers, self._id] = kept
        while len(_CACHE) > _PRODUCERS_MAX:
            _CACHE.popitem(last=False)

    def _error(self, what: str, error: KafkaError | None, trouble: Trouble) -> TidegateError:
        text = f"table '{self._table}': {what}, into topic '{self._topic}'"
        if error is not None and error.code() in _NOT_FITTING:
            return SinkError(
                f"{text}: a row does not fit", detail=error.str(), hint="see max.message.bytes"
            )
        return explained(text, self._options.servers, error, trouble)


def _particulars(
    part: Messages, choose: Callable[[int], int] | None, first: int
) -> Iterable[dict[str, Any]]:
    """What each message of ``part`` has besides its value; its first row has number ``first``."""
    columns: dict[str, Iterable[Any]] = {}
    if choose is not None:
        columns["partition"] = map(choose, range(first, first + len(part.values)))
    if part.keys is not None:
        columns["key"] = part.keys
    if part.times_ms is not None:  # 0 leaves it to the client: the time of sending
        columns["timestamp"] = (time_ms or 0 for time_ms in part.times_ms)
    if part.headers is not None:
        columns["headers"] = part.headers
    if not columns:
        return repeat({}, len(part.values))
    names = tuple(columns)
    return (dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True))


_NOT_FITTING: Final = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG)


def _may_begin_again(error: KafkaError) -> bool:
    """Whether a new producer of the id may do better: another one fenced this, or it timed out."""
    fenced = (
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
        KafkaError.INVALID_TXN_STATE,
        KafkaError._STATE,
    )
    return error.code() in fenced or error.txn_requires_abort() or error.retriable()


def _give_up(kept: _Kept, error: KafkaError) -> None:
    """Undoes what ``kept`` began, as far as it may."""
    if error.txn_requires_abort():
        with suppress(KafkaException):  # the next producer's fence undoes it too
            kept.producer.abort_transaction(10)


class KafkaCommitter:
    """Implements `tidegate.connectors.base.SinkCommitter`.

    Nothing is left to publish when an epoch commits. What is remembered is the ``identity`` of the
    checkpoint, by which a marker is told from one of another job that wrote under the same ids.
    """

    def __init__(
        self, table: Table, scope: str, token: Callable[[], str] = lambda: uuid.uuid4().hex[:12]
    ) -> None:
        del scope
        self._options: KafkaSinkOptions = parsed(KafkaSinkOptions, table.connector, table.options)
        self._table = table
        self._token = token

    def prepare(self, fresh: bool) -> dict[str, str]:
        Encoder(self._table, self._options, Engine())  # refuses keys that are no columns
        topics = Topics(self._table.name, self._options)
        if self._options.topic not in topics.described([self._options.topic]):
            raise topics.require(self._options.topic)
        return {"identity": self._token()} if fresh else {}

    def bind(self, remembered: Mapping[str, str]) -> None:
        if not remembered.get("identity"):
            raise TrustError("the checkpoint's job.json does not say whose markers are its own")

    def publish(self, epoch: int, staged: Sequence[StagedFile]) -> None:
        """The writers' transactions have done it."""
        del epoch, staged

    def discard_unknown(self) -> None:
        """What a dead attempt began is undone by the fence of the next, or by its timeout."""
