"""Idleness (S8) as the planner decides it, against a real broker and a clock in our hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka.kit import Kit
from kafka.orders import job_text
from tidegate.clock import ManualClock
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.job import WireJob
from tidegate.epochs.offsets import Offset
from tidegate.epochs.planner import Planner
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut
from tidegate.types import Status

TIMEOUT_S = 5
ROW = b'{"id": 1, "order_time": "2024-05-01 08:00:00"}'


class Run:
    """A planner, and where its job stands."""

    def __init__(self, kit: Kit, topic: str, directory: Path, rows_max: int = 100) -> None:
        options = {"scan.watermark.idle-timeout": f"{TIMEOUT_S} s"}
        text = job_text(kit, topic, "nowhere", options)
        checkpoint = Checkpoint(str(directory))
        checkpoint.create()
        plan = cut(compile_sql(text, "job.sql", {}), vnodes=2)
        self.job = WireJob(plan, checkpoint.uri, rows_max, 2, False)
        self.topic = topic
        self.clock = ManualClock(1_700_000_000_000_000)
        self.planner = Planner(self.job, self.clock)
        self.at = Offset()

    def poll(self, after_s: float = 0) -> None:
        """One trigger; the epoch that it plans, if any, is committed at once."""
        self.clock.sleep(after_s)
        self.at = Offset.from_json(self.planner.next_offset(self.at).to_json())

    def restart(self) -> None:
        """Another process plans on."""
        self.planner = Planner(self.job, self.clock)

    @property
    def statuses(self) -> list[Status]:
        return [status for _, (_, status) in sorted(self.at.tables["orders"].items())]

    def offset(self, partition: int) -> int:
        position = self.at.tables["orders"][f"{self.topic}-{partition}"][0]
        assert isinstance(position, list)
        assert isinstance(position[0], int)
        return position[0]


@pytest.fixture
def topic(kafka: Kit) -> str:
    return kafka.topic("idleness", partitions=2)


def test_an_empty_partition_is_idle_when_the_timeout_has_passed(
    kafka: Kit, topic: str, tmp_path: Path
) -> None:
    run = Run(kafka, topic, tmp_path)
    kafka.put(topic, 0, [ROW])
    run.poll()
    assert run.statuses == [Status.ACTIVE, Status.ACTIVE]
    for _ in range(TIMEOUT_S):
        kafka.put(topic, 0, [ROW])
        run.poll(after_s=1)
        assert run.statuses == [Status.ACTIVE, Status.ACTIVE]
    kafka.put(topic, 0, [ROW])
    run.poll(after_s=1)  # the timeout, and one epoch
    assert run.statuses == [Status.ACTIVE, Status.IDLE]


def test_a_partition_that_is_behind_is_never_idle(kafka: Kit, topic: str, tmp_path: Path) -> None:
    run = Run(kafka, topic, tmp_path, rows_max=4)
    for partition in (0, 1):
        kafka.put(topic, partition, [ROW] * 12)
    for _ in range(3):
        run.poll(after_s=10 * TIMEOUT_S)  # a slow job: each epoch takes longer than the timeout
        assert run.statuses == [Status.ACTIVE, Status.ACTIVE]
    assert [run.offset(0), run.offset(1)] == [6, 6]


def test_the_time_before_it_was_read_up_does_not_count(
    kafka: Kit, topic: str, tmp_path: Path
) -> None:
    run = Run(kafka, topic, tmp_path)
    kafka.put(topic, 0, [ROW])
    run.poll()
    run.poll(after_s=100)  # the epoch that has read it took long; from here on it stands
    assert run.statuses == [Status.ACTIVE, Status.ACTIVE]
    run.poll(after_s=TIMEOUT_S - 1)
    assert run.statuses == [Status.ACTIVE, Status.ACTIVE]
    run.poll(after_s=1)
    assert run.statuses == [Status.IDLE, Status.IDLE]


def test_a_row_begins_the_time_anew(kafka: Kit, topic: str, tmp_path: Path) -> None:
    run = Run(kafka, topic, tmp_path)
    run.poll()
    run.poll(after_s=1)
    run.poll(after_s=TIMEOUT_S - 1)
    kafka.put(topic, 1, [ROW])
    run.poll(after_s=1)
    assert run.statuses == [Status.IDLE, Status.ACTIVE]
    run.poll(after_s=TIMEOUT_S - 1)
    assert run.statuses == [Status.IDLE, Status.ACTIVE]


def test_an_idle_partition_returns_with_its_first_row(
    kafka: Kit, topic: str, tmp_path: Path
) -> None:
    run = Run(kafka, topic, tmp_path)
    run.poll()
    run.poll(after_s=1)
    run.poll(after_s=TIMEOUT_S)
    assert run.statuses == [Status.IDLE, Status.IDLE]
    before = run.at.epoch
    run.poll(after_s=50)
    assert run.at.epoch == before, "nothing changes, so no epoch runs"
    kafka.put(topic, 1, [ROW])
    run.poll(after_s=1)
    assert run.statuses == [Status.IDLE, Status.ACTIVE]
    assert run.offset(1) == 1


def test_a_restart_counts_from_its_own_start(kafka: Kit, topic: str, tmp_path: Path) -> None:
    run = Run(kafka, topic, tmp_path)
    kafka.put(topic, 0, [ROW])
    run.poll()
    run.poll(after_s=1)
    run.poll(after_s=TIMEOUT_S - 1)
    run.restart()
    run.poll(after_s=100)  # nobody knows whether the job lived in that time
    assert run.statuses == [Status.ACTIVE, Status.ACTIVE]
    run.poll(after_s=TIMEOUT_S)
    assert run.statuses == [Status.IDLE, Status.IDLE]
    run.restart()
    run.poll(after_s=1)
    assert run.statuses == [Status.IDLE, Status.IDLE], "who is idle stays so over a restart"


def test_without_a_timeout_nobody_is_idle(kafka: Kit, topic: str, tmp_path: Path) -> None:
    run = Run(kafka, topic, tmp_path)
    run.job = WireJob(
        cut(compile_sql(job_text(kafka, topic, "nowhere"), "job.sql", {}), vnodes=2),
        run.job.checkpoint,
        100,
        2,
        False,
    )
    run.restart()
    run.poll()
    for _ in range(5):
        run.poll(after_s=1_000)
    assert run.statuses == [Status.ACTIVE, Status.ACTIVE]
