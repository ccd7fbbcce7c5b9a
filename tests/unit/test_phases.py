from __future__ import annotations

from collections.abc import Iterator

import pytest

from tidegate.clock import ManualClock
from tidegate.phases import OUTSIDE, Phases


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def test_each_moment_counts_once(clock: ManualClock) -> None:
    phases = Phases(clock)
    clock.sleep(1)
    with phases.phase("read"):
        clock.sleep(2)
        with phases.phase("decode"):
            clock.sleep(4)
        clock.sleep(8)
    clock.sleep(16)
    assert phases.take() == {OUTSIDE: 17, "read": 10, "decode": 4}
    assert phases.take() == {OUTSIDE: 0}


def test_who_takes_an_item_is_not_who_makes_it(clock: ManualClock) -> None:
    phases = Phases(clock)

    def items() -> Iterator[int]:
        for item in range(3):
            clock.sleep(1)
            yield item
        clock.sleep(5)

    def outer() -> Iterator[int]:
        for item in phases.timed("inner", items()):
            clock.sleep(10)
            yield item

    for _ in phases.timed("outer", outer()):
        clock.sleep(100)
    assert phases.take() == {"inner": 8, "outer": 30, OUTSIDE: 300}


def test_a_phase_that_fails_ends(clock: ManualClock) -> None:
    phases = Phases(clock)

    def fail() -> None:
        with phases.phase("a"):
            clock.sleep(1)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()

    def items() -> Iterator[int]:
        clock.sleep(1)
        raise ValueError("no")
        yield 1

    with pytest.raises(ValueError, match="no"):
        list(phases.timed("b", items()))
    clock.sleep(1)
    assert phases.take() == {OUTSIDE: 1, "a": 1, "b": 1}


def test_an_item_that_is_left_ends_nothing_early(clock: ManualClock) -> None:
    phases = Phases(clock)
    first = next(phases.timed("a", iter([1, 2])))
    assert first == 1
    clock.sleep(1)
    phases.start()
    clock.sleep(2)
    assert phases.take() == {OUTSIDE: 2}
