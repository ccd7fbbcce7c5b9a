"""T9: three brokers, of which one after the other dies or restarts while rows are read and written.

A whole job goes on, and is right; so do a reader with its planner, and a sink's driver.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicCollection

from kafka.attempts import begun, found, write_while
from kafka.broker import Broker, Cluster
from kafka.conftest import RETURNS_SOON
from kafka.epochs import ENGINE, Run, rows_of, until, values
from kafka.kit import Kit
from kafka.live import Live
from kafka.orders import job_text, problems_of
from kafka.workload import PARTITIONS, Workload
from spark.processes import Warm
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.ports import SplitRange


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("trio"), brokers=3, settings=RETURNS_SOON) as running:
        yield running


@pytest.fixture
def trio(started: Cluster) -> Cluster:
    """Brokers of which any one may go: all run again for each test."""
    started.restore()
    return started


def leader(kit: Kit, cluster: Cluster, topic: str) -> Broker:
    """Who leads the first partition."""
    leading: list[Broker] = []

    def is_elected() -> bool:
        (future,) = kit.admin.describe_topics(TopicCollection([topic])).values()
        node = future.result(30).partitions[0].leader
        leading[:] = [] if node is None else [cluster.brokers[int(node.id) - 1]]
        return bool(leading) and leading[0].is_running

    until(is_elected)
    return leading[0]


def test_leaders_die_one_after_the_other(trio: Cluster, warm: Warm, tmp_path: Path) -> None:
    kit = Kit(trio.bootstrap)
    source = kit.topic("leaders-in", partitions=PARTITIONS, copies=3)
    sink = kit.topic("leaders-out", partitions=2, copies=3)
    file, checkpoint = tmp_path / "job.sql", tmp_path / "checkpoint"
    file.write_text(job_text(kit, source, sink))
    with Live(warm, file, checkpoint, epoch_interval="2s") as job:
        with Workload(kit, source, seed=9) as workload:
            for _ in range(2):
                job.wait_for_epochs(1)
                killed = leader(kit, trio, source)
                killed.stop(signal.SIGKILL)
                job.wait_for_epochs(2)  # one of them is planned without it
                killed.start()
                trio.wait()
            workload.wake()
            job.wait_for_epochs(1)
            workload.finish()
            workload.put_last()
        job.wait_until_all_is_read(kit, source)
        ended = job.stop()
    assert ended.code == 0, ended.err
    assert problems_of(kit, source, sink, checkpoint) == []


@pytest.mark.usefixtures("fresh_worker")
def test_leaders_change(trio: Cluster) -> None:
    """A broker goes at once, another in an orderly way; both come back."""
    kafka = Kit(trio.bootstrap)
    driver = begun(kafka, "leaders", copies=3)

    def change() -> None:
        for broker, way in zip(trio.brokers, (signal.SIGKILL, signal.SIGTERM), strict=False):
            broker.stop(way)
            broker.start()
            trio.wait()

    written = write_while(driver, change, first=2)
    assert found(kafka, driver) == [1, *written]


def test_leaders_are_killed_while_rows_are_read_and_planned(trio: Cluster) -> None:
    kit = Kit(trio.bootstrap)
    topic = kit.topic("leaders", copies=3)
    run = Run(kit.source(topic, ("a", "BIGINT")))
    count = 100_000
    kit.put(topic, 0, values(*range(count)))
    (split,) = plans = run.plan()
    reader = KafkaReader(run.table, ENGINE, consumers=run.workers[0])
    chunks = reader.read([SplitRange(split, None, plans[split].end)])
    read = next(chunks)[1].data["a"].to_pylist()
    killed = leader(kit, trio, topic)
    killed.stop(signal.SIGKILL)
    for _, chunk in chunks:
        read += chunk.data["a"].to_pylist()
    assert read == list(range(count))
    run.positions = {split: plans[split].end}
    kit.put(topic, 0, values(count))  # to the new leader
    assert rows_of(run, 1) == [count]
    killed.start()
    trio.wait()
    kit.put(topic, 0, values(count + 1))
    leader(kit, trio, topic).stop(signal.SIGKILL)
    assert rows_of(run, 1) == [count + 1]
