"""How long to wait for somebody who may be away: one policy, and the loop that keeps to it.

Each system has a table of its policies, with their reasons. Times are in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TypeVar

from tidegate.clock import Clock

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Patience:
    """There is a first try. No other begins later than ``in_all_s`` after it, nor with less than
    ``least_s`` left; none may take longer than what is left.

    try_s       how long the first try may take
    growth      how many times as long the next, when nothing was heard of one
    pause_s     between tries; each is twice as long as the one before, up to ``pause_s_max``
    errors_max  how many tries may end in an error that is no silence
    passing     which errors pass: another try may go well
    """

    in_all_s: float
    try_s: float = inf
    growth: float = 2.0
    pause_s: float = 0.0
    pause_s_max: float = 0.0
    least_s: float = 0.0
    errors_max: float = inf
    passing: tuple[type[Exception], ...] = ()


class Waiting:
    """A `Patience` that has begun. ``try_s``: how long the try that runs may take, which began at
    ``tried_s`` by the clock, as the first at ``begun_s``."""

    def __init__(self, patience: Patience, clock: Clock) -> None:
        self._patience, self._clock = patience, clock
        self.begun_s = self.tried_s = clock.monotonic_s()
        self.try_s = min(patience.try_s, patience.in_all_s)
        self._grown_s, self._pause_s, self._errors = patience.try_s, patience.pause_s, 0

    def again(self, *, silent: bool = True) -> bool:
        """Whether there is another try, behind a pause. ``silent``: nothing was heard of this one,
        else it has failed."""
        patience = self._patience
        left_s = patience.in_all_s - (self._clock.monotonic_s() - self.begun_s)
        rest_s = left_s - self._pause_s
        if silent:  # the bound keeps it finite
            self._grown_s = min(patience.growth * self._grown_s, patience.in_all_s)
        self._errors += not silent
        if left_s <= 0 or rest_s < patience.least_s or self._errors >= patience.errors_max:
            return False
        self._clock.sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, max(patience.pause_s, patience.pause_s_max))
        self.tried_s, self.try_s = self._clock.monotonic_s(), min(self._grown_s, rest_s)
        return True


def patiently(action: Callable[[float], _T], patience: Patience, clock: Clock) -> _T:
    """What ``action`` gives, which is told how long it may take. Raises what does not pass, and the
    last error when time is up."""
    waiting = Waiting(patience, clock)
    while True:
        try:
            return action(waiting.try_s)
        except patience.passing:
            if not waiting.again():
                raise
