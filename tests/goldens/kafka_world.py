"""The topics of a golden, and what its checkpoint knows of them.

A checkpoint names a topic by the id that its brokers gave it, and each writer's last epoch stands
as a committed offset beside the rows that it wrote. So topics are made anew with the messages that
they had, the offsets are committed again, and the new ids take the old ones' places in Spark's log.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicCollection, TopicPartition

from goldens.world import World
from kafka.kit import Kit, Put

_TOPICS: Final = {
    "golden-orders": 2,
    "golden-clicks": 1,
    "golden-copies": 3,
    "golden-spent": 2,
    "golden-minutes": 1,
}
_WRITTEN: Final = ("golden-copies", "golden-spent", "golden-minutes")
_BEGIN_MS: Final = 1_714_557_600_000
_KEPT: Final = "kafka.json"

Messages = dict[str, list[list[Any]]]
"""By topic: partition, time in milliseconds, key and value as text."""


class KafkaWorld(World):
    """The cluster of ``kit``, which has none of the topics."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    @property
    def words(self) -> Mapping[str, str]:
        return {"servers": self._kit.bootstrap}

    def begin(self) -> None:
        self._make()
        self._put(_first())

    def keep(self, directory: Path) -> None:
        document = {"ids": self._ids(), "messages": self._messages(), "markers": self._markers()}
        (directory / _KEPT).write_text(json.dumps(document, indent=0))

    def resume(self, directory: Path) -> None:
        kept = json.loads((directory / _KEPT).read_text())
        self._make()
        self._put(kept["messages"])
        self._put(_later())
        for group, offsets in kept["markers"].items():
            self._mark(group, offsets)
        ids = self._ids()
        _renamed(directory, {old: ids[topic] for topic, old in kept["ids"].items()})

    def sinks(self) -> dict[str, list[str]]:
        """Messages by their keys, those of a key in their order."""
        found = {}
        for topic in _WRITTEN:
            rows = [(key or "", value) for _, _, key, value in self._messages()[topic]]
            if topic == "golden-spent":
                rows.sort(key=lambda row: row[0])
            else:
                rows.sort(key=str)
            found[topic] = [f"{key} {value}" for key, value in rows]
        return found

    def _make(self) -> None:
        for topic, partitions in _TOPICS.items():
            self._kit.make(topic, partitions)

    def _put(self, messages: Messages) -> None:
        for topic, puts in messages.items():
            for partition, time_ms, key, value in puts:
                put = Put(_bytes(value), _bytes(key), time_ms)
                self._kit.put(topic, partition, [put])

    def _messages(self) -> Messages:
        return {
            topic: [
                [partition, message.timestamp()[1], _text(message.key()), _text(message.value())]
                for partition, messages in sorted(self._kit.read(topic).items())
                for message in messages
            ]
            for topic in _TOPICS
        }

    def _ids(self) -> dict[str, str]:
        futures = self._kit.admin.describe_topics(TopicCollection(list(_TOPICS)))
        return {topic: str(future.result(30).topic_id) for topic, future in futures.items()}

    def _markers(self) -> dict[str, list[list[Any]]]:
        """The committed offsets of all groups: topic, partition, offset, metadata."""
        admin = self._kit.admin
        groups = [g.group_id for g in admin.list_consumer_groups().result(30).valid]
        found = {}
        for group in sorted(groups):
            asked = [ConsumerGroupTopicPartitions(group)]
            (future,) = admin.list_consumer_group_offsets(asked).values()
            found[group] = [
                [each.topic, each.partition, each.offset, each.metadata]
                for each in future.result(30).topic_partitions
            ]
        return found

    def _mark(self, group: str, offsets: list[list[Any]]) -> None:
        consumer = Consumer({"bootstrap.servers": self._kit.bootstrap, "group.id": group})
        consumer.commit(
            offsets=[TopicPartition(t, p, offset, metadata=m) for t, p, offset, m in offsets],
            asynchronous=False,
        )
        consumer.close()


def _renamed(directory: Path, ids: Mapping[str, str]) -> None:
    """Puts new ids of topics into the offsets that Spark has kept, and takes the checksums away."""
    for path in (directory / "checkpoint/spark/offsets").iterdir():
        if path.suffix == ".crc":
            path.unlink()
            continue
        text = path.read_text("utf-8")
        for old, new in ids.items():
            text = text.replace(json.dumps(old), json.dumps(new))
        path.write_text(text, "utf-8")


def _orders(seed: int, rows: int, begin_s: float) -> list[list[Any]]:
    rng = Random(seed)
    found: list[list[Any]] = []
    for number in range(rows):
        partition = rng.randrange(2)
        time_ms = _BEGIN_MS + int(1000 * (begin_s + number * 0.7 - rng.uniform(0, 6)))
        at = datetime.fromtimestamp(time_ms / 1000, UTC)
        row = {
            "id": 10_000 * seed + number,
            "customer_id": rng.randrange(9),
            "price": round(rng.uniform(1, 99), 2),
            "at": at.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3],
        }
        found.append([partition, time_ms, None, json.dumps(row) if number % 60 else "{"])
    return found


def _clicks(rows: int) -> list[list[Any]]:
    rng = Random(9)
    return [
        [
            0,
            _BEGIN_MS + int(1000 * (number - rng.uniform(0, 12))),
            None,
            f"{rng.randrange(3)},/{number}",
        ]
        for number in range(rows)
    ]


def _first() -> Messages:
    return {"golden-orders": _orders(1, 500, 0), "golden-clicks": _clicks(430)}


def _later() -> Messages:
    """What comes behind; of the clicks nothing is to be read any more."""
    return {"golden-orders": _orders(2, 150, 350), "golden-clicks": _clicks(40)}


def _text(data: bytes | str | None) -> str | None:
    return data.decode() if isinstance(data, bytes) else data


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
