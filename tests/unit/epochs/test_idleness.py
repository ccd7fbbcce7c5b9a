from __future__ import annotations

import threading

from tidegate.clock import AwakeClock, ManualClock
from tidegate.epochs.idleness import Idleness

TIMEOUT_US = 5_000_000


def test_a_split_is_idle_when_it_has_stood_for_the_whole_timeout() -> None:
    clock = ManualClock()
    idleness = Idleness(clock.monotonic_s)

    def idle(*, stands: bool = True, was_idle: bool = False, timeout_us: int = TIMEOUT_US) -> bool:
        return idleness.is_idle("t", "s", stands=stands, was_idle=was_idle, timeout_us=timeout_us)

    assert not idle()
    clock.sleep(4)
    assert not idle()
    clock.sleep(1)
    assert idle()
    assert not idle(stands=False)
    clock.sleep(100)
    assert not idle(), "it has stood since now, not since then"
    assert idle(was_idle=True)
    assert not idle(was_idle=True, stands=False)
    assert not idle(was_idle=True, timeout_us=0)


def test_what_a_process_slept_through_does_not_count() -> None:
    clock = ManualClock()
    awake = AwakeClock(_Still(clock))
    clock.sleep(0.5)
    assert awake.awake_s() == 0.5
    clock.sleep(600)
    assert awake.awake_s() == 1.5


class _Still:
    """A clock on which the awake clock's thread never gets on."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def now_us(self) -> int:
        return self._clock.now_us()

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()

    def sleep(self, seconds: float) -> None:  # noqa: ARG002
        threading.Event().wait()  # for ever
