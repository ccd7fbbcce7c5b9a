from __future__ import annotations

from tidegate.clock import ManualClock
from tidegate.epochs.entry import Entry
from tidegate.reports.metrics.health import DEAD_S, STALLED_S, Health


def test_a_job_is_ready_while_it_runs() -> None:
    health = Health(ManualClock())
    assert health.alive().good
    assert health.ready() == health.ready()
    assert (health.ready().good, health.ready().why) == (False, "starting")
    health.started()
    assert health.ready().good
    health.stopping()
    assert (health.ready().good, health.ready().why) == (False, "stopping")
    assert health.alive().good


def test_an_epoch_that_does_not_end_is_not_ready_and_alive() -> None:
    clock = ManualClock()
    health = Health(clock)
    health.started()
    clock.sleep(STALLED_S)
    health.on_tick(waiting=False)
    assert "no epoch was committed for 300 s" in health.ready().why
    assert health.alive().good
    health.on_epoch(Entry(1, 1))
    assert health.ready().good


def test_a_job_without_rows_is_ready() -> None:
    clock = ManualClock()
    health = Health(clock)
    health.started()
    for _ in range(3):
        clock.sleep(STALLED_S)
        health.on_tick(waiting=True)
        assert health.ready().good


def test_a_driver_that_hangs_is_dead() -> None:
    clock = ManualClock()
    health = Health(clock)
    clock.sleep(DEAD_S)
    assert health.alive().good  # it has not started yet: others see to that
    health.started()
    clock.sleep(DEAD_S)
    assert "hung for 900 s" in health.alive().why
    assert not health.alive().good
