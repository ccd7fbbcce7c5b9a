"""What librdkafka 2.16 and confluent-kafka 2.16 do wrong, or oddly, and what we do about it.

A class each, with the number of its issue where there is one: the day it is fixed it goes, with
what calls it. ``tell`` says of a client that another one must take its place (`Trouble.stick`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Thread, local
from typing import Any, Final, TypeVar
from weakref import finalize

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from tidegate.clock import Clock

_T = TypeVar("_T")


class MissedLeader(logging.Logger):
    """librdkafka's issue 5430. Told that a partition has no leader for now, a client never hears of
    the next one, and waits for ever. It speaks of that in its log alone: this one, which is kept
    from everybody else."""

    _WORDS: Final = "not found in cache"

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__("tidegate.kafka")
        self._tell = tell

    def handle(self, record: logging.LogRecord) -> None:
        if self._WORDS in record.getMessage():
            self._tell()


class LockedOut:
    """librdkafka's issue 5476. A consumer whose broker goes, or is let in again, may lock itself
    out, and says nothing of that: whatever gives out a message, moves or ends it from then on never
    returns. So it is asked by another thread, and left without waiting for its end."""

    def __init__(self, consumer: Any, limit_s: float, tell: Callable[[], None]) -> None:
        self.is_so = False
        self._limit_s, self._tell = limit_s, tell
        self.leave = finalize(self, self.let_go, consumer)
        self.leave.atexit = False  # a worker's process ends without looking back

    def asked(self, ask: Callable[[], _T]) -> _T | None:
        """The client's answer; None when it is locked out: from here on it is not asked."""
        if self.is_so:
            return None
        try:
            return in_time(ask, self._limit_s)
        except KafkaException as error:
            if error.args[0].code() != KafkaError._TIMED_OUT:
                raise
        self.is_so = True
        self.leave.detach()  # to end it would be to ask it
        self._tell()
        return None

    @staticmethod
    def let_go(consumer: Any) -> None:
        """Ends a consumer, some time: nothing depends on it."""

        def end(consumer: Any) -> None:
            with suppress(KafkaException, RuntimeError):  # it has ended already
                consumer.close()

        Thread(target=end, args=(consumer,), name="kafka-end", daemon=True).start()


class AssignStopsAll:
    """confluent-kafka's issue 1023. While ``assign`` waits no thread of this process gets on, so no
    limit holds for it. A call that needs the same lock, and stops nobody, comes before it."""

    @staticmethod
    def lives(client: LockedOut, consumer: Any, place: TopicPartition) -> bool:
        """Whether ``assign`` may be called."""

        def seek() -> bool:
            with suppress(KafkaException):  # it has not begun to fetch
                consumer.seek(place)
            return True

        return client.asked(seek) is not None


class EndlessOffsets:
    """librdkafka's issues 5456 and 5511. Offsets are sent without a limit to a group's coordinator
    that the client has known and that the cluster has forgotten. The next fence makes the producer
    that is left behind useless."""

    @staticmethod
    def send(producer: Any, offsets: list[TopicPartition], group: Any, limit_s: float) -> None:
        """Makes them part of the transaction. Raises KafkaException, timed out too."""
        in_time(lambda: producer.send_offsets_to_transaction(offsets, group), limit_s)


class ForgottenRequests:
    """When all brokers were away a client drops what it knew of them, and with it requests of a
    transaction, for whose answers it then waits in vain."""

    CONFIG: Final[Mapping[str, str]] = {"metadata.recovery.strategy": "none"}


class LastError:
    """When its time is up a client does not say so, but what it heard last, such as that another
    transaction is still being completed."""

    @staticmethod
    @contextmanager
    def timed_out(
        clock: Clock, limit_s: float, lasts: Callable[[KafkaError], bool]
    ) -> Iterator[None]:
        """Turns them into what they are, if they come when ``limit_s`` is over and don't last."""
        until_s = clock.monotonic_s() + limit_s / 2  # it may count a little faster
        try:
            yield
        except KafkaException as raised:
            error = raised.args[0]
            if lasts(error) or clock.monotonic_s() < until_s:
                raise
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, error.str())) from None


class SleepyFence:
    """``init_transactions`` sleeps half a second where nothing but an address of the options is
    connected, from which the answer to a first question may come. So a second one is asked."""

    @staticmethod
    def connect(producer: Any, topic: str, limit_s: float) -> Any:
        """Waits for a connection; gives what is known of the topic."""
        producer.list_topics(topic, timeout=limit_s)
        return producer.list_topics(topic, timeout=limit_s).topics[topic]


class FatalCallback:
    """confluent-kafka's issue 865. A fatal error, such as that it was fenced, is raised in the
    midst of callbacks, and a SystemError comes of that. The client never lets go of either, nor
    they of the frames that hold an epoch's rows."""

    @staticmethod
    def cause(raised: SystemError) -> KafkaError | None:
        """What it was, without the frames; None: something else."""
        fatal = raised.__cause__
        if not isinstance(fatal, KafkaException):
            return None
        raised.__traceback__ = fatal.__traceback__ = None
        error: KafkaError = fatal.args[0]
        return error


class BrokenLogin:
    """librdkafka's issue 5003. A connection that goes while it logs in has a refusal's code."""

    @staticmethod
    def is_it(error: KafkaError) -> bool:
        return "failed: Local: " in error.str()


class NeedlessGroup:
    """A consumer looks for its group though it is assigned by hand, and may be refused that."""

    @staticmethod
    def is_it(error: KafkaError) -> bool:
        return error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED


class NoLeader:
    """Without an error ``list_offsets`` gives none, where it found no leader to ask. Another one
    says that a time lies behind the last message."""

    @staticmethod
    def is_it(answer: Any) -> bool:
        return getattr(answer, "offset", 0) < -1


class StaleAdmin:
    """An admin client goes on asking the leader, or a dead broker, that it knew, and lets the
    question's time pass before it asks another. It is not asked again when it got no answer."""

    @staticmethod
    def is_it(took_s: float, slow_s: float) -> bool:
        """Of one that got its answers: the next would take as long."""
        return took_s > slow_s


class _Asker:
    """A thread that asks questions in the place of the one whose it is.

    No pool of the standard library: at the end of the process it would wait for its threads, one
    that hangs in a client among them.
    """

    def __init__(self) -> None:
        self.questions: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        Thread(target=self._ask, args=(self.questions,), name="kafka-calls", daemon=True).start()

    @staticmethod
    def _ask(questions: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]) -> None:
        while (question := questions.get()) is not None:
            try:
                question[0].set_result(question[1]())
            except Exception as error:  # whatever it is: it is raised in the thread that waits
                question[0].set_exception(error)
            del question  # it may hold a client, its answer an epoch's messages

    def __del__(self) -> None:
        self.questions.put(None)


_OF_THREAD: Final = local()


def in_time(ask: Callable[[], _T], seconds: float) -> _T:
    """The answer of ``ask``, which is given up when it takes longer.

    Raises KafkaException (timed out) then. The thread that is left behind is in the client, which
    must not be used any more, nor ended. Each thread keeps one that asks for it: to make one each
    time takes ten times as long.
    """
    asker = getattr(_OF_THREAD, "asker", None) or _Asker()
    _OF_THREAD.asker = None  # whoever leaves without an answer leaves the asker, too
    answer: Future[_T] = Future()
    asker.questions.put((answer, ask))
    try:
        return answer.result(seconds)
    except TimeoutError:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from None
    finally:
        if answer.done():
            _OF_THREAD.asker = asker
        del answer  # an error would hold it, and be held by it
