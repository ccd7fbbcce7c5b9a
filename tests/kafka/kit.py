"""What tests say to a real broker: make a topic, put messages there, read what is committed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from spark.processes import wait_until
from tidegate.connectors.kafka.quirks import LockedOut
from tidegate.connectors.options import validate_options
from tidegate.plan.tables import Table
from tidegate.types import Column

_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Put:
    """A message to be written."""

    value: bytes | None
    key: bytes | None = None
    time_ms: int = 0  # 0: now
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Kit:
    """Talks to the cluster at ``bootstrap``."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = AdminClient(self._config())
        self._producers: dict[str, Producer] = {}  # kept: to make one takes longer than to write

    def _config(self, **more: Any) -> dict[str, Any]:
        return {"bootstrap.servers": self.bootstrap, "log_level": 2, **more}

    def topic(
        self,
        name: str = "topic",
        partitions: int = 1,
        copies: int = 1,
        settings: Mapping[str, str] | None = None,
    ) -> str:
        """Makes a topic of a name that no other test has; gives the name."""
        unique = f"{re.sub('[^a-zA-Z0-9]+', '-', name)}-{next(_NUMBERS)}"
        self.make(unique, partitions, copies, settings)
        return unique

    def make(
        self,
        name: str,
        partitions: int = 1,
        copies: int = 1,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Makes a topic of exactly this name."""
        new = NewTopic(name, partitions, copies, config=dict(settings or {}))
        for future in self.admin.create_topics([new]).values():
            future.result(30)
        self._until_listed(name, partitions)

    def delete(self, name: str) -> None:
        self._producers.clear()  # they know the topic as it was
        for future in self.admin.delete_topics([name]).values():
            future.result(30)
        wait_until(lambda: name not in self.admin.list_topics(timeout=10).topics, f"{name} is gone")

    def grow(self, name: str, partitions: int) -> None:
        """Adds partitions, up to ``partitions``."""
        self._producers.clear()
        for future in self.admin.create_partitions([NewPartitions(name, partitions)]).values():
            future.result(30)
        self._until_listed(name, partitions)

    def remove_before(self, name: str, partition: int, offset: int) -> None:
        """What retention does: the offsets below ``offset`` are gone."""
        asked = [TopicPartition(name, partition, offset)]
        for future in self.admin.delete_records(asked).values():
            future.result(30)

    def put(
        self, topic: str, partition: int, messages: Iterable[Put | bytes], **config: Any
    ) -> None:
        """Writes messages to a partition, in order, and waits until they are there."""
        producer = self._producers.pop(str(config), None)
        if producer is None:
            settings = {
                "enable.idempotence": True,
                "linger.ms": 1,
                "message.max.bytes": 32 << 20,
                "metadata.recovery.strategy": "none",  # as `delivery` has it: brokers go and come
            }
            producer = Producer(self._config(**settings, **config))
        failed: list[Any] = []
        for message in messages:
            each = message if isinstance(message, Put) else Put(message)
            while True:
                try:
                    producer.produce(
                        topic,
                        each.value,
                        each.key,
                        partition,
                        timestamp=each.time_ms,
                        headers=list(each.headers) or None,
                        on_delivery=lambda error, _: failed.append(error) if error else None,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0
        assert not failed, failed[0]
        self._producers[str(config)] = producer

    def transaction(
        self, topic: str, partition: int, values: Sequence[bytes], *, commit: bool
    ) -> None:
        """Writes values in one transaction, and commits or aborts it."""
        producer = Producer(self._config(**{"transactional.id": f"kit-{next(_NUMBERS)}"}))
        producer.init_transactions(30)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=partition)
        producer.flush(30)
        if commit:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)

    def read(self, topic: str, isolation: str = "read_committed") -> dict[int, list[Message]]:
        """All messages that a reader sees now, by partition."""
        consumer = Consumer(
            self._config(
                **{
                    "group.id": "kit",
                    "isolation.level": isolation,
                    "enable.partition.eof": True,
                    "fetch.wait.max.ms": 10,  # so soon the broker says that there is no more
                    "enable.auto.commit": False,
                    "auto.offset.reset": "earliest",
                }
            )
        )
        count = len(self.admin.list_topics(topic, timeout=10).topics[topic].partitions)
        found: dict[int, list[Message]] = {number: [] for number in range(count)}
        consumer.assign([TopicPartition(topic, number, 0) for number in range(count)])
        ended = 0
        while ended < count:
            message = consumer.poll(30)
            assert message is not None, f"no answer for {topic}"
            if message.error() is None:
                partition = message.partition()
                assert partition is not None
                found[partition].append(message)
            else:
                ended += 1
        LockedOut.let_go(consumer)
        return found

    def ends(self, topic: str) -> dict[str, int]:
        """Behind the last message of each partition, of a topic without gaps; by split."""
        return {f"{topic}-{part}": len(found) for part, found in self.read(topic).items()}

    def values(self, topic: str) -> list[bytes]:
        """The values that a ``read_committed`` reader sees, of all partitions."""
        messages = (message for part in self.read(topic).values() for message in part)
        return [value for message in messages if (value := message.value()) is not None]

    def _until_listed(self, name: str, partitions: int) -> None:
        """Until every broker knows the topic: of no job or message does the first try fail."""

        def lists(server: str) -> bool:
            # A client of its own: one that knows the others asks any of them.
            asked = AdminClient(self._config() | {"bootstrap.servers": server})
            known = asked.list_topics(name, timeout=10).topics[name]
            return len(known.partitions) == partitions and all(
                part.leader >= 0 and part.error is None for part in known.partitions.values()
            )

        for server in self.bootstrap.split(","):
            wait_until(partial(lists, server), f"{name} is listed by {server}")

    def source(
        self,
        topic: str,
        *columns: tuple[str, str],
        metadata: tuple[tuple[str, str], ...] = (),
        **options: str,
    ) -> Table:
        """A source table over a topic; options' names with ``_`` for ``.`` and ``__`` for ``-``.

        Without a topic: of the option ``topic__pattern``.
        """
        return self._table("source", topic, columns, metadata, options)

    def sink(
        self,
        topic: str,
        *columns: tuple[str, str],
        metadata: tuple[tuple[str, str], ...] = (),
        **options: str,
    ) -> Table:
        """A sink table over a topic."""
        return self._table("sink", topic, columns, metadata, options)

    def _table(
        self, role: Any, topic: str, columns: Any, metadata: Any, options: Mapping[str, str]
    ) -> Table:
        given = {"topic": topic, "format": "json", "properties.bootstrap.servers": self.bootstrap}
        if not topic:
            del given["topic"]
        for name, value in options.items():
            given[name.replace("__", "-").replace("_", ".")] = value
        pairs = validate_options("kafka", role, given)
        schema = tuple(Column(name, type_) for name, type_ in columns)
        return Table("t", schema, "kafka", dict(pairs)["format"], pairs, metadata)
