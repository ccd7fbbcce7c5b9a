"""The reader gives each message of an epoch once, in order: over gaps, epochs and workers."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer

from kafka.epochs import ENGINE, Run, Transaction, end_of, ended_at, until, values
from kafka.kit import Kit, Put
from tidegate.connectors.kafka import consumers
from tidegate.connectors.kafka.consumers import Consumers
from tidegate.connectors.kafka.patience import USUAL
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.ports import SplitRange
from tidegate.types import OFFSET

COLUMN = ("a", "BIGINT")


def aborted(kafka: Kit, topic: str, count: int) -> None:
    """A gap of ``count`` messages and their marker."""
    before = end_of(kafka, topic)
    kafka.transaction(topic, 0, values(*[-1] * count), commit=False)
    ended_at(kafka, topic, before + count + 1)


def committed(kafka: Kit, topic: str, *numbers: int) -> None:
    before = end_of(kafka, topic)
    kafka.transaction(topic, 0, values(*numbers), commit=True)
    ended_at(kafka, topic, before + len(numbers) + 1)


@pytest.fixture(scope="module")
def gaps(kafka: Kit) -> str:
    """0–3 rows, 4–9 aborted, 10–11 rows, marker, 13 row, 14–19 aborted: the end is a gap."""
    topic = kafka.topic("gaps")
    kafka.put(topic, 0, values(0, 1, 2, 3))
    aborted(kafka, topic, 5)
    committed(kafka, topic, 10, 11)
    kafka.put(topic, 0, values(13))
    aborted(kafka, topic, 5)
    return topic


@pytest.mark.parametrize("rows_max", [*range(1, 12), 13, 14, 19, 20, None])
@pytest.mark.parametrize("workers", [1, 2, 0], ids=["cached", "two workers", "never cached"])
def test_any_epoch_size_over_gaps(
    kafka: Kit, gaps: str, rows_max: int | None, workers: int
) -> None:
    run = Run(kafka.source(gaps, COLUMN), workers=max(1, workers))
    epochs = []
    for number in range(20 // (rows_max or 20) + 1):
        if not workers:
            run.workers = [Consumers()]
        epochs.append(run.epoch(rows_max, number % max(1, workers)))
    assert [a for epoch in epochs for a in epoch.column("a")] == [0, 1, 2, 3, 10, 11, 13]
    assert [o for epoch in epochs for o in epoch.offsets] == [0, 1, 2, 3, 10, 11, 13]
    assert epochs[-1].end(f"{gaps}-0") == 20


def test_gaps_are_rows_for_who_reads_uncommitted(kafka: Kit, gaps: str) -> None:
    run = Run(kafka.source(gaps, COLUMN, properties_isolation_level="read_uncommitted"))
    offsets = [offset for _ in range(7) for offset in run.epoch(3).offsets]
    markers = {9, 12, 19}
    assert offsets == [offset for offset in range(20) if offset not in markers]


def test_rows_behind_an_open_transaction_are_not_read_before_it_ends(kafka: Kit) -> None:
    topic = kafka.topic("open")
    kafka.put(topic, 0, values(0))
    transaction = Transaction(kafka)
    transaction.put(topic, 0, values(1, 2))
    kafka.put(topic, 0, values(3))
    run = Run(kafka.source(topic, COLUMN))
    hasty = Run(kafka.source(topic, COLUMN, properties_isolation_level="read_uncommitted"))
    first = run.epoch()
    assert (first.column("a"), first.end(f"{topic}-0")) == ([0], 1)
    assert first.plans[f"{topic}-0"].at_end
    assert hasty.epoch().column("a") == [0, 1, 2, 3]
    assert run.planner.waiting(run.positions) == []
    transaction.commit()
    ended_at(kafka, topic, 5)
    assert run.planner.waiting(run.positions) == [f"{topic}-0"]
    assert run.sizes([1, 1, None]) == [[1], [2], [3]]


def test_a_transaction_that_is_aborted_while_the_consumer_waits_at_it(kafka: Kit) -> None:
    topic = kafka.topic("aborted later")
    kafka.put(topic, 0, values(0))
    transaction = Transaction(kafka)
    transaction.put(topic, 0, values(1, 2))
    run = Run(kafka.source(topic, COLUMN))
    assert run.epoch().column("a") == [0]
    transaction.abort()
    ended_at(kafka, topic, 4)
    for end in (2, 3, 4):  # nothing but a gap, in three epochs
        epoch = run.epoch(1)
        assert (epoch.column("a"), epoch.end(f"{topic}-0")) == ([], end)
    kafka.put(topic, 0, values(4))
    assert run.epoch().column("a") == [4]


def test_compacted_offsets_are_gaps(kafka: Kit) -> None:
    settings = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "100",
        "segment.bytes": "1048576",
        "max.compaction.lag.ms": "100",
        "delete.retention.ms": "0",
    }
    topic = kafka.topic("compacted", settings=settings)
    kafka.put(topic, 0, [Put(b'{"a": %d}' % n, key=b"k%d" % (n % 3)) for n in range(30)])
    kafka.put(topic, 0, [Put(None, key=b"k0"), Put(b'{"a": 31}', key=b"last")])

    def left() -> list[int | None]:
        return [message.offset() for message in kafka.read(topic)[0]]

    def is_compacted() -> bool:
        # A segment is closed by a message that comes later; the last one is never compacted.
        kafka.put(topic, 0, [Put(b'{"a": 99}', key=b"last")])
        return len(left()) < 12 and left()[0] != 0

    until(is_compacted)
    there = left()
    run = Run(kafka.source(topic, COLUMN))
    epochs = [run.epoch(7) for _ in range(12)]
    rest = run.epoch()
    found = [n for epoch in (*epochs, rest) for n in (*epoch.offsets, *epoch.bad)]
    assert sorted(found) == [offset for offset in range(rest.end(f"{topic}-0")) if offset in there]


def test_what_was_fetched_ahead_is_given_in_the_next_epoch(kafka: Kit) -> None:
    topic = kafka.topic("ahead")
    kafka.put(topic, 0, values(*range(100)))
    run = Run(kafka.source(topic, COLUMN))
    sizes = [1, 7, 50, 2, 40]
    assert [len(read) for read in run.sizes(sizes)] == sizes
    kafka.put(topic, 0, values(100, 101))
    assert run.epoch().column("a") == [100, 101]


def test_an_epoch_that_is_read_again_gives_the_same(kafka: Kit) -> None:
    topic = kafka.topic("again")
    kafka.put(topic, 0, values(*range(50)))
    run = Run(kafka.source(topic, COLUMN))
    run.epoch(10)
    plans = run.plan(20)
    first = run.read(plans)
    assert first.column("a") == list(range(10, 30))
    assert run.read(plans).rows == first.rows
    run.commit(first)
    assert run.epoch().column("a") == list(range(30, 50))


@pytest.mark.parametrize("seed", range(4))
def test_consumers_that_are_moved_back_and_forth(kafka: Kit, seed: int) -> None:
    """Partitions go from worker to worker, epochs are read again, caches are too small."""
    rng = random.Random(seed)
    topic = kafka.topic("moved", partitions=3)
    count = 3_000
    for partition in range(3):
        kafka.put(topic, partition, values(*range(count)))
    run = Run(kafka.source(topic, COLUMN))
    run.workers = [Consumers(most) for most in (1, 2, 32)]
    read: dict[str, list[int]] = {f"{topic}-{partition}": [] for partition in range(3)}
    while any(len(numbers) < count for numbers in read.values()):
        plans = run.plan(rng.choice([1, 10, 500, 2_000, 5_000]))
        for _ in range(rng.choice([0, 0, 1])):
            run.read(plans, rng.randrange(3))
        epoch = run.read(plans, rng.randrange(3))
        run.commit(epoch)
        for split, rows in epoch.rows.items():
            read[split] += [row["a"] for row in rows]
    assert all(numbers == list(range(count)) for numbers in read.values()), f"seed {seed}"


def test_a_reader_that_is_left_in_the_middle_spoils_nothing(kafka: Kit) -> None:
    topic = kafka.topic("left")
    kafka.put(topic, 0, values(*range(100_000)))
    run = Run(kafka.source(topic, COLUMN))
    plans = run.plan()
    reader = KafkaReader(run.table, ENGINE, consumers=run.workers[0])
    chunks = reader.read([SplitRange(f"{topic}-0", None, plans[f"{topic}-0"].end)])
    assert next(chunks)[1].data.num_rows >= 65_536
    del chunks
    assert run.epoch().column("a") == list(range(100_000))


def test_chunks_are_bounded_and_know_what_comes_next(kafka: Kit) -> None:
    topic = kafka.topic("chunks")
    kafka.put(topic, 0, values(*range(140_000)))
    run = Run(kafka.source(topic, COLUMN))
    plans = run.plan()
    reader = KafkaReader(run.table, ENGINE, consumers=run.workers[0])
    wanted = SplitRange(f"{topic}-0", None, plans[f"{topic}-0"].end)
    chunks = [chunk for _, chunk in reader.read([wanted])]
    assert len(chunks) == 3
    assert [chunk.next_offset for chunk in chunks] == [
        chunk.data[OFFSET][-1].as_py() + 1 for chunk in chunks
    ]


def test_large_messages(kafka: Kit) -> None:
    """Ten megabytes each, of which a queue holds less than one, between small ones."""
    topic = kafka.topic("large", settings={"max.message.bytes": str(12 << 20)})
    rng = random.Random(1)
    large = b'{"a": 2, "text": "%s"}' % rng.randbytes(5_000_000).hex().encode()
    kafka.put(topic, 0, [*values(1), large, *values(3), large, large, *values(6)])
    run = Run(kafka.source(topic, COLUMN))
    assert run.sizes([2, 2, 2]) == [[1, 2], [3, 2], [2, 6]]
    again = Run(kafka.source(topic, COLUMN))
    assert again.epoch().column("a") == [1, 2, 3, 2, 2, 6]


def test_two_tables_over_one_topic_do_not_disturb_each_other(kafka: Kit) -> None:
    """One worker, one topic, one name of a table: but properties differ."""
    topic = kafka.topic("two tables")
    kafka.put(topic, 0, values(0))
    aborted(kafka, topic, 2)
    kafka.put(topic, 0, values(4))
    committed_only = Run(kafka.source(topic, COLUMN))
    everything = Run(kafka.source(topic, COLUMN, properties_isolation_level="read_uncommitted"))
    everything.workers = committed_only.workers
    assert committed_only.epoch(1).column("a") == [0]
    assert everything.epoch(1).column("a") == [0]
    assert committed_only.epoch().column("a") == [4]
    assert everything.epoch().column("a") == [-1, -1, 4]


class LockedOut(Consumer):
    """A client that does as librdkafka's issue 5476 says, from when it is told to.

    The real one does so when a broker comes back in a bad moment, once in many times.
    """

    locked = False
    freed = threading.Event()

    def consume(self, *args: Any, **kwargs: Any) -> Any:
        if self.locked:
            self.freed.wait()
        return super().consume(*args, **kwargs)

    def close(self) -> None:
        if self.locked:
            self.freed.wait()
        super().close()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[LockedOut]]:
    """The clients of this test's readers."""
    found: list[LockedOut] = []

    def make(config: dict[str, Any]) -> LockedOut:
        found.append(LockedOut(config))
        return found[-1]

    monkeypatch.setattr(consumers, "Consumer", make)
    yield found
    LockedOut.freed.set()


def test_a_client_that_locks_itself_out_is_replaced(kafka: Kit, made: list[LockedOut]) -> None:
    topic = kafka.topic("locked out")
    kafka.put(topic, 0, values(*range(1_000)))
    run = Run(kafka.source(topic, COLUMN), patience=replace(USUAL, locked_out_s=3.0))
    assert run.epoch(300).column("a") == list(range(300))
    time.sleep(0.2)  # longer than behind an answer it is asked directly
    made[0].locked = True
    assert run.epoch().column("a") == list(range(300, 1_000))
    assert len(made) == 2
    kafka.put(topic, 0, values(1_000))
    assert run.epoch().column("a") == [1_000]
    assert len(made) == 2
