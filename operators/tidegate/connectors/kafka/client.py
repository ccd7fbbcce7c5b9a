"""Clients of a cluster: how they are made, and what their errors mean to a user.

librdkafka tells of trouble in two ways: results of calls, and events in the background ("no broker
can be reached", "authentication failed") while it tries again. `Trouble` collects the latter, so
that a wait that ends in vain can say why.

Of one kind of trouble a client speaks in its log alone, and does not recover from it: told that a
partition has no leader for now, it never hears of the next one (librdkafka 2.16, its issue 5430).
Then `Trouble.is_stuck`, and another client must take its place.

Of another kind it does not speak at all. A consumer whose broker goes, or is let in again, may lock
itself out (librdkafka 2.16, its issue 5476): whatever gives out a message, moves or ends it from
then on never returns. So what might wait for ever is asked `in_time`, and a client is left by
`let_go`.

    authentication or authorisation refused     OptionsError (2): the file's credentials are wrong
    unknown topic                               OptionsError (2)
    no broker can be reached                    RunError (1): it may be there the next time
    topic recreated, offsets lost               TrustError (4), raised by planner and reader
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread, local
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaError, KafkaException

from tidegate.connectors.kafka.options import KafkaOptions
from tidegate.connectors.secrets import resolved
from tidegate.errors import OptionsError, RunError, TidegateError

REQUEST_S: Final = 10.0
"""How long one question to the cluster may take."""

_T = TypeVar("_T")

_MISSED: Final = "not found in cache"
"""How a client says that it leaves out the news of a partition's leader."""

_REFUSED: Final = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError._SSL,
    }
)
_BROKEN_OFF: Final = "failed: Local: "
"""So the client says, with the code of a refusal, that the connection went."""
_UNKNOWN_TOPIC: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.UNKNOWN_TOPIC_ID,
    }
)


@dataclass(slots=True)
class Trouble:
    """What a client said in the background since the last `clear`. It is its ``error_cb``."""

    refused: KafkaError | None = None
    last: KafkaError | None = None
    is_stuck: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def __call__(self, error: KafkaError) -> None:
        # That none of the brokers is left says less than why the last one went.
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self.last = error
        # A group is looked for by every consumer, and needed by none of ours.
        if is_refused(error) and error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
            self.refused = error

    def clear(self) -> None:
        """Forgets what was said. It stays stuck."""
        self.refused = self.last = None

    def reason(self, error: KafkaError | None = None) -> str:
        """The last word, else ``error``, without secrets."""
        told = self.refused or self.last or error
        return "" if told is None else self.masked(told.str())

    def masked(self, text: str) -> str:
        """``text`` without secrets."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


class _Ear(logging.Handler):
    """Hears what a client says in its log, and keeps it to itself."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__()
        self._trouble = trouble

    def emit(self, record: logging.LogRecord) -> None:
        if _MISSED in record.getMessage():
            self._trouble.is_stuck = True


def _log_of(trouble: Trouble) -> logging.Logger:
    log = logging.Logger("tidegate.kafka")  # known to nobody else
    log.addHandler(_Ear(trouble))
    return log


def config(options: KafkaOptions, trouble: Trouble, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a client: the table's properties, resolved, then ``extra``.

    Raises OptionsError when a reference names nothing.
    """
    values: dict[str, str] = {}
    secrets: set[str] = set()
    for name, value in options.properties.items():
        try:
            values[name], found = resolved(value)
        except OptionsError as error:
            message = f"option 'properties.{name}': {error.message}"
            raise OptionsError(message, hint=error.hint) from None
        secrets |= found
    # The longest first: one may be a part of another.
    trouble.secrets = tuple(sorted(secrets, key=len, reverse=True))
    ours = {"logger": _log_of(trouble), "socket.keepalive.enable": True}
    # A broker that is restarted is there again within seconds.
    ours |= {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 2_000}
    return {**ours, **values, **extra, "error_cb": trouble}


def made(kind: Any, configuration: Mapping[str, Any]) -> Any:
    """A client of class ``kind``. Raises OptionsError when a property is unknown or wrong."""
    try:
        return kind(dict(configuration))
    except (KafkaException, TypeError, ValueError) as error:
        problem = error.args[0]
        text = problem.str() if isinstance(problem, KafkaError) else str(problem)
        trouble = configuration.get("error_cb")
        if isinstance(trouble, Trouble):
            text = trouble.masked(text)
        raise OptionsError(
            f"the Kafka client refuses the table's properties: {text}",
            hint="properties.* are librdkafka's: see its CONFIGURATION.md",
        ) from None


class _Asker:
    """A thread that asks questions in the place of the one whose it is.

    No pool of the standard library: at the end of the process it would wait for its threads, one
    that hangs in a client among them.
    """

    def __init__(self) -> None:
        self._questions: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self._answers: SimpleQueue[tuple[Any, Exception | None]] = SimpleQueue()
        queues = self._questions, self._answers
        Thread(target=_ask_all, args=queues, name="kafka-calls", daemon=True).start()

    def ask(self, question: Callable[[], Any], seconds: float) -> tuple[Any, Exception | None]:
        """The answer, or the error. Raises Empty when there is none in time."""
        self._questions.put(question)
        return self._answers.get(timeout=seconds)

    def __del__(self) -> None:
        self._questions.put(None)


def _ask_all(
    questions: SimpleQueue[Callable[[], Any] | None],
    answers: SimpleQueue[tuple[Any, Exception | None]],
) -> None:
    while (question := questions.get()) is not None:
        answer: tuple[Any, Exception | None]
        try:
            answer = question(), None
        except Exception as error:  # whatever it is: it is raised again in the thread that waits
            answer = None, error
        del question  # it may hold a client, an answer an epoch's messages
        answers.put(answer)
        del answer


_OF_THREAD: Final = local()


def in_time(ask: Callable[[], _T], seconds: float) -> _T:
    """The answer of ``ask``, which is given up when it takes longer.

    Raises KafkaException (timed out) then. The thread that is left behind is in the client, which
    must not be used any more, nor ended. Each thread keeps one that asks for it: to make one each
    time takes ten times as long.

    No limit holds for calls in which confluent-kafka lets no other thread run, as ``assign``.
    """
    asker = getattr(_OF_THREAD, "asker", None) or _Asker()
    _OF_THREAD.asker = None  # whoever leaves without an answer leaves the asker, too
    try:
        answer, error = asker.ask(ask, seconds)
    except Empty:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from None
    _OF_THREAD.asker = asker
    if error is not None:
        try:
            raise error
        finally:
            del error  # else it would hold itself, and what was asked, by its traceback
    found: _T = answer
    return found


def let_go(consumer: Any) -> None:
    """Ends a consumer without waiting for that: it may take for ever, and nothing depends on it."""

    def end(consumer: Any) -> None:
        with suppress(KafkaException, RuntimeError):  # it has ended already
            consumer.close()

    Thread(target=end, args=(consumer,), name="kafka-end", daemon=True).start()


def is_unknown_topic(error: KafkaError) -> bool:
    """Whether the topic or partition does not exist."""
    return error.code() in _UNKNOWN_TOPIC


def is_refused(error: KafkaError) -> bool:
    """Whether credentials or rights are wrong: trying again does not help.

    A broker that goes away while it is asked for them has refused nothing.
    """
    return error.code() in _REFUSED and _BROKEN_OFF not in error.str()


def explained(
    what: str, servers: str, error: KafkaError | None, trouble: Trouble | None
) -> TidegateError:
    """``what`` failed: the error that says why, with the exit code that fits."""
    trouble = trouble or Trouble()
    detail = trouble.reason(error)
    if (error is not None and is_refused(error)) or trouble.refused is not None:
        return OptionsError(
            f"{what}: the brokers at {servers} refuse it",
            detail=detail,
            hint="check the table's security properties (properties.security.protocol,"
            " properties.sasl.*), and the rights of that user",
        )
    return RunError(
        f"{what}: no answer from the brokers at {servers}",
        detail=detail,
        hint="check properties.bootstrap.servers and properties.security.protocol, and that a"
        " broker is running there",
    )
