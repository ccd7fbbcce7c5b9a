"""What holds of every wait, whatever its policy: bounds in all and of a try, and the cause kept."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.clock import ManualClock
from tidegate.patience import Patience, Waiting, patiently

NEAR = 1e-4
"""A manual clock counts in microseconds."""


class Away(Exception):  # noqa: N818 -- it passes
    """Of the try with this number, from 1."""


def seconds(least: float = 0.0, most: float = 100.0) -> st.SearchStrategy[float]:
    return st.floats(least, most).map(lambda value: round(value, 3))


PATIENCE = st.builds(
    Patience,
    in_all_s=seconds(),
    try_s=st.one_of(st.just(inf), seconds(0.001)),
    growth=st.sampled_from([1.0, 2.0, 4.0]),
    pause_s=seconds(0.01, 10.0),
    pause_s_max=seconds(),
    least_s=seconds(0.0, 5.0),
    passing=st.just((Away,)),
)


@dataclass
class Action:
    """Takes all the time that it is given, or ``takes_s``, and fails until ``succeeds``."""

    clock: ManualClock
    succeeds: int | None = None
    takes_s: float = inf
    given_s: list[float] = field(default_factory=list)
    begun_s: list[float] = field(default_factory=list)

    def __call__(self, seconds: float) -> int:
        self.given_s.append(seconds)
        self.begun_s.append(self.clock.monotonic_s())
        self.clock.sleep(min(seconds, self.takes_s))
        number = len(self.given_s)
        if number == self.succeeds:
            return number
        raise Away(number)


@pytest.mark.slow
@settings(deadline=None)
@given(PATIENCE, st.one_of(st.just(inf), seconds(0.0, 20.0)))
def test_time_is_bounded_and_the_last_cause_is_kept(patience: Patience, takes_s: float) -> None:
    clock = ManualClock()
    action = Action(clock, takes_s=takes_s)
    with pytest.raises(Away) as caught:
        patiently(action, patience, clock)
    tries = len(action.given_s)
    assert tries >= 1
    assert caught.value.args == (tries,)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert clock.monotonic_s() <= patience.in_all_s + NEAR, "never longer in all than said"
    assert action.given_s[0] == min(patience.try_s, patience.in_all_s)
    for given_s, begun_s in zip(action.given_s, action.begun_s, strict=True):
        assert given_s <= patience.in_all_s - begun_s + NEAR
    least_s = min(patience.least_s, patience.try_s) - NEAR
    assert all(given_s >= least_s for given_s in action.given_s[1:])


@pytest.mark.slow
@settings(deadline=None)
@given(PATIENCE, seconds(0.0, 20.0))
def test_time_is_used_up(patience: Patience, takes_s: float) -> None:
    """Another try did not fit in: behind its pause there was less left than the least."""
    clock = ManualClock()
    action = Action(clock, takes_s=takes_s)
    with pytest.raises(Away):
        patiently(action, patience, clock)
    longest_s = max(patience.pause_s, patience.pause_s_max)
    assert clock.monotonic_s() + longest_s + patience.least_s >= patience.in_all_s - NEAR


@pytest.mark.slow
@settings(deadline=None)
@given(PATIENCE, st.integers(1, 5))
def test_who_answers_at_last_is_heard(patience: Patience, number: int) -> None:
    clock = ManualClock()
    action = Action(clock, number, takes_s=0.0)
    assert patiently(action, replace(patience, in_all_s=1_000.0), clock) == number
    assert len(action.given_s) == number


def test_what_does_not_pass_is_raised_at_once() -> None:
    clock = ManualClock()

    def refuses(_: float) -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        patiently(refuses, Patience(10.0, passing=(Away,)), clock)
    assert clock.monotonic_s() == 0.0


@pytest.mark.parametrize(
    ("patience", "given_s", "begun_s"),
    [
        (Patience(60.0, try_s=5.0), [5, 10, 20, 25], [0, 5, 15, 35]),
        (Patience(60.0, try_s=5.0, least_s=26.0), [5, 10, 20], [0, 5, 15]),
        (Patience(60.0, try_s=5.0, growth=4.0), [5, 20, 35], [0, 5, 25]),
        (Patience(10.0, try_s=4.0, growth=1.0, pause_s=0.5), [4, 4, 1], [0, 4.5, 9]),
        (Patience(0.0), [0], [0]),
        (Patience(0.0, pause_s=1.0), [0], [0]),
        (Patience(3.0, try_s=0.0, pause_s=1.0), [0, 0, 0, 0], [0, 1, 2, 3]),
    ],
)
def test_tries_of_who_says_nothing(
    patience: Patience, given_s: list[float], begun_s: list[float]
) -> None:
    clock = ManualClock()
    action = Action(clock)
    with pytest.raises(Away):
        patiently(action, replace(patience, passing=(Away,)), clock)
    assert (action.given_s, action.begun_s) == (given_s, begun_s)


def test_pauses_grow_up_to_the_longest() -> None:
    clock = ManualClock()
    action = Action(clock, takes_s=0.0)
    with pytest.raises(Away):
        patiently(action, Patience(3.5, pause_s=0.1, pause_s_max=1.0, passing=(Away,)), clock)
    assert action.begun_s == pytest.approx([0, 0.1, 0.3, 0.7, 1.5, 2.5, 3.5], abs=NEAR)


def test_errors_are_counted_and_silence_takes_longer() -> None:
    waiting = Waiting(Patience(100.0, try_s=5.0, errors_max=3), ManualClock())
    given_s = [waiting.try_s]
    for silent in (False, True, True, False):
        assert waiting.again(silent=silent)
        given_s.append(waiting.try_s)
    assert given_s == [5, 5, 10, 20, 20]
    assert not waiting.again(silent=False), "the third error"


def test_a_wait_that_is_looked_at_from_time_to_time() -> None:
    clock = ManualClock()
    clock.sleep(1.0)
    waiting = Waiting(Patience(10.0, try_s=3.0), clock)
    clock.sleep(4.0)
    assert (waiting.begun_s, waiting.tried_s, waiting.try_s) == (1.0, 1.0, 3.0)
    assert waiting.again()
    assert (waiting.begun_s, waiting.tried_s, waiting.try_s) == (1.0, 5.0, 6.0)
    clock.sleep(6.0)
    assert not waiting.again()
    assert (waiting.begun_s, waiting.tried_s, waiting.try_s) == (1.0, 5.0, 6.0)


def test_silence_for_ever_stays_finite() -> None:
    waiting = Waiting(Patience(1e9, try_s=1.0), ManualClock())
    assert all(waiting.again() for _ in range(5_000))
    assert waiting.try_s == 1e9
