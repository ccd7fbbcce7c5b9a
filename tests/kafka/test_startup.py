"""Where a table begins and ends: `scan.startup.mode`, `scan.bounded.mode`, in the topic's truth."""

from __future__ import annotations

from typing import Any

import pytest

from kafka.epochs import Run, commit_offsets, ended_at, values
from kafka.kit import Kit, Put
from tidegate.errors import OptionsError

COLUMN = ("a", "BIGINT")
FIRST = [0, 1, 2, 3, 4]  # partition 0: a = offset, at second a
SECOND = [10, 11, 12]  # partition 1: a = 10 + offset, at second a


@pytest.fixture(scope="module")
def topic(kafka: Kit) -> str:
    name = kafka.topic("startup", partitions=2)
    for partition, numbers in enumerate((FIRST, SECOND)):
        messages = [Put(b'{"a": %d}' % n, time_ms=n * 1000 or 1) for n in numbers]
        kafka.put(name, partition, messages)
    commit_offsets(kafka, "both", name, {0: 3, 1: 1})
    commit_offsets(kafka, "first-only", name, {0: 3})
    return name


def scan(**options: Any) -> dict[str, Any]:
    return {f"scan_startup_{name}": value for name, value in options.items()}


@pytest.mark.parametrize(
    ("options", "read"),
    [
        ({}, FIRST + SECOND),
        (scan(mode="earliest-offset"), FIRST + SECOND),
        (scan(mode="latest-offset"), []),
        (scan(mode="timestamp", timestamp__millis="3000"), [3, 4, *SECOND]),
        (scan(mode="timestamp", timestamp__millis="2500"), [3, 4, *SECOND]),
        (scan(mode="timestamp", timestamp__millis="11000"), [11, 12]),
        (scan(mode="timestamp", timestamp__millis="99000"), []),
        (scan(mode="timestamp", timestamp__millis="0"), FIRST + SECOND),
        (
            scan(mode="specific-offsets", specific__offsets="partition:0,offset:4;"),
            [4, *SECOND],
        ),
        (
            scan(
                mode="specific-offsets",
                specific__offsets="partition:0,offset:5;partition:1,offset:2",
            ),
            [12],
        ),
        ({"properties_group_id": "both"}, [3, 4, 11, 12]),
        (scan(mode="group-offsets") | {"properties_group_id": "both"}, [3, 4, 11, 12]),
        (scan(mode="earliest-offset") | {"properties_group_id": "both"}, FIRST + SECOND),
        (
            {"properties_group_id": "first-only", "properties_auto_offset_reset": "earliest"},
            [3, 4, *SECOND],
        ),
        (
            {"properties_group_id": "first-only", "properties_auto_offset_reset": "latest"},
            [3, 4],
        ),
        ({"properties_group_id": "none", "properties_auto_offset_reset": "latest"}, []),
    ],
)
def test_where_a_table_begins(
    kafka: Kit, topic: str, options: dict[str, Any], read: list[int]
) -> None:
    run = Run(kafka.source(topic, COLUMN, **options))
    assert run.epoch().column("a") == read
    run.restart()
    assert run.epoch().column("a") == []


@pytest.mark.parametrize(
    ("options", "read"),
    [
        (("latest-offset", {}), FIRST + SECOND),
        (("timestamp", {"timestamp__millis": "3000"}), [0, 1, 2]),
        (("timestamp", {"timestamp__millis": "99000"}), FIRST + SECOND),
        (("group-offsets", {}), [0, 1, 2, 10]),
        (("specific-offsets", {"specific__offsets": "partition:1,offset:2"}), [10, 11]),
        (("specific-offsets", {"specific__offsets": "partition:0,offset:0"}), []),
    ],
)
def test_where_a_table_ends(
    kafka: Kit, topic: str, options: tuple[str, dict[str, Any]], read: list[int]
) -> None:
    mode, more = options
    given = {"scan_bounded_mode": mode} | {f"scan_bounded_{n}": v for n, v in more.items()}
    given |= {"properties_group_id": "both", "scan_startup_mode": "earliest-offset"}
    run = Run(kafka.source(topic, COLUMN, **given))
    epoch = run.epoch()
    assert epoch.column("a") == read
    assert all(plan.finished for plan in epoch.plans.values())
    run.restart()
    epoch = run.epoch()
    assert epoch.column("a") == []
    assert all(plan.finished for plan in epoch.plans.values())


def test_a_bounded_table_ends_where_it_ended_when_it_began(kafka: Kit) -> None:
    topic = kafka.topic("bounded")
    kafka.put(topic, 0, values(0, 1, 2))
    run = Run(kafka.source(topic, COLUMN, scan_bounded_mode="latest-offset"))
    first = run.epoch(2)
    assert not first.plans[f"{topic}-0"].finished
    kafka.put(topic, 0, values(3, 4))
    run.restart()
    second = run.epoch()
    assert (first.column("a"), second.column("a")) == ([0, 1], [2])
    assert second.plans[f"{topic}-0"].finished


def test_an_end_that_is_not_there_is_refused(kafka: Kit) -> None:
    """A job that ends by itself would wait for it, nobody knows how long."""
    topic = kafka.topic("future end")
    kafka.put(topic, 0, values(0, 1))
    options: dict[str, Any] = {
        "scan_bounded_mode": "specific-offsets",
        "scan_bounded_specific__offsets": "partition:0,offset:3",
    }
    with pytest.raises(OptionsError, match=r"ends at offset 3 of .* which has rows up to 2"):
        Run(kafka.source(topic, COLUMN, **options)).epoch()


def test_a_table_that_begins_behind_its_end_is_finished_at_once(kafka: Kit, topic: str) -> None:
    options: dict[str, Any] = {
        "scan_startup_mode": "latest-offset",
        "scan_bounded_mode": "timestamp",
        "scan_bounded_timestamp__millis": "2000",
    }
    epoch = Run(kafka.source(topic, COLUMN, **options)).epoch()
    assert epoch.column("a") == []
    assert all(plan.finished for plan in epoch.plans.values())


def test_latest_is_the_moment_of_the_first_epoch_and_stays_so(kafka: Kit) -> None:
    topic = kafka.topic("latest")
    kafka.put(topic, 0, values(0))
    run = Run(kafka.source(topic, COLUMN, scan_startup_mode="latest-offset"))
    assert run.epoch().column("a") == []
    kafka.put(topic, 0, values(1))
    run.restart()
    assert run.epoch().column("a") == [1]


def test_available_now_reads_what_is_there_at_its_beginning(kafka: Kit) -> None:
    topic = kafka.topic("available", partitions=2)
    kafka.put(topic, 0, values(0, 1))
    run = Run(kafka.source(topic, COLUMN), available_now=True)
    assert run.epoch(1).column("a") == [0]
    kafka.put(topic, 0, values(2))
    kafka.put(topic, 1, values(3))
    epoch = run.epoch()
    assert epoch.column("a") == [1]
    assert not any(plan.finished for plan in epoch.plans.values())
    assert run.planner.waiting(run.positions) == []
    assert run.epoch().column("a") == []
    run.restart()
    assert run.epoch().column("a") == [2, 3]


def test_latest_does_not_look_into_open_transactions(kafka: Kit) -> None:
    topic = kafka.topic("committed latest")
    kafka.transaction(topic, 0, values(0, 1), commit=False)
    ended_at(kafka, topic, 3)
    run = Run(kafka.source(topic, COLUMN, scan_bounded_mode="latest-offset"))
    epoch = run.epoch()
    assert epoch.column("a") == []
    assert epoch.plans[f"{topic}-0"].finished


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"properties_group_id": "none"}, "group 'none' has no offset of"),
        ({"properties_group_id": "first-only"}, "partition 1, at which 'scan.startup.mode'"),
        (
            {"scan_bounded_mode": "group-offsets", "properties_group_id": "first-only"}
            | scan(mode="earliest-offset"),
            "'scan.bounded.mode' = 'group-offsets'",
        ),
        (
            scan(mode="specific-offsets", specific__offsets="partition:7,offset:1"),
            "names partition 7, but topic",
        ),
        (
            scan(mode="specific-offsets", specific__offsets="partition:1,offset:4"),
            "begins at offset 4 of partition 1 of topic",
        ),
        (
            {
                "scan_bounded_mode": "specific-offsets",
                "scan_bounded_specific__offsets": "partition:7,offset:1",
            },
            "names partition 7, but topic",
        ),
    ],
)
def test_a_beginning_that_is_not_there(
    kafka: Kit, topic: str, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(OptionsError, match=told):
        Run(kafka.source(topic, COLUMN, **options)).epoch()


def test_a_group_that_stands_behind_the_end_is_told(kafka: Kit) -> None:
    topic = kafka.topic("shorter than its group")
    kafka.put(topic, 0, values(0))
    commit_offsets(kafka, "ahead", topic, {0: 5})
    with pytest.raises(OptionsError, match=r"group 'ahead' stands at offset 5 .* ends at 1"):
        Run(kafka.source(topic, COLUMN, properties_group_id="ahead")).epoch()
