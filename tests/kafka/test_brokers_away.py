"""T9: brokers restart and leaders change, while a table is planned and while it is read."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from confluent_kafka import TopicCollection

from kafka.broker import Broker, Cluster
from kafka.conftest import RETURNS_SOON
from kafka.epochs import ENGINE, Run, until, values
from kafka.kit import Kit
from tidegate.clock import ManualClock, SystemClock
from tidegate.connectors.kafka.patience import USUAL
from tidegate.connectors.kafka.planner import KafkaPlanner
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.errors import RunError, TrustError
from tidegate.ports import SplitRange

COLUMN = ("a", "BIGINT")
QUICK = replace(USUAL, question=replace(USUAL.question, in_all_s=0.2))
"""Questions whose answer is not waited for."""


@contextmanager
def away(broker: Broker) -> Iterator[None]:
    """The broker dies, and begins to start again at once, which takes seconds."""
    broker.stop(signal.SIGKILL)
    starting = threading.Thread(target=broker.start)
    starting.start()
    try:
        yield
    finally:
        starting.join()


def leader(kit: Kit, cluster: Cluster, topic: str) -> Broker:
    """Who leads the first partition."""
    found: list[Broker] = []

    def is_elected() -> bool:
        (future,) = kit.admin.describe_topics(TopicCollection([topic])).values()
        node = future.result(30).partitions[0].leader
        found[:] = [] if node is None else [cluster.brokers[int(node.id) - 1]]
        return bool(found) and found[0].is_running

    until(is_elected)
    return found[0]


def rows_of(run: Run, count: int) -> list[int]:
    """Runs epochs until as many rows have come."""
    read: list[int] = []

    def is_enough() -> bool:
        read.extend(run.epoch().column("a"))
        return len(read) >= count

    until(is_enough)
    return read


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("away"), settings=RETURNS_SOON) as running:
        yield running


@pytest.fixture
def lone_cluster(broken: Cluster) -> Cluster:
    """As that of the same name, but one for all tests here: it runs again for each."""
    if not broken.brokers[0].is_running:
        broken.brokers[0].start()
        broken.wait()
    return broken


def test_a_broker_restarts_in_the_middle_of_an_epoch(lone_cluster: Cluster) -> None:
    kit = Kit(lone_cluster.bootstrap)
    topic = kit.topic("restart")
    count = 150_000
    kit.put(topic, 0, values(*range(count)))
    run = Run(kit.source(topic, COLUMN))
    (split,) = plans = run.plan()
    reader = KafkaReader(run.table, ENGINE, consumers=run.workers[0])
    chunks = reader.read([SplitRange(split, None, plans[split].end)])
    read = next(chunks)[1].data["a"].to_pylist()
    with away(lone_cluster.brokers[0]):
        for _, chunk in chunks:
            read += chunk.data["a"].to_pylist()
    assert read == list(range(count))


def test_a_broker_is_away_when_an_epoch_begins_and_when_it_ends(lone_cluster: Cluster) -> None:
    """Cached: all rows are fetched, and only the topic's identity is asked for. Else: none is."""
    kit = Kit(lone_cluster.bootstrap)
    topic = kit.topic("ends")
    kit.put(topic, 0, values(*range(20)))
    run = Run(kit.source(topic, COLUMN), workers=2)
    assert run.epoch(5).column("a") == list(range(5))
    plans = run.plan(5)
    with away(lone_cluster.brokers[0]):
        epoch = run.read(plans)
    assert epoch.column("a") == list(range(5, 10))
    run.commit(epoch)
    plans = run.plan()
    with away(lone_cluster.brokers[0]):
        epoch = run.read(plans, worker=1)
    assert epoch.column("a") == list(range(10, 20))


def test_the_planner_goes_on_when_the_broker_is_there_again(lone_cluster: Cluster) -> None:
    kit = Kit(lone_cluster.bootstrap)
    topic = kit.topic("planned", partitions=2)
    kit.put(topic, 0, values(0, 1))
    clock = ManualClock()
    run = Run(kit.source(topic, COLUMN), clock=clock, patience=QUICK)
    assert run.epoch().column("a") == [0, 1]
    kit.put(topic, 0, values(2))
    lone_cluster.brokers[0].stop(signal.SIGKILL)
    before = dict(run.positions)
    clock.time_us += 600_000_000  # an epoch that took long is no silence of the broker's
    for _ in range(3):
        epoch = run.epoch()
        clock.time_us += 20_000_000
        assert run.positions == before
        assert not any(plan.at_end or plan.finished for plan in epoch.plans.values())
        assert run.planner.waiting(run.positions) == []
    lone_cluster.brokers[0].start()
    lone_cluster.wait()
    assert rows_of(run, 1) == [2]
    lone_cluster.brokers[0].stop(signal.SIGKILL)
    clock.time_us += 600_000_000
    run.epoch()  # the first silence is over: this is another one


def test_the_planner_gives_up_in_the_end(lone_cluster: Cluster) -> None:
    kit = Kit(lone_cluster.bootstrap)
    topic = kit.topic("given up")
    clock = ManualClock()
    run = Run(kit.source(topic, COLUMN), clock=clock, patience=QUICK)
    run.epoch()
    lone_cluster.brokers[0].stop(signal.SIGKILL)
    run.epoch()
    clock.time_us += int(USUAL.running.in_all_s * 1e6)
    run.epoch()
    clock.time_us += 1
    with pytest.raises(RunError, match="no answer from the brokers at") as caught:
        run.epoch()
    assert "Connection refused" in caught.value.detail
    assert caught.value.exit_code == 1


def test_the_leader_is_away_when_a_job_starts(lone_cluster: Cluster) -> None:
    """Another may be elected, where the cluster has told of its topics."""
    kit = Kit(lone_cluster.bootstrap)
    topic = kit.topic("starts")
    kit.put(topic, 0, values(0, 1))
    table = kit.source(topic, COLUMN)
    planner = KafkaPlanner(table, available_now=False, patience=QUICK)
    start = dict.fromkeys(planner.splits())
    with away(lone_cluster.brokers[0]):
        assert planner.plan(start, None)[f"{topic}-0"].rows_max == 2
    clock = ManualClock()
    planner = KafkaPlanner(table, available_now=False, clock=clock, patience=QUICK)
    start = dict.fromkeys(planner.splits())
    lone_cluster.brokers[0].stop(signal.SIGKILL)
    with pytest.raises(RunError, match="no answer from the brokers at"):
        planner.plan(start, None)
    assert clock.time_us >= USUAL.starting.in_all_s * 1e6


def test_splits_that_are_finished_stay_so_without_a_broker(lone_cluster: Cluster) -> None:
    kit = Kit(lone_cluster.bootstrap)
    topic = kit.topic("finished")
    kit.put(topic, 0, values(0))
    run = Run(kit.source(topic, COLUMN, scan_bounded_mode="latest-offset"))
    assert run.epoch().plans[f"{topic}-0"].finished
    lone_cluster.brokers[0].stop(signal.SIGKILL)
    assert run.planner.plan(run.positions, None)[f"{topic}-0"].finished


def test_a_run_that_ends_by_itself_does_not_take_silence_for_its_end(lone_cluster: Cluster) -> None:
    kit = Kit(lone_cluster.bootstrap)
    topic = kit.topic("not the end")
    kit.put(topic, 0, values(0, 1, 2))
    run = Run(kit.source(topic, COLUMN, scan_bounded_mode="latest-offset"), patience=QUICK)
    assert run.epoch(2).column("a") == [0, 1]
    with away(lone_cluster.brokers[0]):
        assert run.epoch().column("a") == [2]


class HurriedClock(SystemClock):
    """A minute is a second."""

    def monotonic_s(self) -> float:
        return super().monotonic_s() * 60


def test_the_reader_gives_up_in_the_end(lone_cluster: Cluster) -> None:
    kit = Kit(lone_cluster.bootstrap)
    topic = kit.topic("reader gives up")
    kit.put(topic, 0, values(0))
    run = Run(kit.source(topic, COLUMN))
    (split,) = plans = run.plan()
    lone_cluster.brokers[0].stop(signal.SIGKILL)
    reader = KafkaReader(run.table, ENGINE, HurriedClock(), run.workers[0], QUICK)
    waited = f"came for {USUAL.hearing.in_all_s:.0f} s, at offset 0 of 1"
    with pytest.raises(RunError, match=waited) as caught:
        list(reader.read([SplitRange(split, None, plans[split].end)]))
    assert "Connection refused" in caught.value.detail


def test_leaders_are_killed_while_rows_are_read_and_planned(
    three_brokers: Cluster,
) -> None:
    kit = Kit(three_brokers.bootstrap)
    topic = kit.topic("leaders", copies=3)
    run = Run(kit.source(topic, COLUMN))
    count = 100_000
    kit.put(topic, 0, values(*range(count)))
    (split,) = plans = run.plan()
    reader = KafkaReader(run.table, ENGINE, consumers=run.workers[0])
    chunks = reader.read([SplitRange(split, None, plans[split].end)])
    read = next(chunks)[1].data["a"].to_pylist()
    killed = leader(kit, three_brokers, topic)
    killed.stop(signal.SIGKILL)
    for _, chunk in chunks:
        read += chunk.data["a"].to_pylist()
    assert read == list(range(count))
    run.positions = {split: plans[split].end}
    kit.put(topic, 0, values(count))  # to the new leader
    assert rows_of(run, 1) == [count]
    killed.start()
    three_brokers.wait()
    kit.put(topic, 0, values(count + 1))
    leader(kit, three_brokers, topic).stop(signal.SIGKILL)
    assert rows_of(run, 1) == [count + 1]


def test_a_byte_that_changed_on_the_brokers_disk(lone_cluster: Cluster) -> None:
    """The broker gives it out as it is. Neither it nor what stands behind it is left out."""
    kit = Kit(lone_cluster.bootstrap)
    topic = kit.topic("corrupt")
    for part in range(3):
        kit.put(topic, 0, values(*range(10 * part, 10 * part + 10)))
    run = Run(kit.source(topic, COLUMN))
    plans = run.plan()
    lone_cluster.brokers[0].stop()
    (segment,) = lone_cluster.brokers[0].data.glob(f"{topic}-0/*.log")
    content = segment.read_bytes()
    assert content.count(b'{"a": 15}') == 1
    segment.write_bytes(content.replace(b'{"a": 15}', b'{"a": 75}'))
    lone_cluster.brokers[0].start()
    lone_cluster.wait()
    with pytest.raises(TrustError, match=f"'{topic}' cannot be read at offset 10") as caught:
        run.read(plans)
    assert "CRC" in caught.value.detail
