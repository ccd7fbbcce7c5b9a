"""Which topics and partitions a table reads, and what happens to them while it does (T10, T12)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from confluent_kafka import KafkaException

from kafka.epochs import Run, until, values
from kafka.kit import Kit
from tidegate.clock import ManualClock
from tidegate.connectors.kafka.consumers import Consumers
from tidegate.errors import OptionsError, TrustError

COLUMN = ("a", "BIGINT")
DISCOVERY_US = 300_000_000


def test_splits_are_named_by_topic_and_partition(kafka: Kit) -> None:
    first, second = kafka.topic("one", partitions=11), kafka.topic("two.with_all-signs")
    run = Run(kafka.source(f"{first};{second}", COLUMN))
    kafka.put(first, 10, values(1))
    kafka.put(second, 0, values(2))
    epoch = run.epoch()
    assert sorted(epoch.plans) == sorted([*(f"{first}-{n}" for n in range(11)), f"{second}-0"])
    assert epoch.rows.keys() >= {f"{first}-10", f"{second}-0"}
    assert sorted(epoch.column("a")) == [1, 2]


def test_rows_of_an_epoch_are_shared_by_all_partitions(kafka: Kit) -> None:
    topic = kafka.topic("shared", partitions=4)
    for partition, count in enumerate((100, 3, 0, 50)):
        kafka.put(topic, partition, values(*range(count)))
    run = Run(kafka.source(topic, COLUMN))
    counts: list[list[int]] = []
    while sum(sum(count) for count in counts) < 153:
        plans = run.epoch(30).plans
        counts.append([plans[f"{topic}-{partition}"].rows_max for partition in range(4)])
        assert sum(counts[-1]) <= 30
    assert counts[0] == [14, 3, 0, 13]
    assert len(counts) == 6
    assert [plan.known_end for plan in plans.values()] == [100, 3, 0, 50]


def test_each_partition_gets_its_turn_where_there_are_more_than_rows(kafka: Kit) -> None:
    topic = kafka.topic("turns", partitions=5)
    for partition in range(5):
        kafka.put(topic, partition, values(*range(20)))
    run = Run(kafka.source(topic, COLUMN))
    for _ in range(5):
        run.epoch(2)
    ends = [run.positions[f"{topic}-{n}"] for n in range(5)]
    assert [end[0] for end in ends if isinstance(end, list)] == [2] * 5


def test_a_pattern_means_whole_names_and_no_topics_of_the_brokers(kafka: Kit) -> None:
    first, second = kafka.topic("pattern.a"), kafka.topic("pattern.b")
    kafka.topic("other pattern.a")
    kafka.transaction(first, 0, values(1), commit=True)  # makes the brokers' own topics
    table = kafka.source("", COLUMN, topic__pattern=r"pattern-[ab]-\d+")
    assert Run(table).planner.splits() == sorted([f"{first}-0", f"{second}-0"])
    everything = Run(kafka.source("", COLUMN, topic__pattern=".*")).planner.splits()
    assert everything
    assert not any(split.startswith("__") for split in everything)


def test_a_topic_or_pattern_that_is_not_there(kafka: Kit) -> None:
    topic = kafka.topic("orders")
    wrong = topic.replace("orders", "order")
    with pytest.raises(OptionsError, match=f"no topic '{wrong}' at {kafka.bootstrap}") as caught:
        Run(kafka.source(f"{topic};{wrong}", COLUMN)).epoch()
    assert caught.value.hint == f"did you mean '{topic}'?"
    with pytest.raises(OptionsError, match=r"no topic matches the pattern 'none-such-\.\*'"):
        Run(kafka.source("", COLUMN, topic__pattern=r"none-such-.*")).epoch()


def test_an_added_partition_is_read_from_its_first_row(kafka: Kit) -> None:
    """T12, in every startup mode: nothing of it was there when the table began."""
    topic = kafka.topic("growing")
    clock = ManualClock()
    run = Run(kafka.source(topic, COLUMN, scan_startup_mode="latest-offset"), clock=clock)
    kafka.put(topic, 0, values(0))
    run.epoch()
    kafka.grow(topic, 3)
    kafka.put(topic, 0, values(1))
    kafka.put(topic, 1, values(10, 11))
    epoch = run.epoch()
    assert (epoch.column("a"), sorted(epoch.plans)) == ([1], [f"{topic}-0"])
    clock.time_us += DISCOVERY_US
    epoch = run.epoch()
    assert epoch.column("a") == [10, 11]
    assert sorted(epoch.plans) == [f"{topic}-0", f"{topic}-1", f"{topic}-2"]
    kafka.put(topic, 2, values(20))
    assert run.epoch().column("a") == [20]


def test_a_partition_that_was_added_while_the_job_was_down(kafka: Kit) -> None:
    topic = kafka.topic("grown")
    run = Run(kafka.source(topic, COLUMN, scan_startup_mode="latest-offset"))
    run.epoch()
    kafka.grow(topic, 2)
    kafka.put(topic, 1, values(10))
    run.restart()
    assert run.epoch().column("a") == [10]


def test_a_new_topic_of_a_pattern_is_read_from_its_first_row(kafka: Kit) -> None:
    first = kafka.topic("joins.a")
    clock = ManualClock()
    options: dict[str, Any] = {
        "topic__pattern": r"joins-[ab]-\d+",
        "scan_topic__partition__discovery_interval": "10 s",
        "scan_startup_mode": "latest-offset",
    }
    run = Run(kafka.source("", COLUMN, **options), clock=clock)
    assert run.epoch().column("a") == []
    second = kafka.topic("joins.b")
    kafka.put(second, 0, values(1))
    clock.time_us += 9_000_000
    assert sorted(run.epoch().plans) == [f"{first}-0"]
    clock.time_us += 1_000_000
    assert run.epoch().column("a") == [1]


def test_without_discovery_nothing_joins_until_a_restart(kafka: Kit) -> None:
    topic = kafka.topic("still")
    clock = ManualClock()
    options: dict[str, Any] = {"scan_topic__partition__discovery_interval": "0"}
    run = Run(kafka.source(topic, COLUMN, **options), clock=clock)
    run.epoch()
    kafka.grow(topic, 2)
    clock.time_us += 10 * DISCOVERY_US
    assert sorted(run.epoch().plans) == [f"{topic}-0"]
    run.restart()
    assert len(run.epoch().plans) == 2


def recreated(kafka: Kit, topic: str, count: int, partitions: int = 1) -> None:
    kafka.delete(topic)
    until(lambda: _made(kafka, topic, partitions))
    kafka.put(topic, 0, values(*range(1_000, 1_000 + count)))


def _made(kafka: Kit, topic: str, partitions: int) -> bool:
    try:
        kafka.make(topic, partitions)
    except KafkaException:  # the old one is still being deleted
        return False
    return True


ANEW = "topic '{}' of table 't' was deleted and created anew"


@pytest.mark.parametrize("count", [3, 30], ids=["shorter", "longer"])
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("looks", [False, True])
def test_a_recreated_topic_stops_the_planner(
    kafka: Kit, count: int, restarted: bool, looks: bool
) -> None:
    """T10."""
    topic = kafka.topic("anew", partitions=2)
    clock = ManualClock()
    kafka.put(topic, 0, values(*range(10)))
    run = Run(kafka.source(topic, COLUMN), clock=clock)
    run.epoch()
    recreated(kafka, topic, count, partitions=1 if looks else 2)
    clock.time_us += DISCOVERY_US * looks
    if restarted:
        run.restart()
    with pytest.raises(TrustError, match=ANEW.format(topic)) as caught:
        run.plan()
    assert caught.value.exit_code == 4
    assert "another --checkpoint" in caught.value.hint


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("pattern", [False, True])
def test_a_deleted_topic_stops_the_planner(kafka: Kit, restarted: bool, pattern: bool) -> None:
    topic = kafka.topic("deleted")
    kafka.put(topic, 0, values(0))
    run = Run(
        kafka.source("", COLUMN, topic__pattern=re.escape(topic))
        if pattern
        else kafka.source(topic, COLUMN)
    )
    run.epoch()
    kafka.delete(topic)
    if restarted:
        run.restart()
    with pytest.raises(TrustError, match=f"topic '{topic}' of table 't' is gone"):
        run.plan()


@pytest.mark.parametrize("count", [0, 3, 12, 30], ids=["empty", "shorter", "between", "longer"])
@pytest.mark.parametrize("cached", [False, True])
def test_a_topic_that_is_recreated_between_plan_and_read(
    kafka: Kit, count: int, cached: bool
) -> None:
    """T10: the reader must not give rows of the new topic as those of the old one."""
    topic = kafka.topic("anew before reading")
    kafka.put(topic, 0, values(*range(10)))
    run = Run(kafka.source(topic, COLUMN))
    assert run.epoch(5).column("a") == [0, 1, 2, 3, 4]
    kafka.put(topic, 0, values(*range(10, 20)))
    plans = run.plan()
    if not cached:
        run.workers = [Consumers()]
    recreated(kafka, topic, count)
    with pytest.raises(TrustError, match=ANEW.format(topic)):
        run.read(plans)
    with pytest.raises(TrustError, match=ANEW.format(topic)):
        run.read(plans)  # as Spark tries a task again


def test_a_topic_that_is_deleted_between_plan_and_read(kafka: Kit) -> None:
    topic = kafka.topic("gone before reading")
    kafka.put(topic, 0, values(*range(10)))
    run = Run(kafka.source(topic, COLUMN))
    plans = run.plan()
    kafka.delete(topic)
    with pytest.raises(TrustError, match=f"topic '{topic}' of table 't' was deleted while"):
        run.read(plans)


def test_a_new_job_does_not_get_what_the_old_one_had_fetched(kafka: Kit) -> None:
    """Same worker, same names, new topic: its own rows, from the first."""
    topic = kafka.topic("anew for another")
    kafka.put(topic, 0, values(*range(10)))
    old = Run(kafka.source(topic, COLUMN))
    old.epoch(4)
    recreated(kafka, topic, 8)
    new = Run(old.table)
    new.workers = old.workers
    assert new.sizes([4, 4]) == [[1000, 1001, 1002, 1003], [1004, 1005, 1006, 1007]]


def test_a_table_that_names_other_topics_than_its_checkpoint(kafka: Kit) -> None:
    first, second = kafka.topic("before"), kafka.topic("behind")
    run = Run(kafka.source(first, COLUMN))
    run.epoch()
    run.table = kafka.source(second, COLUMN)
    run.restart()
    with pytest.raises(TrustError, match=f"'t' does not read topic '{first}' any more"):
        run.plan()
