"""A cursor over scripted answers of a client: messages, ends, errors, in every order."""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from spark.processes import wait_until
from tidegate.clock import ManualClock
from tidegate.connectors.kafka.client import Trouble
from tidegate.connectors.kafka.consumers import (
    PIECE_BYTES_MAX,
    Consumers,
    Cursor,
    CursorKey,
)
from tidegate.connectors.kafka.patience import USUAL
from unit.connectors.kafka.kafka_kit import event, message, source_options

LOST = KafkaError._AUTO_OFFSET_RESET


class Script:
    """Stands for a client: gives what it was told to, as much as is asked for."""

    def __init__(self, *answers: Message) -> None:
        self.answers = list(answers)
        self.at: list[int] = []
        self.closed = False

    def assign(self, parts: list[TopicPartition]) -> None:
        self.at += [part.offset for part in parts]

    def seek(self, part: TopicPartition) -> None:
        """As a client that has not begun to fetch."""
        assert part.partition == 0
        raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))

    def consume(self, count: int, timeout: float) -> list[Message]:
        assert count > 0 < timeout
        given, self.answers = self.answers[:count], self.answers[count:]
        return given

    def close(self) -> None:
        self.closed = True


def cursor(*answers: Message, at: int = 0) -> Cursor:
    made = Cursor(Script(*answers), Trouble(), "t", 0)
    made.move(at)
    return made


def offsets(messages: list[Any]) -> list[int]:
    return [message.offset() for message in messages]


def test_messages_as_they_come() -> None:
    standing = cursor(*map(message, range(5)))
    assert offsets(standing.take(3)) == [0, 1, 2]
    assert standing.offset == 3
    assert offsets(standing.take(9)) == [3, 4]
    assert standing.take(9) == []
    assert standing.offset == 5


def test_messages_beyond_the_end_are_kept() -> None:
    standing = cursor(message(0), message(7), message(8), message(9))
    assert offsets(standing.take(4)) == [0]
    assert standing.offset == 4
    assert offsets(standing.take(6)) == []
    assert standing.offset == 6
    assert offsets(standing.take(9)) == [7, 8]
    assert offsets(standing.take(10)) == [9]


def test_an_end_is_as_far_as_there_is_nothing() -> None:
    standing = cursor(message(0), event(5))
    assert offsets(standing.take(6)) == [0]
    assert standing.offset == 5
    assert offsets(cursor(event(5), message(5)).take(6)) == [5]


def test_an_end_beyond_the_epochs_is_not_forgotten() -> None:
    """The client says it once."""
    standing = cursor(message(0), event(20))
    assert offsets(standing.take(5)) == [0]
    for end in (7, 20):
        assert standing.take(end) == []
        assert standing.offset == end
    assert standing.take(21) == []
    assert standing.offset == 20


def test_an_end_behind_messages_beyond_the_epochs_is_not_forgotten() -> None:
    standing = cursor(message(0), message(6), event(20))
    assert offsets(standing.take(5)) == [0]
    assert offsets(standing.take(20)) == [6]
    assert standing.offset == 20


def test_what_lies_behind_the_cursor_is_not_given_again() -> None:
    standing = cursor(message(1), message(2), message(3), event(2), at=3)
    assert offsets(standing.take(9)) == [3]
    assert standing.offset == 4


def test_messages_before_an_error_are_given_before_it_is_told() -> None:
    standing = cursor(message(0), message(1), event(2, LOST), message(5))
    assert offsets(standing.take(9)) == [0, 1]
    with pytest.raises(KafkaException) as caught:
        standing.take(9)
    assert caught.value.args[0].code() == LOST
    assert standing.offset == 2
    assert offsets(standing.take(9)) == [5]


def test_a_cursor_that_is_moved_forgets_what_it_had() -> None:
    standing = cursor(message(0), message(6), message(7))
    assert offsets(standing.take(5)) == [0]
    standing.move(2)
    assert (standing.take(9), standing.offset) == ([], 2)


def test_large_messages_are_taken_one_by_one() -> None:
    standing = cursor(*map(message, range(4)))
    standing.learn(10e6)
    assert offsets(standing.take(4)) == [0]


@pytest.mark.parametrize("seed", range(200))
def test_any_messages_ends_and_epochs(seed: int) -> None:
    rng = random.Random(seed)
    there = sorted(rng.sample(range(60), rng.randrange(1, 40)))
    answers: list[Message] = []
    for offset in there:
        if rng.random() < 0.2:
            answers.append(event(offset))
        answers.append(message(offset))
    standing = cursor(*answers, event(60))
    found: list[int] = []
    end = 0
    while end < 60:
        end = min(60, end + rng.choice([1, 2, 5, 20]))
        before = standing.offset
        while standing.offset < end:
            found += offsets(standing.take(end))
        assert before < standing.offset == end
        assert [offset for offset in there if offset < end] == found, f"seed {seed}"


def key(partition: int = 0, topic_id: str = "id") -> CursorKey:
    return CursorKey((), "table", "t", topic_id, partition)


def test_cursors_are_kept_and_the_oldest_goes() -> None:
    consumers = Consumers(2)
    options = source_options()
    standing = [cursor(at=5) for _ in range(3)]
    for number, each in enumerate(standing):
        consumers.keep(key(number), each)
    assert consumers.cursor(key(2), options, 5) is standing[2]
    assert consumers.cursor(key(1), options, 5) is standing[1]
    wait_until(lambda: standing[0]._consumer.closed, "the oldest has ended")
    assert [each._consumer.closed for each in standing[1:]] == [False, False]
    assert standing[1]._consumer.at == [5]


@pytest.mark.parametrize(
    ("offset", "moves"), [(5, []), (9, []), (30_000, []), (40_000, [40_000]), (4, [4]), (0, [0])]
)
def test_a_kept_cursor_is_moved_only_if_it_stands_elsewhere(offset: int, moves: list[int]) -> None:
    """A little behind is near enough: 8 MB at 256 bytes are 32,768 messages."""
    consumers = Consumers()
    standing = cursor(at=5)
    consumers.keep(key(), standing)
    assert consumers.cursor(key(), source_options(), offset) is standing
    assert standing.offset == offset
    assert standing._consumer.at == [5, *moves]


def test_what_another_worker_has_read_is_left_out() -> None:
    standing = cursor(*map(message, range(5_000)), event(5_000))
    assert offsets(standing.take(10)) == list(range(10))
    standing.stand_at(4_100)
    found = []
    while standing.offset < 5_000:
        before = standing.offset
        found += offsets(standing.take(5_000))
        assert standing.offset > before or before == 4_100
    assert found == list(range(4_100, 5_000))
    assert standing._consumer.at == [0]


def test_what_was_kept_ahead_is_left_out_as_well() -> None:
    standing = cursor(message(0), message(6), message(8), event(20))
    assert offsets(standing.take(5)) == [0]
    standing.stand_at(7)
    assert offsets(standing.take(9)) == [8]
    standing.stand_at(15)
    assert (standing.take(30), standing.offset) == ([], 20)


def test_a_cursor_of_another_topic_of_the_name_does_not_serve() -> None:
    consumers = Consumers()
    old = cursor(at=5)
    consumers.keep(key(topic_id="old"), old)
    new = consumers.cursor(key(topic_id="new"), source_options(), 5)
    assert new is not old
    new.close()


def test_a_cursor_that_is_stuck_is_not_kept() -> None:
    consumers, stuck = Consumers(), cursor()
    stuck.trouble.is_stuck = True
    consumers.keep(key(), stuck)
    wait_until(lambda: stuck._consumer.closed, "its client has ended")
    other = consumers.cursor(key(), source_options(), 3)
    assert other is not stuck
    other.close()


class LockedOut(Script):
    """librdkafka's issue 5476: of what it is asked, nothing comes to an end."""

    def __init__(self, *answers: Message) -> None:
        super().__init__(*answers)
        self.freed = threading.Event()
        self.locks = False
        self.asked = 0
        self.threads: list[int] = []

    def _ask(self) -> None:
        self.asked += 1
        self.threads.append(threading.get_ident())
        if self.locks:
            self.freed.wait()

    def assign(self, parts: list[TopicPartition]) -> None:
        assert not self.locks, "this would stop every thread of the process"
        super().assign(parts)

    def seek(self, part: TopicPartition) -> None:
        self._ask()
        super().seek(part)

    def consume(self, count: int, timeout: float) -> list[Message]:
        self._ask()
        return super().consume(count, timeout)

    def close(self) -> None:
        self._ask()
        super().close()


@pytest.fixture
def locked_out() -> Iterator[LockedOut]:
    """A client that can be locked; nothing waits for it any more when the test has ended."""
    client = LockedOut(*map(message, range(9)))
    yield client
    client.freed.set()


@pytest.mark.slow
@pytest.mark.parametrize("call", ["take", "move"])
def test_a_client_that_is_locked_out_is_stuck_and_not_asked_again(
    locked_out: LockedOut, call: str
) -> None:
    clock = ManualClock()
    standing = Cursor(locked_out, Trouble(), "t", 0, clock, replace(USUAL, locked_out_s=0.1))
    standing.move(0)
    assert offsets(standing.take(2)) == [0, 1]
    clock.sleep(0.2)
    locked_out.locks = True
    asked = locked_out.asked
    if call == "move":
        standing.move(5)
    assert standing.take(9) == []
    assert standing.trouble.is_stuck
    standing.move(7)
    assert (standing.take(9), standing.offset) == ([], 7)
    standing.close()
    del standing
    gc.collect()
    assert locked_out.asked == asked + 1
    assert offsets(cursor(*map(message, range(3))).take(3)) == [0, 1, 2], "others are not waiting"
    assert not locked_out.closed


def test_a_client_that_just_gave_all_is_asked_directly(locked_out: LockedOut) -> None:
    clock = ManualClock()
    standing = Cursor(locked_out, Trouble(), "t", 0, clock)
    standing.move(0)
    for end, pause_s in ((1, 0.0), (2, 0.09), (3, 0.09), (4, 0.1), (11, 0.0), (11, 0.0)):
        clock.sleep(pause_s)
        standing.take(end)
    here = threading.get_ident()
    direct = [thread == here for thread in locked_out.threads]
    # The fourth comes later, the fifth gives less than it could.
    assert direct == [False, True, True, False, True, False]


def test_silence_is_never_all_that_was_asked_for() -> None:
    """Also where messages are so large that a piece has no room for one."""
    client = LockedOut()
    standing = Cursor(client, Trouble(), "t", 0)
    standing.move(0)
    standing.learn(32 << 20)
    for _ in range(3):
        assert standing.take(9) == []
    assert threading.get_ident() not in client.threads


def test_an_error_of_the_client_holds_no_cursor() -> None:
    client = Script(event(0, LOST))
    standing = Cursor(client, Trouble(), "t", 0)
    standing.move(0)
    gc.disable()
    try:
        with suppress(KafkaException):
            standing.take(9)
        del standing
        wait_until(lambda: client.closed, "its client has ended", 10)
    finally:
        gc.enable()


@pytest.mark.slow
def test_a_cursor_that_nobody_holds_lets_its_client_go() -> None:
    client = Script()
    standing = Cursor(client, Trouble(), "t", 0)
    standing.move(0)
    del standing
    gc.collect()
    wait_until(lambda: client.closed, "its client has ended")


def test_few_messages_are_asked_for_before_their_size_is_known() -> None:
    standing = cursor(*map(message, range(1_000)))
    assert len(standing.take(1_000)) == PIECE_BYTES_MAX >> 20
    standing.learn(100)
    assert len(standing.take(1_000)) == 500
