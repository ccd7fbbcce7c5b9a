"""Questions to the cluster about topics: which partitions, which identity, which offsets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
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

from tidegate.clock import SystemClock
from tidegate.connectors.kafka.client import Trouble, explained, is_refused, is_unknown_topic, made
from tidegate.connectors.kafka.options import KafkaOptions, KafkaSourceOptions
from tidegate.connectors.kafka.patience import USUAL, KafkaPatience
from tidegate.connectors.kafka.quirks import NoLeader, StaleAdmin
from tidegate.errors import OptionsError, RunError, did_you_mean
from tidegate.patience import Waiting, patiently

_K = TypeVar("_K")
_T = TypeVar("_T")

Partition = tuple[str, int]

_NOTHING_THERE: Final = frozenset({KafkaError.GROUP_ID_NOT_FOUND, KafkaError.TOPIC_ALREADY_EXISTS})
"""Answers that are no errors: nothing to say of a group, nothing to make of a topic."""
_INTERNAL: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)
"""Topics of the brokers themselves: a pattern does not mean them."""


class Topics:
    """The topics of one table, as the cluster sees them. Each question is bounded in time.

    Raises OptionsError when the cluster refuses us or a topic is not there, RunError when no
    broker answers.
    """

    def __init__(self, table: str, options: KafkaOptions, patience: KafkaPatience = USUAL) -> None:
        self._table = table
        self._options = options
        self._trouble = Trouble()
        self._clock = SystemClock()
        self._client: Any = None
        self._asked_s = self._until_s = 0.0
        self._patience, self._question = patience, patience.question
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
        found = self._answers(
            "it cannot describe its topics",
            lambda admin, seconds: admin.describe_topics(
                TopicCollection(list(names)), request_timeout=seconds
            ),
            lambda name: f"it cannot describe topic '{name}'",
        )
        return {name: (str(at.topic_id), len(at.partitions)) for name, at in found.items()}

    def create(self, name: str, partitions: int) -> None:
        """Makes a topic, with the brokers' replication; one that is there by now is as good."""
        topic = NewTopic(name, partitions)
        self._answers(
            f"it cannot make topic '{name}'",
            lambda admin, seconds: admin.create_topics([topic], request_timeout=seconds),
        )
        waiting = Waiting(self._patience.question, self._clock)
        while name not in self.described([name]) and waiting.again():
            pass  # its writers ask other brokers, which hear of it later

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
        return self._offsets(partitions, OffsetSpec.earliest())

    def latest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The offset behind the last row that may be read, of each partition that exists."""
        return self._offsets(partitions, OffsetSpec.latest())

    def at_time(self, partitions: Sequence[Partition], time_ms: int) -> dict[Partition, int]:
        """The first offset at or behind a time; the end where there is none."""
        found = self._offsets(partitions, OffsetSpec.for_timestamp(time_ms))
        ends = self.latest([partition for partition, offset in found.items() if offset < 0])
        return {**found, **ends}

    def committed(self, partitions: Sequence[Partition], group: str) -> dict[Partition, int]:
        """What a consumer group has committed, of those partitions for which it has."""
        asked = ConsumerGroupTopicPartitions(group, [TopicPartition(*p) for p in partitions])
        found = self._answers(
            f"it cannot read the offsets of group '{group}'",
            lambda admin, seconds: admin.list_consumer_group_offsets(
                [asked], request_timeout=seconds
            ),
        )
        parts = found[group].topic_partitions if group in found else ()
        return {(part.topic, part.partition): part.offset for part in parts if part.offset >= 0}

    def _offsets(self, partitions: Iterable[Partition], spec: OffsetSpec) -> dict[Partition, int]:
        asked = {TopicPartition(*partition): spec for partition in partitions}
        if not asked:
            return {}
        found = self._answers(
            "it cannot ask for offsets",
            lambda admin, seconds: admin.list_offsets(
                dict(asked), isolation_level=self._isolation, request_timeout=seconds
            ),
            lambda at: f"it cannot ask for the offsets of '{at.topic}', partition {at.partition}",
        )
        return {(at.topic, at.partition): answer.offset for at, answer in found.items()}

    def _patiently(self, ask: Callable[[float], _T]) -> _T:
        """Asks, for so many seconds, and again, until there is an answer or time is up."""
        try:
            answer = patiently(ask, self._question, self._clock)
        except RunError:
            longer_s = min(2 * self._question.try_s, self._question.in_all_s)
            self._question = replace(self._question, try_s=longer_s)
            raise
        self._question = self._patience.question
        return answer

    def _answers(
        self,
        what: str,
        ask: Callable[[Any, float], Mapping[_K, Future[Any]]],
        each: Callable[[_K], str] | None = None,
    ) -> dict[_K, Any]:
        """The answers to a question of several parts, of those that are there."""

        def answered(seconds: float) -> dict[_K, Any]:
            futures = self._call(what, seconds, lambda admin: ask(admin, seconds))
            found = {at: self._result(each(at) if each else what, f) for at, f in futures.items()}
            if StaleAdmin.is_it(self._clock.monotonic_s() - self._asked_s, self._patience.slow_s):
                self._client = None
            return {at: answer for at, answer in found.items() if answer is not None}

        return self._patiently(answered)

    def _call(self, what: str, seconds: float, ask: Callable[[Any], _T]) -> _T:
        if self._client is None:
            self._client = made(AdminClient, self._options, self._trouble, {})
        self._trouble.clear()
        self._asked_s = self._clock.monotonic_s()
        self._until_s = self._asked_s + seconds + self._patience.overdue_s
        try:
            return ask(self._client)
        except KafkaException as error:
            raise self._explained(what, error.args[0]) from None

    def _result(self, what: str, future: Future[Any]) -> Any:
        """The answer; None when the topic, partition or group is not there."""
        while True:
            try:
                self._client.poll(0)  # lets background errors speak
                answer = future.result(timeout=0.2)
                if NoLeader.is_it(answer):
                    raise self._explained(what, None)
                return answer
            except TimeoutError:
                if self._trouble.refused is not None or self._clock.monotonic_s() > self._until_s:
                    raise self._explained(what, None) from None
            except KafkaException as error:
                problem: KafkaError = error.args[0]
                if is_unknown_topic(problem) or problem.code() in _NOTHING_THERE:
                    return None
                raise self._explained(what, problem) from None

    def _explained(self, what: str, error: KafkaError | None) -> Exception:
        self._client.poll(0)  # lets background errors speak
        self._client = None
        if error is not None and is_refused(error):
            self._trouble(error)
        return explained(
            f"table '{self._table}': {what}", self._options.servers, error, self._trouble
        )
