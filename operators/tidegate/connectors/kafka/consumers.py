"""The consumers that a worker keeps: one for each partition that it has read.

A `Cursor` stands where the last epoch of its partition ended, with what the client has fetched
beyond, so the next epoch finds messages waiting. Which worker gets which partition is Spark's
choice. A cursor that stands a little behind, since another worker had the last epoch, leaves out
what it has fetched of that one; where it stands far behind, or ahead, its client is moved. A client
that waits for new messages answers only when its request does (``fetch.wait.max.ms``), so a move
takes 50 ms on average, and leaving out a thousand messages less than one.
``fetch.queue.backoff.ms`` is small, since a moved client waits for that as well.

Not every offset holds a message: control records of transactions, aborted and compacted messages
leave gaps. How far a partition is known to hold no more, the client says once, in an event between
the messages. Such an event is kept as messages are when it reaches beyond the epoch's end: it will
not be said again, and the next epoch would wait for messages that do not exist.

A client is asked by another thread (`quirks.LockedOut`), unless it has just given all that it was
asked for: to do so always would cost a sixth of the time for reading, since messages would be made
on one core and read on another. What is left is a lock-out in the same moment in which a full queue
is read, which only a health check from outside would end. A cursor that nobody holds lets it go.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tidegate.clock import Clock, SystemClock
from tidegate.connectors.kafka.client import Trouble, made
from tidegate.connectors.kafka.options import KafkaOptions
from tidegate.connectors.kafka.patience import USUAL, KafkaPatience
from tidegate.connectors.kafka.quirks import AssignStopsAll, LockedOut

PIECE_BYTES_MAX: Final = 16 << 20
_PIECE_ROWS_MAX: Final = 500
"""Messages that one call takes: small enough that their memory stays in the CPU's cache."""
_UNSEEN_BYTES: Final = float(1 << 20)
"""Of a message, before the first has come: what brokers take at most, unless told otherwise."""
_CURSORS_MAX: Final = 32
_QUEUE_KIB: Final = 8 << 10

_CONFIG: Final[Mapping[str, Any]] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "check.crcs": True,  # as Java's client does; it costs nothing that can be measured
    "enable.partition.eof": True,
    "fetch.queue.backoff.ms": 5,
    "fetch.wait.max.ms": 100,
    "queued.max.messages.kbytes": _QUEUE_KIB,
    "queued.min.messages": 100_000,
}


@dataclass(frozen=True, slots=True)
class CursorKey:
    """Which cursor may serve. What was fetched with other properties, or of a topic that was there
    before under the same name, is something else."""

    properties: tuple[tuple[str, str], ...]
    table: str
    topic: str
    topic_id: str
    partition: int


class Cursor:
    """A consumer of one partition, which gives each of its messages once, in order.

    ``offset`` is where it stands: what is below was given, or does not exist.
    """

    def __init__(
        self,
        consumer: Any,
        trouble: Trouble,
        topic: str,
        partition: int,
        clock: Clock | None = None,
        patience: KafkaPatience = USUAL,
    ) -> None:
        self.offset = -1
        self.trouble = trouble
        self.message_bytes = 256.0
        """About the size of a message."""
        self._has_read = False
        self._consumer = consumer
        self._topic, self._partition = topic, partition
        self._ahead: list[Any] = []
        self._next = -1  # the client's next offset, but for what is in _ahead
        self._clock = clock or SystemClock()
        self._gave_all_s = float("-inf")
        self._patience = patience
        self._lock = LockedOut(consumer, patience.locked_out_s, trouble.stick)

    def stand_at(self, offset: int) -> None:
        """Goes to ``offset``. Raises KafkaException."""
        between = offset - self.offset
        if 0 <= between <= (_QUEUE_KIB << 10) / self.message_bytes and self.offset >= 0:
            self.offset = offset
        else:
            self.move(offset)

    def move(self, offset: int) -> None:
        """Stands at ``offset``; what was fetched is forgotten. Raises KafkaException."""
        self._ahead = []
        place = TopicPartition(self._topic, self._partition, offset)
        is_new = self.offset < 0  # and has nothing to be locked out of
        if is_new or AssignStopsAll.lives(self._lock, self._consumer, place):
            self._consumer.assign([place])
        self.offset = self._next = offset

    def take(self, end: int) -> list[Any]:
        """The next messages below ``end``, none if none has come within a moment.

        Messages before an error are given before it is told. Raises KafkaException.
        """
        got = self._ahead or self._consume(end)
        self._ahead = []
        if not got:
            return got
        plain = not any(map(Message.error, got))
        if plain and got[-1].offset() < self.offset:
            return []
        if plain and got[0].offset() >= self.offset and got[-1].offset() < end:
            self.offset = got[-1].offset() + 1
            return got
        return self._sorted_out(got, end)

    def learn(self, message_bytes: float) -> None:
        """Messages were of this size, on average: the next call takes no more than a piece."""
        before = 0.9 * self.message_bytes if self._has_read else 0.0
        self.message_bytes, self._has_read = max(message_bytes, before, 1.0), True

    def close(self) -> None:
        """Lets the client go, if it is not locked out. The cursor cannot be used any more."""
        self._lock.leave()

    def _consume(self, end: int) -> list[Any]:
        # No more than there can be: a call that asks for more waits for what does not come.
        each = self.message_bytes if self._has_read else _UNSEEN_BYTES
        most = min(end - self._next, _PIECE_ROWS_MAX, int(PIECE_BYTES_MAX / each))
        rows = max(1, most)

        def ask() -> list[Any]:
            got: list[Any] = self._consumer.consume(rows, self._patience.moment_s)
            return got

        if self._lock.is_so:
            self._clock.sleep(self._patience.moment_s)
            return []
        flows = self._clock.monotonic_s() - self._gave_all_s < self._patience.flows_s
        got = ask() if flows else self._lock.asked(ask) or []
        self._gave_all_s = self._clock.monotonic_s() if len(got) >= rows else float("-inf")
        for message in reversed(got):
            if message.error() is None or message.error().code() == KafkaError._PARTITION_EOF:
                self._next = message.offset() + (message.error() is None)
                break
        return got

    def _sorted_out(self, got: list[Any], end: int) -> list[Any]:
        messages: list[Any] = []
        for index, message in enumerate(got):
            error: KafkaError | None = message.error()
            is_end = error is not None and error.code() == KafkaError._PARTITION_EOF
            at = message.offset()
            if (error is None and at >= end) or (is_end and at > end):
                self._ahead, self.offset = got[index:], end
                break
            if error is None:
                if at >= self.offset:
                    messages.append(message)
                    self.offset = at + 1
            elif is_end:
                self.offset = max(self.offset, at)
            elif messages:
                self._ahead = got[index:]
                break
            else:
                self._ahead = got[index + 1 :]
                raise KafkaException(error)
        return messages


class Consumers:
    """The cursors of a worker, that used last at the end."""

    def __init__(self, most: int = _CURSORS_MAX, patience: KafkaPatience = USUAL) -> None:
        self._most, self._patience = most, patience
        self._cursors: OrderedDict[CursorKey, Cursor] = OrderedDict()

    def cursor(self, key: CursorKey, options: KafkaOptions, offset: int) -> Cursor:
        """A cursor that stands at ``offset``. It is the caller's until it is given back.

        Raises KafkaException, and OptionsError when a property is wrong.
        """
        cursor = self._cursors.pop(key, None)
        if cursor is None:
            trouble, place = Trouble(), (key.topic, key.partition)
            group = options.properties.get("group.id", "tidegate")
            client = made(Consumer, options, trouble, {**_CONFIG, "group.id": group})
            cursor = Cursor(client, trouble, *place, patience=self._patience)
        cursor.stand_at(offset)
        return cursor

    def keep(self, key: CursorKey, cursor: Cursor) -> None:
        """Gives ``cursor`` back."""
        if cursor.trouble.is_stuck:
            cursor.close()
            return
        self._cursors[key] = cursor
        while len(self._cursors) > self._most:
            self._cursors.popitem(last=False)[1].close()


WORKER: Final = Consumers()
"""Those of this process."""
