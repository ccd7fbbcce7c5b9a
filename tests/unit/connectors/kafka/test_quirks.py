"""What is done about each oddity of the client, without a client; with real ones: tests/kafka."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any
from weakref import ref

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from spark.processes import wait_until
from tidegate.clock import ManualClock
from tidegate.connectors.kafka.quirks import (
    AssignStopsAll,
    BrokenLogin,
    EndlessOffsets,
    FatalCallback,
    ForgottenRequests,
    LastError,
    LockedOut,
    MissedLeader,
    NeedlessGroup,
    NoLeader,
    SleepyFence,
    StaleAdmin,
    in_time,
)

TIMED_OUT = KafkaError._TIMED_OUT
PLACE = TopicPartition("t", 0, 5)


class Asked:
    """Something that a question holds."""


@contextmanager
def code(expected: int) -> Iterator[None]:
    with pytest.raises(KafkaException) as caught:
        yield
    assert caught.value.args[0].code() == expected


@pytest.fixture
def freed() -> Iterator[threading.Event]:
    """What a call that never returns waits for."""
    event = threading.Event()
    yield event
    event.set()


def test_a_call_gives_its_answer_or_its_error() -> None:
    def fails() -> None:
        raise KafkaException(KafkaError(KafkaError.NOT_COORDINATOR))

    assert in_time(lambda: 5, 10.0) == 5
    with code(KafkaError.NOT_COORDINATOR):
        in_time(fails, 10.0)
    threads = {in_time(threading.get_ident, 10.0) for _ in range(3)}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_a_call_that_does_not_end_is_left_behind(freed: threading.Event) -> None:
    busy = in_time(threading.get_ident, 10.0)
    with code(TIMED_OUT):
        in_time(freed.wait, 0.01)
    assert in_time(threading.get_ident, 10.0) != busy


@pytest.mark.parametrize("fails", [False, True])
def test_a_call_keeps_nothing_alive(fails: bool) -> None:
    held = Asked()

    def ask(held: Asked = held) -> Asked:
        if fails:
            raise KafkaException(KafkaError(TIMED_OUT))
        return held

    gc.disable()  # no circle may have to be found
    try:
        with suppress(KafkaException):
            assert in_time(ask, 10.0) is held
        known = ref(held)
        del held, ask
        wait_until(lambda: known() is None, "nobody holds it")
    finally:
        gc.enable()


def test_a_consumer_that_is_locked_out_is_not_asked_again(freed: threading.Event) -> None:
    told: list[str] = []
    consumer = SimpleNamespace(seek=lambda _: freed.wait(), close=lambda: told.append("closed"))
    client = LockedOut(consumer, 0.01, lambda: told.append("stuck"))
    assert client.asked(lambda: 5) == 5
    with code(KafkaError._STATE):
        client.asked(raising(KafkaError._STATE))
    assert not client.is_so
    assert not AssignStopsAll.lives(client, consumer, PLACE)
    assert client.is_so
    assert client.asked(lambda: 5) is None
    client.leave()
    assert told == ["stuck"], "it is not ended"


def test_a_consumer_that_is_not_locked_out_ends_with_who_has_it() -> None:
    told: list[str] = []
    consumer = SimpleNamespace(seek=lambda _: raising(KafkaError._STATE)(), close=told.clear)
    client = LockedOut(consumer, 10.0, lambda: told.append("stuck"))
    assert AssignStopsAll.lives(client, consumer, PLACE), "it has only not begun to fetch"
    told.append("open")
    del client
    wait_until(lambda: not told, "it has ended")


def raising(code: int, text: str = "") -> Callable[[], None]:
    def fails() -> None:
        raise KafkaException(KafkaError(code, text))

    return fails


def test_a_client_says_in_its_log_that_it_missed_a_leader(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told: list[bool] = []
    log = MissedLeader(lambda: told.append(True))
    log.warning("%s", "[thrd:main]: 1/1 brokers are down")
    assert not told
    log.warning("%s", "Partition in(zaQP)[5]: new leader-1 not found in cache")
    assert told == [True]
    assert capsys.readouterr() == ("", "")


def test_offsets_are_not_sent_without_end(freed: threading.Event) -> None:
    sent: list[Any] = []
    producer = SimpleNamespace(send_offsets_to_transaction=lambda *what: sent.append(what))
    EndlessOffsets.send(producer, [PLACE], "group", 10.0)
    assert sent == [([PLACE], "group")]
    producer.send_offsets_to_transaction = lambda *_: freed.wait()
    with code(TIMED_OUT):
        EndlessOffsets.send(producer, [PLACE], "group", 0.01)


@pytest.mark.parametrize(
    ("said", "after_s", "heard"),
    [
        (KafkaError.CONCURRENT_TRANSACTIONS, 5.0, TIMED_OUT),
        (KafkaError.CONCURRENT_TRANSACTIONS, 2.5, TIMED_OUT),
        (KafkaError.CONCURRENT_TRANSACTIONS, 2.4, KafkaError.CONCURRENT_TRANSACTIONS),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, 5.0, KafkaError.TOPIC_AUTHORIZATION_FAILED),
        (TIMED_OUT, 5.0, TIMED_OUT),
    ],
)
def test_what_is_said_when_time_is_up_is_a_silence(said: int, after_s: float, heard: int) -> None:
    clock = ManualClock()

    def lasts(error: KafkaError) -> bool:
        return error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED

    def said_late() -> None:
        with LastError.timed_out(clock, 5.0, lasts):
            clock.sleep(after_s)
            raising(said, "its words")()

    with pytest.raises(KafkaException) as caught:
        said_late()
    error = caught.value.args[0]
    assert (error.code(), error.str()) == (heard, "its words")


def test_a_fatal_error_comes_out_of_a_callback_without_its_frames() -> None:
    def calls_back() -> None:
        try:
            raising(KafkaError._FENCED)()
        except KafkaException as fatal:
            raise SystemError("returned a result with an exception set") from fatal

    with pytest.raises(SystemError) as caught:
        calls_back()
    raised = caught.value
    error = FatalCallback.cause(raised)
    assert error is not None
    assert error.code() == KafkaError._FENCED
    assert raised.__cause__ is not None
    assert raised.__traceback__ is raised.__cause__.__traceback__ is None
    assert FatalCallback.cause(SystemError("another one")) is None


def test_a_connection_is_asked_for_twice() -> None:
    asked: list[tuple[str, float]] = []

    def list_topics(topic: str, timeout: float) -> Any:
        asked.append((topic, timeout))
        return SimpleNamespace(topics={topic: len(asked)})

    assert SleepyFence.connect(SimpleNamespace(list_topics=list_topics), "t", 3.0) == 2
    assert asked == [("t", 3.0)] * 2


def test_answers_and_errors_that_are_not_what_they_seem() -> None:
    refusal = KafkaError._AUTHENTICATION
    assert BrokenLogin.is_it(KafkaError(refusal, "failed: Local: Broker handle destroyed"))
    assert not BrokenLogin.is_it(KafkaError(refusal, "failed: Broker: Invalid password"))
    assert NeedlessGroup.is_it(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    assert not NeedlessGroup.is_it(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    offsets = (-1001, -2, -1, 0, 7)
    given = [NoLeader.is_it(SimpleNamespace(offset=offset)) for offset in offsets]
    assert given == [True, True, False, False, False]
    assert not NoLeader.is_it("a description")
    assert [StaleAdmin.is_it(took_s, 2.0) for took_s in (0.1, 2.0, 2.1)] == [False, False, True]
    assert ForgottenRequests.CONFIG == {"metadata.recovery.strategy": "none"}
