from __future__ import annotations

from tidegate.clock import ManualClock, SystemClock


def test_a_manual_clock_moves_only_when_told() -> None:
    clock = ManualClock(5_000_000)
    assert (clock.now_us(), clock.monotonic_s()) == (5_000_000, 5.0)
    clock.sleep(1.5)
    assert (clock.now_us(), clock.monotonic_s()) == (6_500_000, 6.5)
    clock.time_us = 1  # as when an administrator sets a clock back
    assert clock.now_us() == 1


def test_the_systems_clock_goes_on() -> None:
    clock = SystemClock()
    wall, monotonic = clock.now_us(), clock.monotonic_s()
    clock.sleep(0.002)
    assert clock.monotonic_s() - monotonic >= 0.002
    assert clock.now_us() > wall > 1_700_000_000_000_000, "microseconds"
