"""A table's planner and readers, epoch by epoch, as Spark's driver and workers use them."""

from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import Consumer, IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

from kafka.kit import Kit
from tidegate.clock import Clock, SystemClock
from tidegate.connectors.kafka.consumers import Consumers
from tidegate.connectors.kafka.patience import USUAL, KafkaPatience
from tidegate.connectors.kafka.planner import KafkaPlanner
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.engine.engine import Engine
from tidegate.plan.tables import Table
from tidegate.ports import Position, SplitPlan, SplitRange
from tidegate.types import OFFSET

_NUMBERS: Final = itertools.count(1)
ENGINE: Final = Engine()
PATIENCE_S: Final = 60.0
"""How long a test waits for what must come."""


def values(*numbers: int) -> list[bytes]:
    """Messages ``{"a": n}``."""
    return [json.dumps({"a": number}).encode() for number in numbers]


def until(condition: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    """Waits for ``condition``."""
    clock = SystemClock()
    deadline = clock.monotonic_s() + timeout_s
    while not condition():
        assert clock.monotonic_s() < deadline, "it did not come"
        clock.sleep(0.005)


@dataclass
class Epoch:
    """What one epoch planned and read, by split."""

    plans: dict[str, SplitPlan] = field(default_factory=dict)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    malformed: dict[str, list[tuple[int, bytes | None]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    lost: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def column(self, name: str) -> list[Any]:
        """The values of one column, of all splits in their order."""
        return [row[name] for split in sorted(self.rows) for row in self.rows[split]]

    @property
    def offsets(self) -> list[int]:
        return self.column(OFFSET)

    @property
    def bad(self) -> list[int]:
        """The offsets of malformed messages, of all splits."""
        return [offset for split in sorted(self.malformed) for offset, _ in self.malformed[split]]

    def end(self, split: str) -> int:
        """The offset up to which a split was planned."""
        position = self.plans[split].end
        assert isinstance(position, list)
        assert isinstance(position[0], int)
        return position[0]


class Run:
    """A table that is read; ``workers`` are the caches of so many worker processes."""

    def __init__(
        self,
        table: Table,
        *,
        available_now: bool = False,
        clock: Clock | None = None,
        workers: int = 1,
        patience: KafkaPatience = USUAL,
    ) -> None:
        self.table = table
        self.positions: dict[str, Position] = {}
        self.workers = [Consumers(patience=patience) for _ in range(workers)]
        self.patience = patience
        self._available_now = available_now
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """The driver starts again: its planner is new, positions are those of the checkpoint."""
        self.planner = KafkaPlanner(self.table, self._available_now, self._clock, self.patience)

    def plan(self, rows_max: int | None = None) -> dict[str, SplitPlan]:
        """Plans an epoch. As in Spark, a split that is gone is asked about."""
        splits = self.planner.splits(begun=bool(self.positions))
        for split in self.positions.keys() - set(splits):
            self.planner.check_gone(split, self.positions[split])
        return self.planner.plan({s: self.positions.get(s) for s in splits}, rows_max)

    def read(self, plans: dict[str, SplitPlan], worker: int = 0) -> Epoch:
        """Reads what was planned, without committing it."""
        epoch = Epoch(plans)
        consumers = self.workers[worker]
        reader = KafkaReader(self.table, ENGINE, consumers=consumers, patience=self.patience)
        ranges = [
            SplitRange(split, self.positions.get(split), plan.end)
            for split, plan in sorted(plans.items())
        ]
        before = dict.fromkeys(plans, -1)
        for split, chunk in reader.read(ranges):
            epoch.rows[split] += chunk.data.to_pylist()
            bad = chunk.malformed
            columns = bad.column("offset").to_pylist(), bad.column("record").to_pylist()
            epoch.malformed[split] += zip(*columns, strict=True)
            assert before[split] < chunk.next_offset <= epoch.end(split)
            before[split] = chunk.next_offset
        for split in plans:
            seen = [row[OFFSET] for row in epoch.rows[split]]
            assert seen == sorted(set(seen)), f"{split}: {seen}"
        epoch.lost = reader.take_lost()
        return epoch

    def commit(self, epoch: Epoch) -> None:
        """The epoch has happened."""
        self.positions |= {split: plan.end for split, plan in epoch.plans.items()}

    def epoch(self, rows_max: int | None = None, worker: int = 0) -> Epoch:
        """Plans, reads and commits an epoch."""
        epoch = self.read(self.plan(rows_max), worker)
        self.commit(epoch)
        return epoch

    def sizes(self, rows_max: Iterable[int | None]) -> list[list[int]]:
        """Column ``a`` of epochs of these sizes."""
        return [self.epoch(size).column("a") for size in rows_max]


def rows_of(run: Run, count: int) -> list[int]:
    """Runs epochs until as many rows have come."""
    read: list[int] = []

    def is_enough() -> bool:
        read.extend(run.epoch().column("a"))
        return len(read) >= count

    until(is_enough)
    return read


class Transaction:
    """A transaction that stays open until it is told to end."""

    def __init__(self, kit: Kit) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": kit.bootstrap,
                "transactional.id": f"transaction-{os.getpid()}-{next(_NUMBERS)}",
                "log_level": 2,
            }
        )
        self._producer.init_transactions(30)
        self._producer.begin_transaction()

    def put(self, topic: str, partition: int, messages: Sequence[bytes]) -> None:
        for message in messages:
            self._producer.produce(topic, message, partition=partition)
        self._producer.flush(30)

    def commit(self) -> None:
        self._producer.commit_transaction(30)

    def abort(self) -> None:
        self._producer.abort_transaction(30)


def end_of(kit: Kit, topic: str, partition: int = 0, *, committed: bool = True) -> int:
    """The offset behind the last message; ``committed``: before the first open transaction."""
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    asked = {TopicPartition(topic, partition): OffsetSpec.latest()}
    (future,) = kit.admin.list_offsets(asked, isolation_level=level).values()
    return int(future.result(10).offset)


def ended_at(kit: Kit, topic: str, offset: int, partition: int = 0) -> None:
    """Waits until the markers of all transactions before ``offset`` are there."""
    until(lambda: end_of(kit, topic, partition) == offset)


def commit_offsets(kit: Kit, group: str, topic: str, offsets: dict[int, int]) -> None:
    """Commits offsets, by partition, for a consumer group."""
    consumer = Consumer({"bootstrap.servers": kit.bootstrap, "group.id": group, "log_level": 2})
    parts = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
    consumer.commit(offsets=parts, asynchronous=False)
    consumer.close()
