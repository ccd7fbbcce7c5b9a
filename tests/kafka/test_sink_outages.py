"""Brokers that go away in the midst of transactions, and what they forget (T9)."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from weakref import ref

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from kafka.attempts import Attempts, Driver, begun, forget_producers, found, write_while
from kafka.broker import Cluster
from kafka.kit import Kit
from spark.processes import wait_until
from tidegate.connectors.kafka import delivery, transactions
from tidegate.connectors.kafka.patience import USUAL

pytestmark = pytest.mark.usefixtures("fresh_worker")


def test_the_broker_is_killed(lone_cluster: Cluster, attempts: Attempts) -> None:
    """In the midst of transactions, and again while epoch follows epoch."""
    kafka = Kit(lone_cluster.bootstrap)
    (broker,) = lone_cluster.brokers
    steps = ("sink-looked", "sink-produced", "sink-before-commit")
    drivers = [begun(kafka, step) for step in steps]
    tasks = [
        attempts.stopped(driver.attempt(2, 3), step)
        for driver, step in zip(drivers, steps, strict=True)
    ]
    broker.stop(signal.SIGKILL)
    for task in tasks:
        task.go_on()
    broker.start()
    assert [task.result() for task in tasks] == ["done"] * 3
    for driver in drivers:
        driver.enter(*driver.attempt(2, 3).run())
        driver.epoch(4)
        assert found(kafka, driver) == [1, 2, 3, 4]

    def kill() -> None:
        broker.stop(signal.SIGKILL)
        broker.start()
        lone_cluster.wait()

    written = write_while(drivers[0], kill, first=5)
    assert found(kafka, drivers[0]) == [1, 2, 3, 4, *written]


class Unaware(Consumer):
    """A client that never hears who coordinates its group."""

    def committed(self, *_args: Any, **_kwargs: Any) -> Any:
        raise KafkaException(KafkaError(KafkaError.NOT_COORDINATOR))


@pytest.mark.parametrize("kind", ["deaf", "unaware"])
def test_a_look_that_gets_no_answer(
    kafka: Kit, nobody: str, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Of clients that hear nothing, though the brokers answer others: the third one does.

    Real clients are put in the place of the sink's, since none falls silent on demand.
    """
    driver = begun(kafka, kind)
    driver.patience = replace(USUAL, fence=replace(USUAL.fence, try_s=1.0))  # the test is shorter
    clients: list[Consumer] = []

    def make(config: dict[str, Any]) -> Consumer:
        if len(clients) >= 2:
            client = Consumer(config)
        elif kind == "deaf":
            client = Consumer(config | {"bootstrap.servers": nobody})
        else:
            client = Unaware(config)
        clients.append(client)
        return client

    monkeypatch.setattr(transactions, "Consumer", make)
    forget_producers()
    driver.epoch(2)
    assert len(clients) == 3
    clients.clear()
    successor = driver.successor().start()
    assert len(clients) == 3
    successor.epoch(3)
    assert found(kafka, driver) == [1, 2, 3]


class Unheard(Producer):
    """A client for which another transaction is never complete."""

    def init_transactions(self, timeout: float = -1) -> None:
        time.sleep(timeout)
        raise KafkaException(KafkaError(KafkaError.CONCURRENT_TRANSACTIONS))


@pytest.mark.parametrize("kind", ["deaf", "unheard"])
def test_a_fence_that_gets_no_answer(
    kafka: Kit, nobody: str, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """As a look: the sixth client's does, though four tries that fail are the end of an epoch.

    None is left that could fence it later.
    """
    driver = begun(kafka, kind)
    driver.patience = replace(USUAL, fence=replace(USUAL.fence, try_s=0.2))  # the test is shorter
    clients: list[ref[Producer]] = []

    class Plain(Producer):
        """One that a test may refer to weakly."""

    def make(config: dict[str, Any]) -> Producer:
        assert [client() for client in clients] == [None] * len(clients)
        silent = len(clients) < 5
        if silent and kind == "deaf":
            config = config | {"bootstrap.servers": nobody}
        client = Unheard(config) if silent and kind == "unheard" else Plain(config)
        clients.append(ref(client))
        return client

    monkeypatch.setattr(delivery, "Producer", make)
    forget_producers()
    driver.epoch(2)
    assert len(clients) == 6
    forget_producers()
    successor = driver.successor()
    clients.clear()
    successor.start()
    assert len(clients) == 6
    successor.epoch(3)
    assert found(kafka, driver) == [1, 2, 3]


@pytest.fixture(scope="module")
def duo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two brokers that have nothing in common, and hold no election while one of them is stopped.

    Kafka forgets a transaction's marker for a partition that has no leader (KAFKA-20734).
    """
    alone = {
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    with Cluster(tmp_path_factory.mktemp("duo"), brokers=2, settings=alone) as running:
        yield running


def test_a_commit_that_is_decided_and_not_done(duo: Cluster, attempts: Attempts) -> None:
    """The fence waits for it: the broker that has the rows does not know yet that they count.

    For longer than four of its clients would have, if each that gave up were a try that failed.
    """
    kafka = Kit(duo.bootstrap)
    driver, leader = rows_apart(kafka)
    driver.patience = replace(USUAL, fence=replace(USUAL.fence, try_s=0.5))  # the test is shorter
    attempt = driver.attempt(2, 3)
    task = attempts.stopped(attempt, "sink-before-commit")
    broker = duo.brokers[leader - 1]
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        task.go_on()
        assert task.result() == "done"
        again = attempts.start(attempt, f"sink-fenced:{attempt.epoch}:stop")
        assert not again.ends(within_s=4)
    finally:
        os.kill(broker.pid, signal.SIGCONT)
    again.wait_for_stop()
    again.go_on()
    assert again.result() == "done"
    assert found(kafka, driver) == [1, 2, 3]


def rows_apart(kafka: Kit) -> tuple[Driver, int]:
    """A driver whose topic lies on a broker that does not coordinate its transactions; and that."""
    begun(kafka, "first")  # makes the topics of the brokers themselves
    for number in range(100):
        topic = kafka.topic("apart")
        driver = Driver(kafka.sink(topic, ("id", "BIGINT")), kept={"identity": f"apart-{number}"})
        leader, busy = leader_of(kafka, topic, 0), hash_of(driver.id()) % 4
        if leader != leader_of(kafka, "__transaction_state", busy):
            driver.start().epoch(1)
            return driver, leader
    raise AssertionError("each topic lies where its coordinator is")


def leader_of(kafka: Kit, topic: str, partition: int) -> int:
    known = kafka.admin.list_topics(topic, timeout=10).topics[topic]
    return int(known.partitions[partition].leader)


def hash_of(text: str) -> int:
    """As Java has it, without its sign."""
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return abs(value - (1 << 32) if value >> 31 else value)


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kit]:
    """A broker that ends transactions when their time is over, and forgets who wrote any."""
    settings = {
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
        "transactional.id.expiration.ms": "1500",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "100",
        "producer.id.expiration.ms": "1500",
        "producer.id.expiration.check.interval.ms": "100",
    }
    with Cluster(tmp_path_factory.mktemp("forgetful"), settings=settings) as running:
        yield Kit(running.bootstrap)


def test_a_transaction_runs_out_of_time(forgetful: Kit, attempts: Attempts) -> None:
    """The broker has undone it while its task was stopped; the task does it again."""
    driver = begun(forgetful, "slow", sink_transaction__timeout="1 s")
    topic = driver.table.option("topic")
    attempt = driver.attempt(2, 3)
    task = attempts.stopped(attempt, "sink-before-commit")
    for partition in (0, 1):
        forgetful.put(topic, partition, [b'{"id":0}'])
    # Seen only when the transaction before them has an end.
    wait_until(lambda: found(forgetful, driver) == [0, 0, 1], "the transaction is undone")
    task.go_on()
    assert task.result() == "done"
    driver.enter(*attempt.run())
    driver.epoch(4)
    assert found(forgetful, driver) == [0, 0, 1, 2, 3, 4]


def test_a_writer_that_the_broker_has_forgotten(forgetful: Kit, attempts: Attempts) -> None:
    """Its id has expired, a kept producer's too; its marker has not."""
    driver = begun(forgetful, "expired")
    for epoch in (2, 3):
        wait_until(lambda: is_forgotten(forgetful, driver.id()), "the id expires")
        driver.epoch(epoch)
    attempt = driver.attempt(4)
    staged = attempt.run()
    wait_until(lambda: is_forgotten(forgetful, driver.id()), "the id expires")
    assert attempts.run(attempt) == "done"
    driver.enter(*staged)
    driver.successor().start().epoch(5)
    assert found(forgetful, driver) == [1, 2, 3, 4, 5]


def is_forgotten(kafka: Kit, transactional_id: str) -> bool:
    """Whether the last that the log of transactions says of an id is that it is gone."""
    said = [
        message.value()
        for part in kafka.read("__transaction_state").values()
        for message in part
        if (message.key() or b"").endswith(transactional_id.encode())
    ]
    return said[-1] is None
