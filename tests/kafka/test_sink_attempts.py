"""An epoch is written once, whatever becomes of the attempts to write it (T1, T2, T4)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kafka.attempts import Attempts, Driver, ids_of
from kafka.kit import Kit
from tidegate.failpoints import SINK_NAMES

pytestmark = pytest.mark.usefixtures("fresh_worker")


@pytest.fixture
def driver(kafka: Kit, request: pytest.FixtureRequest) -> Driver:
    """A driver that has one epoch behind it."""
    topic = kafka.topic(request.node.originalname, partitions=2)
    driver = Driver(kafka.sink(topic, ("id", "BIGINT"))).start()
    driver.epoch(1, 2)
    return driver


def found(kafka: Kit, driver: Driver) -> list[int]:
    return ids_of(kafka.values(driver.table.option("topic")))


def test_epochs_one_after_another(kafka: Kit, driver: Driver) -> None:
    for epoch in range(2, 20):
        driver.epoch(10 * epoch, 10 * epoch + 1)
    assert found(kafka, driver) == [1, 2, *(10 * e + n for e in range(2, 20) for n in (0, 1))]


def test_an_epoch_is_run_again_by_the_same_worker(kafka: Kit, driver: Driver) -> None:
    attempt = driver.attempt(3, 4)
    assert attempt.run() == attempt.run()
    assert found(kafka, driver) == [1, 2, 3, 4]


def test_an_epoch_is_run_again_by_another_worker(
    kafka: Kit, driver: Driver, attempts: Attempts
) -> None:
    attempt = driver.attempt(3, 4)
    staged = attempt.run()
    assert attempts.run(attempt) == "done"
    driver.enter(*staged)
    driver.epoch(5)  # with a producer that the other one has fenced
    assert found(kafka, driver) == [1, 2, 3, 4, 5]


def test_workers_take_turns(kafka: Kit, driver: Driver, attempts: Attempts) -> None:
    for epoch in range(2, 8):
        if epoch % 2:
            driver.epoch(epoch * 10)
        else:
            attempt = driver.attempt(epoch * 10)
            assert attempts.run(attempt) == "done"
            driver.log["written"]["0"] = epoch
            driver.enter()
    assert found(kafka, driver) == [1, 2, 20, 30, 40, 50, 60, 70]


@pytest.mark.parametrize("at", SINK_NAMES)
def test_a_worker_is_killed(kafka: Kit, driver: Driver, attempts: Attempts, at: str) -> None:
    attempt = driver.attempt(3, 4)
    assert attempts.run(attempt, f"{at}:{attempt.epoch}") == "killed"
    assert found(kafka, driver)[2:] == ([3, 4] if at == "sink-after-commit" else [])
    driver.enter(*attempt.run())
    driver.epoch(5)
    assert found(kafka, driver) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("at", SINK_NAMES)
def test_a_zombie_goes_on_behind_another_attempt(
    kafka: Kit, driver: Driver, attempts: Attempts, at: str
) -> None:
    attempt = driver.attempt(3, 4)
    zombie = attempts.stopped(attempt, at)
    driver.enter(*attempt.run())
    assert found(kafka, driver) == [1, 2, 3, 4]
    zombie.go_on()
    assert zombie.result() == "done"
    driver.epoch(5)
    assert found(kafka, driver) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("at", SINK_NAMES)
def test_a_zombie_goes_on_behind_the_next_epoch(
    kafka: Kit, driver: Driver, attempts: Attempts, at: str
) -> None:
    zombie = attempts.stopped(driver.attempt(3, 4), at)
    driver.epoch(3, 4)
    driver.epoch(5)
    zombie.go_on()
    assert zombie.result() == "done"
    driver.epoch(6)
    assert found(kafka, driver) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("first", "second"), [*pairwise(SINK_NAMES), *pairwise(SINK_NAMES[-2::-1])]
)
def test_two_attempts_at_once(
    kafka: Kit, driver: Driver, attempts: Attempts, first: str, second: str
) -> None:
    """Each stands between two of its steps."""
    attempt = driver.attempt(3, 4)
    one = attempts.stopped(attempt, first)
    other = attempts.stopped(attempt, second)
    for running in (one, other):
        running.go_on()
    assert (one.result(), other.result()) == ("done", "done")
    driver.enter(*attempt.run())
    driver.epoch(5)
    assert found(kafka, driver) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("at", SINK_NAMES)
def test_a_zombie_of_an_earlier_driver(
    kafka: Kit, driver: Driver, attempts: Attempts, at: str
) -> None:
    """Its epoch was planned otherwise than the new driver does: none of it may be seen."""
    zombie = attempts.stopped(driver.attempt(998, 999), at)
    written = at == "sink-after-commit"
    driver.log["planned"] = driver.log["entered"] + written
    new = driver.successor().start()
    attempt = new.attempt(3, 4)
    zombie.go_on()
    if written:
        assert zombie.result() == "done"
        return
    assert zombie.result().startswith("LeaseHeldError: another driver has taken over")
    new.enter(*attempt.run())
    new.epoch(5)
    assert found(kafka, driver) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("at", SINK_NAMES[:-1])
def test_a_zombie_of_an_earlier_driver_while_the_new_one_writes(
    kafka: Kit, driver: Driver, attempts: Attempts, at: str
) -> None:
    """It fences the new driver's task once, which tries again."""
    zombie = attempts.stopped(driver.attempt(998, 999), at)
    driver.log["planned"] = driver.log["entered"]
    new = driver.successor().start()
    task = attempts.stopped(new.attempt(3, 4), "sink-before-commit")
    # What a zombie looks for behind its fence is being written: the look waits for the end.
    one, other = (task, zombie) if at == "sink-fenced" else (zombie, task)
    one.go_on()
    one.result()
    other.go_on()
    assert zombie.result().startswith("LeaseHeldError: another driver has taken over")
    assert task.result() == "done"
    assert found(kafka, driver) == [1, 2, 3, 4]
