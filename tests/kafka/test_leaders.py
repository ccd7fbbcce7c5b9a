"""T9: brokers die while a job reads and writes, and come back: the job goes on, and is right."""

from __future__ import annotations

import signal
from pathlib import Path

from confluent_kafka.admin import AdminClient

from kafka.broker import Broker, Cluster
from kafka.killing import read_offsets
from kafka.kit import Kit
from kafka.orders import job_text, problems_of
from kafka.workload import PARTITIONS, Workload
from spark.processes import Command, Commands, wait_until


def test_leaders_die_one_after_the_other(
    three_brokers: Cluster, tidegate: Commands, tmp_path: Path
) -> None:
    kit = Kit(three_brokers.bootstrap)
    source = kit.topic("leaders-in", partitions=PARTITIONS, copies=3)
    sink = kit.topic("leaders-out", partitions=2, copies=3)
    command, checkpoint = _start(kit, source, sink, tidegate, tmp_path)
    with Workload(kit, source, seed=9) as workload:
        for _ in range(2):
            _wait_for_epochs(checkpoint, 2)
            leader = _leader(kit, three_brokers, source)
            leader.stop(signal.SIGKILL)
            _wait_for_epochs(checkpoint, 3)
            leader.start()
            three_brokers.wait()
        workload.wake()
        _wait_for_epochs(checkpoint, 2)
        workload.finish()
        workload.put_last()
    _finish(command, kit, source, checkpoint)
    assert problems_of(kit, source, sink, checkpoint) == []


def test_the_only_broker_is_away(lone_cluster: Cluster, tidegate: Commands, tmp_path: Path) -> None:
    kit = Kit(lone_cluster.bootstrap)
    source = kit.topic("away-in", partitions=PARTITIONS)
    sink = kit.topic("away-out", partitions=2)
    command, checkpoint = _start(kit, source, sink, tidegate, tmp_path)
    (broker,) = lone_cluster.brokers
    with Workload(kit, source, seed=10) as workload:
        for how in (signal.SIGKILL, signal.SIGTERM):
            _wait_for_epochs(checkpoint, 2)
            broker.stop(how)
            broker.start()
            lone_cluster.wait()
        workload.wake()
        _wait_for_epochs(checkpoint, 3)
        workload.finish()
        workload.put_last()
    _finish(command, kit, source, checkpoint)
    assert problems_of(kit, source, sink, checkpoint) == []


def _start(
    kit: Kit, source: str, sink: str, tidegate: Commands, directory: Path
) -> tuple[Command, Path]:
    file, checkpoint = directory / "job.sql", directory / "checkpoint"
    file.write_text(job_text(kit, source, sink))
    command = tidegate.start(
        *("run", file, "--checkpoint", checkpoint, "--json"),
        *("--set", "tidegate.epoch.interval=200ms"),
    )
    command.wait_for_line("Spark")
    return command, checkpoint


def _leader(kit: Kit, cluster: Cluster, topic: str) -> Broker:
    """The broker that leads partition 0."""
    client = AdminClient({"bootstrap.servers": kit.bootstrap, "log_level": 2})
    leader = client.list_topics(topic, timeout=10).topics[topic].partitions[0].leader
    return cluster.brokers[leader - 1]


def _epochs(checkpoint: Path) -> int:
    return len(list((checkpoint / "epochs").glob("*.json")))


def _wait_for_epochs(checkpoint: Path, more: int) -> None:
    wanted = _epochs(checkpoint) + more
    wait_until(lambda: _epochs(checkpoint) >= wanted, f"{more} epochs more")


def _finish(command: Command, kit: Kit, source: str, checkpoint: Path) -> None:
    ends = {f"{source}-{part}": len(found) for part, found in kit.read(source).items()}
    wait_until(lambda: read_offsets(checkpoint) == ends, "all is read")
    command.stop()
    ended = command.wait()
    assert ended.code == 0, ended.err
