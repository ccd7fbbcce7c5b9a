"""Worker side of the `kafka` source: exactly the messages between two offsets of a partition.

A consumer is kept for each partition that this worker has read, and stands where its last epoch
ended, so that the next one finds fetched messages waiting. Which worker gets which partition is
Spark's choice; a consumer that stands elsewhere is moved. ``fetch.queue.backoff.ms`` is small,
since a moved consumer waits for it.

Not every offset holds a message: control records of transactions, aborted and compacted messages
leave gaps. An epoch has ended when a message at or behind its end has come, or when the client says
that it has reached the end of the partition. Messages beyond the end are kept for the next epoch.

Before the first row of a split is given out the topic's id is not looked at, but behind the last:
ids do not come back, so a topic that is then still the planned one was so all the time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from tidegate.clock import Clock, SystemClock
from tidegate.connectors.base import Position, SourceChunk
from tidegate.connectors.kafka.client import (
    Trouble,
    config,
    explained,
    is_refused,
    is_unknown_topic,
    made,
)
from tidegate.connectors.kafka.decode import Batch, Decoder
from tidegate.connectors.kafka.options import KafkaSourceOptions
from tidegate.connectors.kafka.position import (
    KafkaPosition,
    kafka_position,
    split_name,
    topic_partition,
)
from tidegate.connectors.kafka.topics import Topics
from tidegate.connectors.options import parsed
from tidegate.errors import TidegateError, TrustError
from tidegate.executor.engine import Engine
from tidegate.plan.nodes import Table

PATIENCE_S: Final = 120.0
"""How long a reader waits for the next message before it gives up: brokers restart meanwhile."""
CHUNK_ROWS: Final = 65_536
CHUNK_BYTES: Final = 16 << 20
_BATCH_ROWS_MAX: Final = 16_384
_WAIT_S: Final = 0.05
_CONSUMERS_MAX: Final = 16

_CONFIG: Final = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "fetch.queue.backoff.ms": 5,
    "fetch.wait.max.ms": 100,
    "queued.max.messages.kbytes": 16 << 10,
    "queued.min.messages": 100_000,
}


@dataclass(slots=True)
class _Standing:
    """A consumer of one partition: the offset that it gives next, and what is fetched already."""

    consumer: Any
    trouble: Trouble
    offset: int = -1
    ahead: list[Any] = field(default_factory=list)
    message_bytes: float = 256.0


class KafkaReader:
    """Implements `tidegate.connectors.base.SourceReader`."""

    def __init__(self, table: Table, engine: Engine, clock: Clock | None = None) -> None:
        self._options: KafkaSourceOptions = parsed(
            KafkaSourceOptions, table.connector, table.options
        )
        self._table = table.name
        self._decoder = Decoder(table, self._options, engine)
        self._clock = clock or SystemClock()
        self._topics = Topics(table.name, self._options)
        self._lost: dict[str, list[tuple[int, int]]] = {}

    def read(
        self, split: str, start: Position, end: Position, first_offset: int
    ) -> Iterator[SourceChunk]:
        del first_offset  # a row's offset is the message's
        last = kafka_position(end)
        assert last is not None
        begin = kafka_position(start) or KafkaPosition(
            last.begin, last.topic_id, last.stop, last.begin
        )
        if begin.offset >= last.offset:
            return
        topic, partition = topic_partition(split)
        pending: list[Any] = []
        held = 0
        for messages in self._messages(topic, partition, begin.offset, last.offset):
            pending += messages
            held += sum(map(len, messages))
            if len(pending) >= CHUNK_ROWS or held >= CHUNK_BYTES:
                yield self._chunk(pending, topic, partition)
                pending, held = [], 0
        self._check_identity(topic, last.topic_id)
        if pending:
            yield self._chunk(pending, topic, partition)

    def take_lost(self) -> dict[str, list[tuple[int, int]]]:
        taken, self._lost = self._lost, {}
        return taken

    def _chunk(self, messages: list[Any], topic: str, partition: int) -> SourceChunk:
        wanted = self._decoder.wanted
        batch = Batch(
            [message.offset() for message in messages],
            [message.value() for message in messages],
            [message.key() for message in messages] if wanted.keys else None,
            [message.timestamp() for message in messages] if wanted.times else None,
            [message.headers() for message in messages] if wanted.headers else None,
            [message.leader_epoch() for message in messages] if wanted.epochs else None,
        )
        return self._decoder.chunk(batch, topic, partition)

    def _messages(self, topic: str, partition: int, start: int, end: int) -> Iterator[list[Any]]:
        """Messages with offsets from ``start`` to ``end``, in pieces."""
        standing = self._standing(topic, partition, start)
        position = start
        heard_s = self._clock.monotonic_s()
        while position < end:
            got = standing.ahead or self._consume(standing, end - position)
            standing.ahead = []
            messages, reached = self._sorted_out(got, standing, topic, partition, position, end)
            inside = messages
            if messages and messages[-1].offset() >= end:
                inside = [message for message in messages if message.offset() < end]
                standing.ahead = messages[len(inside) :]
            if inside:
                size = sum(map(len, inside)) / len(inside)
                standing.message_bytes = max(size, 0.9 * standing.message_bytes, 1.0)
                yield inside
            if messages or reached > position:
                heard_s = self._clock.monotonic_s()
                position = max(reached, messages[-1].offset() + 1 if messages else 0)
                standing.trouble.clear()
            elif self._clock.monotonic_s() - heard_s > PATIENCE_S:
                raise self._gave_up(standing, topic, partition, position, end)
        standing.offset = end
        self._keep(topic, partition, standing)

    def _consume(self, standing: _Standing, left: int) -> list[Any]:
        # No more than there can be: a consume that asks for more waits for what does not come.
        rows = min(left, _BATCH_ROWS_MAX, max(1, int(CHUNK_BYTES / standing.message_bytes)))
        messages: list[Any] = standing.consumer.consume(rows, _WAIT_S)
        if standing.trouble.refused is not None:
            raise explained(
                f"table '{self._table}': it cannot read",
                self._options.servers,
                None,
                standing.trouble,
            )
        return messages

    def _sorted_out(
        self,
        got: list[Any],
        standing: _Standing,
        topic: str,
        partition: int,
        position: int,
        end: int,
    ) -> tuple[list[Any], int]:
        """The real messages, and how far the partition is known to hold no more."""
        if not any(message.error() is not None for message in got):
            return got, 0
        messages, reached = [], 0
        for message in got:
            error: KafkaError | None = message.error()
            if error is None:
                messages.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                reached = max(reached, message.offset())
            elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
                at = messages[-1].offset() + 1 if messages else position
                reached = max(reached, self._skip_lost(standing, topic, partition, at, end))
            elif is_unknown_topic(error) or is_refused(error):
                raise self._refused(error, standing, topic)
        return messages, min(reached, end) if reached else 0

    def _skip_lost(self, standing: _Standing, topic: str, partition: int, at: int, end: int) -> int:
        """Retention has removed what is to be read: stops the job, or goes on behind the gap."""
        first = self._topics.earliest([(topic, partition)]).get((topic, partition))
        if first is None or first <= at:
            raise TrustError(
                f"table '{self._table}': partition {partition} of topic '{topic}' does not reach"
                f" offset {at} any more",
                detail="the brokers have lost rows, or the topic was made anew",
                hint="start anew with another --checkpoint",
            )
        to = min(first, end)
        if self._options.fail_on_data_loss:
            raise TrustError(
                f"table '{self._table}': offsets {at} to {first - 1} of partition {partition} of"
                f" topic '{topic}' are lost",
                detail="retention removed them before they were read",
                hint="to go on without them, and have them reported, set"
                " 'scan.fail-on-data-loss' = 'false'",
            )
        self._lost.setdefault(split_name(topic, partition), []).append((at, to))
        # Not behind the gap, if the epoch ends within it: the next one tells of the rest.
        standing.consumer.assign([TopicPartition(topic, partition, to)])
        return to

    def _refused(self, error: KafkaError, standing: _Standing, topic: str) -> TidegateError:
        if is_unknown_topic(error):
            return TrustError(
                f"topic '{topic}' of table '{self._table}' is gone",
                hint="what was not read of it is lost: start anew with another --checkpoint",
            )
        return explained(
            f"table '{self._table}': it cannot read topic '{topic}'",
            self._options.servers,
            error,
            standing.trouble,
        )

    def _gave_up(
        self, standing: _Standing, topic: str, partition: int, position: int, end: int
    ) -> TidegateError:
        return explained(
            f"table '{self._table}': no row of topic '{topic}', partition {partition}, came for"
            f" {PATIENCE_S:.0f} s, at offset {position} of {end}",
            self._options.servers,
            None,
            standing.trouble,
        )

    def _check_identity(self, topic: str, topic_id: str) -> None:
        found = self._topics.described([topic]).get(topic)
        if found is None or found[0] != topic_id:
            raise TrustError(
                f"topic '{topic}' of table '{self._table}' was deleted"
                f"{'' if found is None else ' and created anew'} while it was read",
                hint="start anew with another --checkpoint",
            )

    def _standing(self, topic: str, partition: int, start: int) -> _Standing:
        """A consumer that gives ``start`` next."""
        key = (self._options.properties.get("bootstrap.servers", ""), self._table, topic, partition)
        standing = _CACHE.pop(key, None)
        if standing is None:
            trouble = Trouble()
            group = self._options.properties.get("group.id", "tidegate")
            extra = {**_CONFIG, "group.id": group}
            standing = _Standing(made(Consumer, config(self._options, trouble, extra)), trouble)
        if standing.offset != start:
            standing.ahead = []
            try:
                standing.consumer.assign([TopicPartition(topic, partition, start)])
            except KafkaException as error:
                raise self._refused(error.args[0], standing, topic) from None
        return standing

    def _keep(self, topic: str, partition: int, standing: _Standing) -> None:
        key = (self._options.properties.get("bootstrap.servers", ""), self._table, topic, partition)
        _CACHE[key] = standing
        while len(_CACHE) > _CONSUMERS_MAX:
            _CACHE.popitem(last=False)[1].consumer.close()


_CACHE: OrderedDict[tuple[str, str, str, int], _Standing] = OrderedDict()
"""This worker's consumers, the one used last at the end."""
