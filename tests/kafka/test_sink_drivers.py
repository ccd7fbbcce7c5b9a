"""Drivers take a sink over: what they find where markers should be, and what they make of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, TopicPartition

from kafka.attempts import Attempts, Driver, forget_producers, ids_of
from kafka.kit import Kit
from spark.processes import wait_until
from tidegate.connectors.kafka.markers import Marker
from tidegate.connectors.kafka.patience import USUAL
from tidegate.errors import LeaseHeldError, OptionsError, TrustError

pytestmark = pytest.mark.usefixtures("fresh_worker")


@pytest.fixture
def driver(kafka: Kit, request: pytest.FixtureRequest) -> Driver:
    """One that has two epochs behind it."""
    table = kafka.sink(kafka.topic(request.node.originalname), ("id", "BIGINT"))
    driver = Driver(table).start()
    driver.epoch(1)
    driver.epoch(2)
    return driver


def found(kafka: Kit, driver: Driver) -> list[int]:
    return ids_of(kafka.values(driver.table.option("topic")))


def marker(kafka: Kit, driver: Driver, writer: str = "0") -> Marker | None:
    """As the brokers have it when they are done with the last transaction."""
    asked = [TopicPartition(driver.table.option("topic"), 0)]
    group = ConsumerGroupTopicPartitions(driver.id(writer), asked)
    found: list[TopicPartition] = []

    def is_stable() -> bool:
        (future,) = kafka.admin.list_consumer_group_offsets([group], require_stable=True).values()
        found[:] = future.result(30).topic_partitions
        error = found[0].error
        assert error is None or error.code() == KafkaError.UNSTABLE_OFFSET_COMMIT
        return error is None

    wait_until(is_stable, "the marker's transaction has ended")
    return Marker.of(found[0])


def lose(kafka: Kit, driver: Driver, writer: str = "0") -> None:
    """What the brokers do with a marker when ``offsets.retention.minutes`` are over."""
    for future in kafka.admin.delete_consumer_groups([driver.id(writer)]).values():
        future.result(30)


def put_back(kafka: Kit, driver: Driver, epoch: int) -> None:
    """The marker says ``epoch``, as if the brokers had lost what came after."""
    now = marker(kafka, driver)
    assert now is not None
    offsets = [replace(now, epoch=epoch).offset(driver.table.option("topic"))]
    group = ConsumerGroupTopicPartitions(driver.id(), offsets)
    for future in kafka.admin.alter_consumer_group_offsets([group]).values():
        future.result(30)


def test_every_writer_is_marked_before_the_first_epoch(kafka: Kit) -> None:
    driver = Driver(kafka.sink(kafka.topic("marked"), ("id", "BIGINT")), writers=3).start()
    markers = [marker(kafka, driver, writer) for writer in "012"]
    identity, run = driver.remembered["identity"], driver.remembered["run"]
    assert markers == [Marker(0, identity, run)] * 3
    assert marker(kafka, driver, "3") is None
    driver.epoch(1, writer="2")
    assert marker(kafka, driver, "2") == Marker(1, identity, run)
    assert found(kafka, driver) == [1]


def test_a_driver_goes_on_with_what_was_written(kafka: Kit, driver: Driver) -> None:
    driver.attempt(3).run()  # planned and written, not entered
    new = driver.successor().start()
    assert marker(kafka, new) == Marker(3, new.remembered["identity"], new.remembered["run"])
    assert new.remembered["run"] != driver.remembered["run"]
    new.epoch(3)
    new.epoch(4)
    assert found(kafka, driver) == [1, 2, 3, 4]


def test_a_lost_marker_stops_the_job_where_an_epoch_is_in_progress(
    kafka: Kit, driver: Driver
) -> None:
    driver.attempt(3).run()
    lose(kafka, driver)
    with pytest.raises(TrustError, match="nobody can tell whether the epoch in progress") as told:
        driver.successor().start()
    assert told.value.detail == f"the marker of '{driver.id()}' is gone"
    assert found(kafka, driver) == [1, 2, 3]


def test_a_lost_marker_of_a_writer_that_never_wrote(kafka: Kit) -> None:
    driver = Driver(kafka.sink(kafka.topic("never"), ("id", "BIGINT"))).start()
    driver.attempt(1).run()
    lose(kafka, driver)
    with pytest.raises(TrustError, match="nobody can tell"):
        driver.successor().start()


def test_a_lost_marker_is_made_good_where_all_epochs_are_entered(
    kafka: Kit, driver: Driver, attempts: Attempts
) -> None:
    lose(kafka, driver)
    new = driver.successor().start()
    assert attempts.run(new.attempt(3)) == "done"
    assert found(kafka, driver) == [1, 2, 3]


def test_a_marker_that_went_back(kafka: Kit, driver: Driver) -> None:
    driver.attempt(3)
    put_back(kafka, driver, 1)
    with pytest.raises(TrustError) as told:
        driver.successor().start()
    assert "is back at epoch 1, behind 2, which was written" in told.value.detail


def test_a_marker_that_is_lost_or_goes_back_while_the_job_runs(
    kafka: Kit, driver: Driver, attempts: Attempts
) -> None:
    attempt = driver.attempt(3)
    put_back(kafka, driver, 1)
    assert "TrustError" in attempts.run(attempt)
    lose(kafka, driver)
    assert "TrustError" in attempts.run(attempt)
    assert found(kafka, driver) == [1, 2]


def test_a_checkpoint_that_was_put_back_from_a_backup(kafka: Kit, driver: Driver) -> None:
    """Its next epochs would be taken for written, whatever is planned into them now."""
    driver.epoch(3)
    driver.log |= {"entered": 1, "planned": 1, "written": {"0": 1}}
    with pytest.raises(TrustError, match="ahead of the checkpoint: epoch 3 is written") as told:
        driver.successor().start()
    assert "older state of the checkpoint" in told.value.hint


def test_what_an_earlier_driver_plans_at_the_last_moment(kafka: Kit, driver: Driver) -> None:
    """Its task has written an epoch that was planned after the new driver looked at the log."""
    driver.attempt(3).run()
    planned = driver.log["planned"]
    driver.log["planned"] = driver.log["entered"]
    new = driver.successor()

    def progress() -> object:
        driver.log["planned"] = planned  # asked behind the fence, the log has it
        return Driver.progress(new)

    vars(new)["progress"] = progress
    new.start().epoch(3)
    assert found(kafka, driver) == [1, 2, 3]


def shared(kafka: Kit, name: str) -> Driver:
    """A driver of a job that has a prefix in common with another one."""
    topic = kafka.topic(name)
    table = kafka.sink(topic, ("id", "BIGINT"), sink_transactional__id__prefix=f"same-{topic}")
    return Driver(table)


def test_two_jobs_with_one_prefix(kafka: Kit) -> None:
    """The one that comes later goes on; the other one says why it does not."""
    first = shared(kafka, "prefix").start()
    first.epoch(1)
    second = Driver(first.table).start()
    second.epoch(11)
    with pytest.raises(OptionsError, match="another job writes with the same") as told:
        first.epoch(2)
    assert "'sink.transactional-id-prefix'" in told.value.hint
    assert second.remembered["identity"] in told.value.detail
    second.epoch(12)  # was fenced by the first one's last word
    assert found(kafka, first) == [1, 11, 12]

    with pytest.raises(TrustError, match="nobody can tell") as lost:
        first.successor().start()
    assert "gave way to one of another job" in lost.value.detail
    first.log["planned"] = first.log["entered"]
    again = first.successor().start()
    again.epoch(2)
    with pytest.raises(OptionsError, match="another job writes"):
        second.epoch(13)
    assert found(kafka, first) == [1, 2, 11, 12]


def test_one_job_after_another_in_the_same_worker(kafka: Kit) -> None:
    """What the first has written is not taken for written by the second."""
    first = shared(kafka, "worker").start()
    first.epoch(1)
    first.epoch(2)
    second = Driver(first.table).start()
    second.epoch(11)
    second.epoch(12)
    assert found(kafka, first) == [1, 2, 11, 12]


def test_a_driver_that_was_replaced_says_so(kafka: Kit, driver: Driver) -> None:
    driver.successor().start()
    with pytest.raises(LeaseHeldError, match="another driver has taken over this checkpoint"):
        driver.epoch(3)
    assert found(kafka, driver) == [1, 2]


def test_sinks_and_writers_have_ids_of_their_own(kafka: Kit) -> None:
    """Two INSERTs into one table are two sinks: the second one's table is called t#2."""
    table = kafka.sink(
        kafka.topic("two"), ("id", "BIGINT"), sink_transactional__id__prefix="grün 1/2"
    )
    drivers = [Driver(replace(table, name=name), writers=2).start() for name in ("t", "t#2", "ü x")]
    for epoch in range(2):
        for number, driver in enumerate(drivers):
            for writer in "01":
                driver.enter(
                    *driver.attempt(100 * epoch + 10 * number + int(writer), writer=writer).run()
                )
    assert found(kafka, drivers[0]) == [0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121]


def test_a_quiet_writer_is_marked_again(kafka: Kit, attempts: Attempts) -> None:
    """Before the brokers forget it, and even if they have."""
    table = kafka.sink(kafka.topic("quiet"), ("id", "BIGINT"))
    driver = Driver(table, writers=2).start()
    driver.epoch(1, writer="1")
    for epoch in range(2, 6):
        driver.epoch(epoch)
        driver.clock.sleep(USUAL.renewal_s / 2 - 1)
    before = marker(kafka, driver, "1")
    assert before is not None
    assert before.epoch == 4  # marked again before epoch 5
    lose(kafka, driver, "1")
    driver.clock.sleep(USUAL.renewal_s)
    driver.epoch(6)
    after = marker(kafka, driver, "1")
    assert after is not None
    assert after.epoch == 5
    assert attempts.run(driver.attempt(7, writer="1")) == "done"
    assert found(kafka, driver) == [1, 2, 3, 4, 5, 6, 7]


def test_a_topic_that_was_made_anew(kafka: Kit, driver: Driver) -> None:
    """Its markers went with it; what was written is gone, and what comes is written."""
    topic = driver.table.option("topic")
    kafka.delete(topic)
    kafka.make(topic)
    forget_producers()
    driver.successor().start().epoch(3)
    assert found(kafka, driver) == [3]
