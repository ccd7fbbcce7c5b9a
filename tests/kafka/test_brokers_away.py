"""T9: the only broker goes and comes, while a table is planned and read, and while a job runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kafka.broker import Broker, Cluster
from kafka.conftest import RETURNS_SOON
from kafka.epochs import ENGINE, Run, rows_of, values
from kafka.kit import Kit
from kafka.live import Live
from kafka.orders import job_text, problems_of
from kafka.workload import PARTITIONS, Workload
from spark.processes import Warm
from tidegate.clock import ManualClock, SystemClock
from tidegate.connectors.kafka.patience import USUAL
from tidegate.connectors.kafka.planner import KafkaPlanner
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.errors import RunError, TrustError
from tidegate.ports import SplitRange

COLUMN = ("a", "BIGINT")
QUICK = replace(USUAL, question=replace(USUAL.question, in_all_s=1.0))
"""Questions whose answer is not waited for longer than a busy broker may need for it."""


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


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("away"), settings=RETURNS_SOON) as running:
        yield running


@pytest.fixture
def lone_cluster(broken: Cluster) -> Cluster:
    """As that of the same name, but one for all tests here: it runs again for each."""
    broken.restore()
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


def test_a_run_that_ends_by_itself_does_not_take_silence_for_its_end(lone_cluster: Cluster) -> None:
    kit = Kit(lone_cluster.bootstrap)
    topic = kit.topic("not the end")
    kit.put(topic, 0, values(0, 1, 2))
    run = Run(kit.source(topic, COLUMN, scan_bounded_mode="latest-offset"), patience=QUICK)
    assert run.epoch(2).column("a") == [0, 1]
    with away(lone_cluster.brokers[0]):
        assert run.epoch().column("a") == [2]


def test_a_job_goes_on_when_the_broker_is_there_again(
    lone_cluster: Cluster, warm: Warm, tmp_path: Path
) -> None:
    """It writes there too."""
    kit = Kit(lone_cluster.bootstrap)
    source = kit.topic("away-in", partitions=PARTITIONS)
    sink = kit.topic("away-out", partitions=2)
    file, checkpoint = tmp_path / "job.sql", tmp_path / "checkpoint"
    file.write_text(job_text(kit, source, sink))
    (broker,) = lone_cluster.brokers
    with Live(warm, file, checkpoint, epoch_interval="2s") as job:
        with Workload(kit, source, seed=10) as workload:
            for how in (signal.SIGKILL, signal.SIGTERM):
                job.wait_for_epochs(2)
                broker.stop(how)
                broker.start()
                lone_cluster.wait()
            workload.wake()
            job.wait_for_epochs(2)
            workload.finish()
            workload.put_last()
        job.wait_until_all_is_read(kit, source)
        ended = job.stop()
    assert ended.code == 0, ended.err
    assert problems_of(kit, source, sink, checkpoint) == []


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


class HurriedClock(SystemClock):
    """A minute is a second."""

    def monotonic_s(self) -> float:
        return super().monotonic_s() * 60


def a_planner_gives_up_in_the_end(kit: Kit) -> Iterator[None]:
    clock = ManualClock()
    run = Run(kit.source(kit.topic("given up"), COLUMN), clock=clock, patience=QUICK)
    run.epoch()
    yield
    run.epoch()
    clock.time_us += int(USUAL.running.in_all_s * 1e6)
    run.epoch()
    clock.time_us += 1
    with pytest.raises(RunError, match="no answer from the brokers at") as caught:
        run.epoch()
    assert "Connection refused" in caught.value.detail
    assert caught.value.exit_code == 1


def a_planner_gives_up_where_a_job_starts(kit: Kit) -> Iterator[None]:
    topic = kit.topic("never starts")
    kit.put(topic, 0, values(0, 1))
    clock = ManualClock()
    starting = replace(USUAL.starting, in_all_s=5.0)  # the test is shorter
    patience = replace(QUICK, starting=starting)
    table = kit.source(topic, COLUMN)
    planner = KafkaPlanner(table, available_now=False, clock=clock, patience=patience)
    start = dict.fromkeys(planner.splits())
    yield
    with pytest.raises(RunError, match="no answer from the brokers at"):
        planner.plan(start, None)
    assert clock.time_us >= starting.in_all_s * 1e6


def splits_that_are_finished_stay_so(kit: Kit) -> Iterator[None]:
    topic = kit.topic("finished")
    kit.put(topic, 0, values(0))
    run = Run(kit.source(topic, COLUMN, scan_bounded_mode="latest-offset"))
    assert run.epoch().plans[f"{topic}-0"].finished
    yield
    assert run.planner.plan(run.positions, None)[f"{topic}-0"].finished


def a_reader_gives_up_in_the_end(kit: Kit) -> Iterator[None]:
    topic = kit.topic("reader gives up")
    kit.put(topic, 0, values(0))
    run = Run(kit.source(topic, COLUMN))
    (split,) = plans = run.plan()
    yield
    reader = KafkaReader(run.table, ENGINE, HurriedClock(), run.workers[0], QUICK)
    waited = f"came for {USUAL.hearing.in_all_s:.0f} s, at offset 0 of 1"
    with pytest.raises(RunError, match=waited) as caught:
        list(reader.read([SplitRange(split, None, plans[split].end)]))
    assert "Connection refused" in caught.value.detail


def test_a_broker_that_does_not_come_back(lone_cluster: Cluster) -> None:
    """All of them live up to their ``yield``, then the broker dies."""
    kit = Kit(lone_cluster.bootstrap)
    lives = [
        a_planner_gives_up_in_the_end(kit),
        a_planner_gives_up_where_a_job_starts(kit),
        splits_that_are_finished_stay_so(kit),
        a_reader_gives_up_in_the_end(kit),
    ]
    for life in lives:
        next(life)
    lone_cluster.brokers[0].stop(signal.SIGKILL)
    for life in lives:
        assert list(life) == []
