"""Messages on their way to a topic: how producers are set up, and what becomes of each message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ConfigResource

from tidegate.clock import SystemClock
from tidegate.connectors.kafka.client import Trouble, explained, is_refused, is_unknown_topic, made
from tidegate.connectors.kafka.encode import Messages
from tidegate.connectors.kafka.options import KafkaSinkOptions
from tidegate.connectors.kafka.patience import USUAL
from tidegate.connectors.kafka.quirks import FatalCallback, ForgottenRequests, SleepyFence
from tidegate.connectors.kafka.topics import Topics
from tidegate.errors import OptionsError, SinkError, TidegateError
from tidegate.patience import Patience, Waiting

_BATCH_BYTES: Final = 1_000_000
_BLOCK_ROWS: Final = 10_000
_IN_FLIGHT_MAX: Final = 200_000
_BY_KEY: Final = -1
"""The partition of a message that the client chooses."""

_DEFAULTS: Final[Mapping[str, Any]] = {
    "partitioner": "murmur2_random",  # Java's: a key goes where other producers put it
    "queue.buffering.max.messages": 2 * _IN_FLIGHT_MAX,
    "queue.buffering.max.kbytes": 256 << 10,
    "linger.ms": 5,
    "message.max.bytes": 32 << 20,  # it is the topic's limit that counts
    "retry.backoff.ms": 5,  # a transaction waits for the end of the one before; it doubles
    "reconnect.backoff.ms": 1,  # a new client waits so long for its second connection
    **ForgottenRequests.CONFIG,
}
_ALIASES: Final[Mapping[str, str]] = {"linger.ms": "queue.buffering.max.ms"}
_OURS: Final[Mapping[str, str]] = {
    "transaction.timeout.ms": "write 'sink.transaction-timeout' instead",
    "delivery.report.only.error": "the sink needs it",
}
_ACKS: Final = ("acks", "request.required.acks")

_PERMANENT: Final = (
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_TIMESTAMP,
    KafkaError.POLICY_VIOLATION,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.INVALID_TRANSACTION_TIMEOUT,
    KafkaError.INVALID_REQUIRED_ACKS,
    KafkaError.UNSUPPORTED_COMPRESSION_TYPE,
    KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    KafkaError.UNSUPPORTED_VERSION,
    KafkaError._INVALID_ARG,
    KafkaError._UNSUPPORTED_FEATURE,
)
_HINTS: Final[Mapping[int, str]] = {
    KafkaError.MSG_SIZE_TOO_LARGE: "raise the topic's max.message.bytes, or lower"
    " properties.batch.size where rows are small",
    KafkaError.INVALID_TIMESTAMP: "the topic takes no times that lie further back, or ahead, than"
    " its message.timestamp.before.max.ms and message.timestamp.after.max.ms",
    KafkaError.INVALID_TRANSACTION_TIMEOUT: "'sink.transaction-timeout' is more than the brokers'"
    " transaction.max.timeout.ms",
}


def is_permanent(error: KafkaError) -> bool:
    """Whether the same rows would fail again: they, the topic or our rights are wrong."""
    return error.code() in _PERMANENT or is_unknown_topic(error) or is_refused(error)


def failure(
    table: str, options: KafkaSinkOptions, error: KafkaError, trouble: Trouble
) -> TidegateError:
    """What to tell: rows cannot be written because of ``error``."""
    what = f"table '{table}': rows cannot be written into topic '{options.topic}'"
    if is_refused(error) or trouble.refused is not None:
        return explained(what, options.servers, error, trouble)
    hint = _HINTS.get(error.code(), f"check the topic, and the brokers at {options.servers}")
    if is_unknown_topic(error) or (error.code() not in _HINTS and _is_gone(table, options)):
        hint = "it is gone: make it again, and start the job again"
    return SinkError(what, detail=trouble.masked(error.str()), hint=hint)


def _is_gone(table: str, options: KafkaSinkOptions) -> bool:
    """Whether the topic is: the client gives many reasons for not writing into it."""
    try:
        return options.topic not in Topics(table, options).described([options.topic])
    except TidegateError:
        return False


def check_properties(table: str, options: KafkaSinkOptions) -> None:
    """Raises OptionsError for properties that are the sink's own, or break what it promises."""
    given = options.properties
    for name in sorted(_OURS.keys() & given.keys()):
        raise OptionsError(f"table '{table}': 'properties.{name}' cannot be set: {_OURS[name]}")
    for name in _ACKS:
        if given.get(name, "all") not in ("all", "-1") and options.guarantee != "none":
            raise OptionsError(
                f"table '{table}': 'properties.{name}' = '{given[name]}' does not go with"
                f" 'sink.delivery-guarantee' = '{options.guarantee}'",
                hint="leave it out: a row counts as written when all replicas have it",
            )
    extra = {"transactional.id": "none"} if options.guarantee == "exactly-once" else {}
    Sender.of(options, {}, extra)


class Failed(Exception):  # noqa: N818 -- not for users, who are told `failure`
    """Something that Kafka did not do, and what the client said in the background."""

    def __init__(self, error: KafkaError, trouble: Trouble) -> None:
        super().__init__(error)
        self.error = error
        self.trouble = trouble


@contextmanager
def failing(trouble: Trouble) -> Iterator[None]:
    """Turns what the client raises into `Failed`."""
    try:
        yield
    except KafkaException as raised:
        raise Failed(raised.args[0], trouble) from None
    except SystemError as raised:
        error = FatalCallback.cause(raised)
        if error is None:
            raise
        raise Failed(error, trouble) from None


def batch_bytes(options: KafkaSinkOptions, patience: Patience) -> int:
    """How large a batch may be: a topic takes none beyond its ``max.message.bytes``.

    The client's usual size where brokers don't tell.
    """
    client = made(AdminClient, options, Trouble(), {})
    topic = ConfigResource(ConfigResource.Type.TOPIC, options.topic)
    try:
        asked = client.describe_configs([topic], request_timeout=patience.in_all_s)
        (future,) = asked.values()
        return min(_BATCH_BYTES, int(future.result()["max.message.bytes"].value))
    except (KafkaException, KeyError):
        return _BATCH_BYTES


@dataclass(slots=True)
class _Undelivered:
    """The producer's callback: why a message was given up, the telling reason of several."""

    error: KafkaError | None = None

    def __call__(self, error: KafkaError | None, message: Any) -> None:
        del message
        if error is not None and (self.error is None or not is_permanent(self.error)):
            self.error = error


@dataclass(frozen=True, slots=True)
class Sender:
    """A producer, what it said, and what it did not deliver. It is to be used in `failing`."""

    producer: Any
    trouble: Trouble
    undelivered: _Undelivered

    @classmethod
    def of(
        cls, options: KafkaSinkOptions, usual: Mapping[str, Any], extra: Mapping[str, Any]
    ) -> Sender:
        """A new one: what is ``usual``, over it the table's properties, over them ``extra``.

        Raises OptionsError when the properties are wrong.
        """
        given = options.properties
        defaults = {
            name: value
            for name, value in {**_DEFAULTS, **usual}.items()
            if name not in given and _ALIASES.get(name) not in given
        }
        trouble, undelivered = Trouble(), _Undelivered()
        forced = {"delivery.report.only.error": True, "on_delivery": undelivered}
        client = made(Producer, options, trouble, {**defaults, **extra, **forced})
        return cls(client, trouble, undelivered)

    def connect(self, topic: str, timeout_s: float) -> int:
        """Waits for a connection; gives the topic's number of partitions, 0 if it is unknown."""
        return len(SleepyFence.connect(self.producer, topic, timeout_s).partitions)

    def begin(self) -> None:
        """Forgets what was said of earlier messages."""
        self.trouble.clear()
        self.undelivered.error = None

    def send(self, topic: str, part: Messages, partitions: Iterable[int] | None) -> None:
        """Hands over messages, in order; they are delivered when `drain` returns.

        ``partitions`` has that of each message; None: the client chooses, by key.
        """
        produce: Callable[..., None] = self.producer.produce

        def put(row: tuple[Any, ...]) -> None:
            produce(*row)  # a keyword would cost half as much again

        def put_all(row: tuple[Any, ...]) -> None:
            produce(*row[2:], timestamp=row[0], headers=row[1])

        columns: list[Iterable[Any]] = [repeat(topic), part.values]
        columns.append(repeat(None) if part.keys is None else part.keys)
        columns.append(repeat(_BY_KEY) if partitions is None else partitions)
        if part.times_ms is not None or part.headers is not None:
            put = put_all
            headers = repeat([]) if part.headers is None else part.headers
            columns = [repeat(0) if part.times_ms is None else part.times_ms, headers, *columns]
        rows = zip(*columns, strict=False)  # repetitions have no end
        while block := list(islice(rows, _BLOCK_ROWS)):
            for row in block:
                try:
                    put(row)
                except BufferError:
                    self._put_when_there_is_room(put, row)
            self._wait_for_room(_IN_FLIGHT_MAX)

    def drain(self, patience: Patience = USUAL.delivery) -> None:
        """Waits until every message is delivered, or one is given up."""
        waiting, left, still = Waiting(patience, SystemClock()), 0, 0
        while True:
            before, left = left, self.producer.flush(waiting.try_s)
            still = still + 1 if left == before else 0
            is_stuck = self.trouble.is_stuck and still >= USUAL.stuck_tries
            given_up = is_stuck or self.undelivered.error is not None
            if not left or given_up or not waiting.again():
                break
        self._raise_undelivered()
        if left:
            raise KafkaException(KafkaError(KafkaError._MSG_TIMED_OUT))

    def _put_when_there_is_room(self, put: Callable[[Any], None], row: Any) -> None:
        while True:
            self._wait_for_room(len(self.producer) // 2)
            try:
                put(row)
            except BufferError:
                continue
            return

    def _wait_for_room(self, most: int) -> None:
        """Until no more than ``most`` messages are on their way."""
        self.producer.poll(0)
        while len(self.producer) > most and self.undelivered.error is None:
            if self.trouble.is_stuck:
                self.drain()
            self.producer.poll(0.05)
        self._raise_undelivered()

    def _raise_undelivered(self) -> None:
        if self.undelivered.error is not None:
            raise KafkaException(self.undelivered.error)
