"""Questions to the cluster about topics: which partitions, which identity, which offsets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tidegate.clock import Clock, SystemClock
from tidegate.connectors.kafka.client import (
    REQUEST_S,
    Trouble,
    config,
    explained,
    is_refused,
    is_unknown_topic,
    made,
)
from tidegate.connectors.kafka.options import KafkaOptions, KafkaSourceOptions
from tidegate.errors import OptionsError, RunError, did_you_mean

_T = TypeVar("_T")

Partition = tuple[str, int]

_SLOW_S: Final = 2.0
_SHORT_S: Final = 3.0
_PAUSE_S: Final = 0.2
_GRACE_S: Final = 2.0
"""How much longer than it was allowed a question is waited for: the client should end it itself."""
_NO_SUCH_TIME: Final = -1
"""The offset of a time behind the last message."""
_NOTHING_THERE: Final = frozenset({KafkaError.GROUP_ID_NOT_FOUND, KafkaError.TOPIC_ALREADY_EXISTS})
"""Answers that are no errors: nothing to say of a group, nothing to make of a topic."""
_INTERNAL: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)
"""Topics of the brokers themselves: a pattern does not mean them."""


def patiently(ask: Callable[[], _T], clock: Clock, patience_s: float, pause_s: float) -> _T:
    """The answer of a cluster that may be away for a while. Then raises the last RunError."""
    since_s = clock.monotonic_s()
    while True:
        try:
            return ask()
        except RunError:
            if clock.monotonic_s() - since_s > patience_s:
                raise
            clock.sleep(pause_s)


class Topics:
    """The topics of one table, as the cluster sees them. Each question is bounded in time.

    A client that got no answer is not asked again: it would go on asking the leader that it knew.

    Raises OptionsError when the cluster refuses us or a topic is not there, RunError when no
    broker answers.
    """

    def __init__(self, table: str, options: KafkaOptions) -> None:
        self._table = table
        self._options = options
        self._trouble = Trouble()
        self._clock = SystemClock()
        self._client: Any = None
        self._asked_s = self._until_s = 0.0
        self._silences = 0
        level = options.properties.get("isolation.level", "read_committed")
        self._isolation = (
            IsolationLevel.READ_UNCOMMITTED
            if level == "read_uncommitted"
            else IsolationLevel.READ_COMMITTED
        )

    def named(self, options: KafkaSourceOptions) -> list[str]:
        """The topics that the table reads, those of a pattern as of now."""
        if options.topics:
            return list(options.topics)
        pattern = re.compile(options.pattern)
        return sorted(
            name for name in self._listed() if pattern.fullmatch(name) and name not in _INTERNAL
        )

    def described(self, names: Sequence[str]) -> dict[str, tuple[str, int]]:
        """Each topic's id and number of partitions. One that is not there is left out."""
        if not names:
            return {}
        return self._patiently(lambda seconds: self._described_now(names, seconds))

    def _described_now(self, names: Sequence[str], seconds: float) -> dict[str, tuple[str, int]]:
        futures = self._call(
            "it cannot describe its topics",
            seconds,
            lambda admin: admin.describe_topics(
                TopicCollection(list(names)), request_timeout=seconds
            ),
        )
        found: dict[str, tuple[str, int]] = {}
        for name, future in futures.items():
            description = self._result(f"it cannot describe topic '{name}'", future)
            if description is not None:
                found[name] = (str(description.topic_id), len(description.partitions))
        self._settle()
        return found

    def create(self, name: str, partitions: int) -> None:
        """Makes a topic, with the brokers' replication; one that is there by now is as good."""
        self._patiently(lambda seconds: self._create_now(name, partitions, seconds))
        until_s = self._clock.monotonic_s() + REQUEST_S
        while name not in self.described([name]) and self._clock.monotonic_s() < until_s:
            self._clock.sleep(_PAUSE_S)  # its writers ask other brokers, which hear of it later

    def _create_now(self, name: str, partitions: int, seconds: float) -> None:
        what = f"it cannot make topic '{name}'"
        topic = NewTopic(name, partitions)
        futures = self._call(
            what,
            seconds,
            lambda admin: admin.create_topics([topic], request_timeout=seconds),
        )
        self._result(what, futures[name])
        self._settle()

    def require(self, name: str) -> OptionsError:
        """The error for a topic that does not exist."""
        known = [topic for topic in self._listed() if not topic.startswith("__")]
        return OptionsError(
            f"table '{self._table}': there is no topic '{name}' at {self._options.servers}",
            hint=did_you_mean(name, known) or "create it first",
        )

    def _listed(self) -> list[str]:
        listed = self._patiently(
            lambda seconds: self._call(
                "it cannot list topics", seconds, lambda admin: admin.list_topics(timeout=seconds)
            )
        )
        return list(listed.topics)

    def earliest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The first offset that is still there, of each partition that exists."""
        return self._offsets(partitions, lambda _: OffsetSpec.earliest())

    def latest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The offset behind the last row that may be read, of each partition that exists."""
        return self._offsets(partitions, lambda _: OffsetSpec.latest())

    def at_time(self, partitions: Sequence[Partition], time_ms: int) -> dict[Partition, int]:
        """The first offset at or behind a time; the end where there is none."""
        found = self._offsets(partitions, lambda _: OffsetSpec.for_timestamp(time_ms))
        ends = self.latest([partition for partition, offset in found.items() if offset < 0])
        return {**found, **ends}

    def committed(self, partitions: Sequence[Partition], group: str) -> dict[Partition, int]:
        """What a consumer group has committed, of those partitions for which it has."""
        return self._patiently(lambda seconds: self._committed_now(partitions, group, seconds))

    def _committed_now(
        self, partitions: Sequence[Partition], group: str, seconds: float
    ) -> dict[Partition, int]:
        asked = ConsumerGroupTopicPartitions(group, [TopicPartition(*p) for p in partitions])
        futures = self._call(
            f"it cannot read the offsets of group '{group}'",
            seconds,
            lambda admin: admin.list_consumer_group_offsets([asked], request_timeout=seconds),
        )
        answer = self._result(f"it cannot read the offsets of group '{group}'", futures[group])
        if answer is None:
            return {}
        return {
            (part.topic, part.partition): part.offset
            for part in answer.topic_partitions
            if part.offset >= 0
        }

    def _offsets(
        self, partitions: Iterable[Partition], spec: Callable[[Partition], OffsetSpec]
    ) -> dict[Partition, int]:
        asked = {TopicPartition(*partition): spec(partition) for partition in partitions}
        return self._patiently(lambda seconds: self._offsets_now(asked, seconds)) if asked else {}

    def _patiently(self, ask: Callable[[float], _T]) -> _T:
        """Asks, for so many seconds, and again, until there is an answer or `REQUEST_S` are over.

        Leaders change, and for a moment nobody is one: it passes. A client that has asked the
        leader of before hears no more of another one, so the first questions are short.
        """
        until_s = self._clock.monotonic_s() + REQUEST_S
        while True:
            left_s = until_s - self._clock.monotonic_s()
            try:
                answer = ask(max(_PAUSE_S, min(left_s, _SHORT_S * (1 + self._silences // 3))))
            except RunError:
                self._silences += 1
                if self._clock.monotonic_s() + _PAUSE_S > until_s:
                    raise
                self._clock.sleep(_PAUSE_S)
            else:
                self._silences = 0
                return answer

    def _offsets_now(
        self, asked: Mapping[TopicPartition, OffsetSpec], seconds: float
    ) -> dict[Partition, int]:
        futures: Mapping[TopicPartition, Future[Any]] = self._call(
            "it cannot ask for offsets",
            seconds,
            lambda admin: admin.list_offsets(
                dict(asked), isolation_level=self._isolation, request_timeout=seconds
            ),
        )
        found: dict[Partition, int] = {}
        for part, future in futures.items():
            what = f"it cannot ask for the offsets of '{part.topic}', partition {part.partition}"
            answer = self._result(what, future)
            if answer is None:
                continue
            if answer.offset < 0 and answer.offset != _NO_SUCH_TIME:
                # So the client says, without an error, that it found no leader to ask.
                raise self._explained(what, None)
            found[part.topic, part.partition] = answer.offset
        self._settle()
        return found

    def _call(self, what: str, seconds: float, ask: Callable[[Any], _T]) -> _T:
        if self._client is None:
            self._client = made(AdminClient, config(self._options, self._trouble, {}))
        self._trouble.clear()
        self._asked_s = self._clock.monotonic_s()
        self._until_s = self._asked_s + seconds + _GRACE_S
        try:
            return ask(self._client)
        except KafkaException as error:
            raise self._explained(what, error.args[0]) from None

    def _result(self, what: str, future: Future[Any]) -> Any:
        """The answer; None when the topic, partition or group is not there."""
        while True:
            try:
                self._client.poll(0)  # lets background errors speak
                return future.result(timeout=0.2)
            except TimeoutError:
                if self._trouble.refused is not None or self._clock.monotonic_s() > self._until_s:
                    raise self._explained(what, None) from None
            except KafkaException as error:
                problem: KafkaError = error.args[0]
                if is_unknown_topic(problem) or problem.code() in _NOTHING_THERE:
                    return None
                raise self._explained(what, problem) from None

    def _settle(self) -> None:
        """All has been answered. A client that took long would do so again: it asks a dead broker
        first, whatever it knows, and lets the question's time pass before it asks another."""
        if self._clock.monotonic_s() - self._asked_s > _SLOW_S:
            self._client = None

    def _explained(self, what: str, error: KafkaError | None) -> Exception:
        self._client.poll(0)  # lets background errors speak
        self._client = None
        if error is not None and is_refused(error):
            self._trouble(error)
        return explained(
            f"table '{self._table}': {what}", self._options.servers, error, self._trouble
        )
