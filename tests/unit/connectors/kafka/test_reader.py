"""What the reader makes of what a client says, also of what a real one says seldom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message

from spark.processes import wait_until
from tidegate.clock import ManualClock
from tidegate.connectors.kafka.client import Trouble
from tidegate.connectors.kafka.consumers import Consumers, Cursor, CursorKey
from tidegate.connectors.kafka.options import KafkaOptions
from tidegate.connectors.kafka.patience import USUAL
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.connectors.kafka.topics import Partition
from tidegate.engine.engine import Engine
from tidegate.errors import OptionsError, RunError, TidegateError, TrustError
from tidegate.ports import Position, SplitRange
from tidegate.types import OFFSET
from unit.connectors.kafka.kafka_kit import event, message, table

ENGINE = Engine()
LOST = KafkaError._AUTO_OFFSET_RESET
PATIENCE_S = USUAL.hearing.in_all_s


@dataclass
class Cluster:
    """In the place of a client and of `Topics`. Silence takes time."""

    answers: list[Message]
    topic_id: str | None = "id"
    first: int = 0
    end: int = 100
    away: int = 0  # questions that are not answered
    clock: ManualClock = field(default_factory=ManualClock)
    moves: list[int] = field(default_factory=list)
    on_move: Callable[[int], Sequence[Message]] = lambda _: ()
    on_made: Callable[[int], Sequence[Message]] = lambda _: ()
    on_described: Callable[[], None] = lambda: None
    closed: int = 0

    def close(self) -> None:
        self.closed += 1

    def assign(self, parts: list[Any]) -> None:
        self.moves += [part.offset for part in parts]
        self.answers += self.on_move(parts[0].offset)

    def seek(self, part: Any) -> None:
        assert part.topic == "t"

    def consume(self, count: int, timeout: float) -> list[Message]:
        given, self.answers = self.answers[:count], self.answers[count:]
        self.clock.sleep(0 if given else 100 * timeout)
        return given

    def _asked(self) -> None:
        if self.away:
            self.away -= 1
            self.clock.sleep(10)
            raise RunError("no answer")

    def described(self, names: list[str]) -> dict[str, tuple[str, int]]:
        self._asked()
        self.on_described()
        return {} if self.topic_id is None else dict.fromkeys(names, (self.topic_id, 1))

    def earliest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        self._asked()
        return dict.fromkeys(partitions, self.first)

    def latest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        self._asked()
        return dict.fromkeys(partitions, self.end)


class Workers(Consumers):
    """Its cursors ask the cluster of the test."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self.cluster = cluster
        self.made: list[Cursor] = []
        self.kept: list[Cursor] = []

    def cursor(self, key: CursorKey, options: KafkaOptions, offset: int) -> Cursor:
        assert dict(key.properties) == options.properties
        assert (key.table, key.topic, key.topic_id, key.partition) == ("t", "t", "id", 0)
        made = Cursor(self.cluster, Trouble(), key.topic, key.partition)
        made.offset = offset
        self.cluster.answers += self.cluster.on_made(offset)
        self.made.append(made)
        return made

    def keep(self, key: CursorKey, cursor: Cursor) -> None:
        assert key.topic_id == "id"
        self.kept.append(cursor)


class Reading:
    """One epoch of the split ``t-0``."""

    def __init__(self, cluster: Cluster, **options: Any) -> None:
        self.workers = Workers(cluster)
        self.reader = KafkaReader(
            table(("a", "BIGINT"), **options), ENGINE, cluster.clock, self.workers
        )
        self.reader._topics = cluster  # type: ignore[assignment]

    def read(self, end: int, start: int = 0) -> list[int]:
        at: Position = [start, "id", -1, 0] if start else None
        chunks = self.reader.read([SplitRange("t-0", at, [end, "id", -1, 0])])
        return [offset for _, chunk in chunks for offset in chunk.data[OFFSET].to_pylist()]

    def raised(self, end: int) -> TidegateError:
        with pytest.raises(TidegateError) as caught:
            self.read(end)
        assert all(cursor.offset >= end for cursor in self.workers.kept)
        return caught.value


def messages(*offsets: int) -> list[Message]:
    return [message(offset, b'{"a": 1}') for offset in offsets]


def test_an_epoch_ends_with_its_last_message_or_behind_it() -> None:
    reading = Reading(Cluster([*messages(0, 1, 5), event(9)]))
    assert reading.read(4) == [0, 1]
    assert reading.workers.kept == reading.workers.made
    assert Reading(Cluster([*messages(0, 1), event(9)])).read(9) == [0, 1]
    assert Reading(Cluster(messages(0))).read(0) == []
    assert Reading(Cluster(messages(5))).read(6, start=5) == [5]


@pytest.mark.parametrize(
    ("code", "kind", "told"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, OptionsError, "it cannot read topic 't'"),
        (KafkaError._AUTHENTICATION, OptionsError, "refuse it"),
    ],
)
def test_errors_that_end_the_task(code: int, kind: type[TidegateError], told: str) -> None:
    error = Reading(Cluster([*messages(0), event(1, code), *messages(5)])).raised(6)
    assert isinstance(error, kind)
    assert error.message.startswith("table 't': ")
    assert told in error.message


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError._TRANSPORT,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
    ],
)
def test_errors_that_pass(code: int) -> None:
    assert Reading(Cluster([event(0, code), *messages(0, 1)])).read(2) == [0, 1]


UNREADABLE = [
    KafkaError._BAD_MSG,
    KafkaError._BAD_COMPRESSION,
    KafkaError.INVALID_MSG,
    KafkaError.MSG_SIZE_TOO_LARGE,
]


@pytest.mark.parametrize("code", UNREADABLE)
def test_a_message_that_cannot_be_read_is_not_left_out_in_silence(code: int) -> None:
    cluster = Cluster([*messages(0), event(1, code), *messages(5)])
    cluster.on_move = lambda offset: [event(offset, code), *messages(5)]
    error = Reading(cluster).raised(6)
    assert isinstance(error, TrustError)
    assert "table 't': partition 0 of topic 't' cannot be read at offset 1" in error.message
    assert cluster.moves == [1]


@pytest.mark.parametrize("code", UNREADABLE)
def test_a_message_that_is_spoilt_on_its_way_is_read_again(code: int) -> None:
    cluster = Cluster([*messages(0), event(1, code)])
    cluster.on_move = lambda _: messages(1, 2)
    assert Reading(cluster).read(3) == [0, 1, 2]


def test_a_broker_that_has_not_heard_of_the_topic_yet() -> None:
    cluster = Cluster([*messages(0), event(1, KafkaError.UNKNOWN_TOPIC_OR_PART)])
    cluster.on_move = messages
    assert Reading(cluster).read(2) == [0, 1]
    assert cluster.moves == [1]


@pytest.mark.parametrize(
    ("topic_id", "told"),
    [(None, "was deleted while it was read"), ("new", "was deleted and created anew while")],
)
@pytest.mark.parametrize(
    "answers",
    [
        [event(0, KafkaError.UNKNOWN_TOPIC_OR_PART)],
        [event(0, LOST)],
        [],
        [event(1)],
        messages(0, 1),
        [*messages(0), event(3)],
    ],
    ids=["unknown", "out of range", "silence", "shorter", "as long", "a gap"],
)
def test_another_topic_is_told_whatever_it_gives(
    topic_id: str | None, told: str, answers: list[Message]
) -> None:
    """T10."""
    cluster = Cluster(answers, topic_id)
    error = Reading(cluster, scan_fail__on__data__loss="false").raised(2)
    assert isinstance(error, TrustError)
    assert f"topic 't' of table 't' {told}" in error.message
    assert cluster.clock.monotonic_s() < PATIENCE_S / 10


def test_brokers_that_are_away_are_waited_for() -> None:
    cluster = Cluster(messages(0, 1), away=11)
    assert Reading(cluster).read(2) == [0, 1]
    assert cluster.clock.monotonic_s() > 100


def test_brokers_that_stay_away() -> None:
    cluster = Cluster(messages(0, 1), away=1_000)
    assert isinstance(Reading(cluster).raised(2), RunError)
    assert PATIENCE_S < cluster.clock.monotonic_s() < 2 * PATIENCE_S
    silent = Cluster(messages(0), away=1_000)
    error = Reading(silent).raised(2)
    assert isinstance(error, RunError)
    assert "nothing of partition 0 of topic 't' came for 120 s, at offset 1 of 2" in error.message
    assert PATIENCE_S < silent.clock.monotonic_s() < 2 * PATIENCE_S


def test_silence_that_ends_in_time() -> None:
    cluster = Cluster(messages(0))
    waited: list[float] = []

    def speaks_late() -> None:
        waited.append(cluster.clock.monotonic_s())
        if waited[-1] > 0.9 * PATIENCE_S:
            cluster.answers += messages(1)

    cluster.on_described = speaks_late
    assert Reading(cluster).read(2) == [0, 1]
    assert len(waited) > 50


@pytest.mark.parametrize(("says_so", "waited_s"), [(False, 5), (True, 1)])
def test_a_client_that_is_silent_while_brokers_answer_is_replaced(
    says_so: bool, waited_s: float
) -> None:
    """librdkafka's issue 5430: it has missed the leader, and would be silent for ever."""
    cluster = Cluster(messages(0), on_made=lambda offset: messages(1) if offset == 1 else ())
    reading = Reading(cluster)

    def says() -> None:
        reading.workers.made[0].trouble.is_stuck = says_so

    cluster.on_described = says
    assert reading.read(2) == [0, 1]
    assert len(reading.workers.made) == 2
    wait_until(lambda: cluster.closed == 1, "the first one has ended")
    assert waited_s <= cluster.clock.monotonic_s() <= 2 * waited_s + 1


def test_clients_that_stay_silent_have_more_time_each() -> None:
    cluster = Cluster(messages(0))
    reading = Reading(cluster)
    assert isinstance(reading.raised(2), RunError)
    assert len(reading.workers.made) == 1 + 3, "after 5, 20 and 80 s"
    wait_until(lambda: cluster.closed == 3, "all but the last have ended")


def test_nobody_is_replaced_while_no_broker_answers() -> None:
    cluster = Cluster(messages(0), away=9)
    cluster.on_made = lambda offset: messages(1) if offset == 1 else ()
    reading = Reading(cluster)
    assert reading.read(2) == [0, 1]
    assert len(reading.workers.made) == 2
    wait_until(lambda: cluster.closed == 1, "the first one has ended")
    assert cluster.clock.monotonic_s() > 90


def test_a_topic_that_does_not_reach_as_far_as_it_did() -> None:
    error = Reading(Cluster([*messages(0), event(1)], end=1)).raised(2)
    assert isinstance(error, TrustError)
    assert "partition 0 of topic 't' ends at offset 1, but was there up to 2" in error.message


@pytest.mark.parametrize("code", [LOST, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION])
def test_lost_offsets_are_told(code: int) -> None:
    error = Reading(Cluster([*messages(0, 1), event(2, code)], first=7)).raised(9)
    assert isinstance(error, TrustError)
    assert "offsets 2 to 6 of partition 0 of topic 't' are lost" in error.message


def test_lost_offsets_are_skipped_on_request() -> None:
    cluster = Cluster([*messages(0, 1), event(2, LOST)], first=7)
    cluster.on_move = lambda _: messages(7, 8)
    reading = Reading(cluster, scan_fail__on__data__loss="false")
    assert reading.read(9) == [0, 1, 7, 8]
    assert cluster.moves == [7]
    assert reading.reader.take_lost() == {"t-0": [(2, 7)]}
    assert reading.reader.take_lost() == {}


def test_retention_that_goes_on_is_one_range() -> None:
    cluster = Cluster([event(0, LOST)], first=3)

    def on_move(offset: int) -> list[Message]:
        cluster.first = 5
        return [event(3, LOST)] if offset == 3 else messages(5)

    cluster.on_move = on_move
    reading = Reading(cluster, scan_fail__on__data__loss="false")
    assert reading.read(6) == [5]
    assert reading.reader.take_lost() == {"t-0": [(0, 5)]}


def test_two_gaps_are_two_ranges() -> None:
    cluster = Cluster([event(0, LOST)], first=3)

    def on_move(offset: int) -> list[Message]:
        cluster.first = 7
        return [*messages(3), event(4, LOST)] if offset == 3 else messages(7)

    cluster.on_move = on_move
    reading = Reading(cluster, scan_fail__on__data__loss="false")
    assert reading.read(8) == [3, 7]
    assert reading.reader.take_lost() == {"t-0": [(0, 3), (4, 7)]}


def test_a_gap_beyond_the_epoch_is_told_up_to_its_end() -> None:
    cluster = Cluster([event(0, LOST)], first=9)
    reading = Reading(cluster, scan_fail__on__data__loss="false")
    assert reading.read(4) == []
    assert cluster.moves == [4]
    assert reading.reader.take_lost() == {"t-0": [(0, 4)]}


def test_offsets_that_are_there_after_all() -> None:
    """What the broker said was of a moment: a leader that had just become one."""
    cluster = Cluster([*messages(0), event(1, LOST)])
    cluster.on_move = messages
    reading = Reading(cluster, scan_fail__on__data__loss="false")
    assert reading.read(2) == [0, 1]
    assert cluster.moves == [1]
    assert reading.reader.take_lost() == {}


def test_offsets_behind_the_end_are_lost_by_the_brokers() -> None:
    error = Reading(Cluster([*messages(0, 1), event(2, LOST)], end=1)).raised(3)
    assert isinstance(error, TrustError)
    assert "ends at offset 1, but was there up to 3" in error.message
    assert error.detail == "the brokers have lost rows that they had given out"


def test_a_refusal_in_the_background_ends_the_task_when_nothing_comes() -> None:
    cluster = Cluster(messages(0))
    reading = Reading(cluster)

    def consume(count: int, timeout: float) -> list[Message]:
        refused = KafkaError(KafkaError._AUTHENTICATION, "Invalid password")
        reading.workers.made[0].trouble(refused)
        return []

    cluster.consume = consume  # type: ignore[method-assign]
    error = reading.raised(2)
    assert isinstance(error, OptionsError)
    assert error.detail == "Invalid password"
