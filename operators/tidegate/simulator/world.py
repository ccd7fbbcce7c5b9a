"""A deterministic world for a job: all that Spark and the machines decide, by a seed.

The seed chooses how many reader tasks there are, how many rows an epoch and a chunk have, in which
order messages of different senders arrive, whether actors live on or are made anew in each epoch,
and where the driver dies: between two messages, or at one of the points of a commit. What Spark
guarantees holds here too and no more: messages of one sender to one receiver keep their order; an
epoch that was planned is run again with the same offsets and the same recorded time, from the state
at its start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from tidegate.clock import ManualClock
from tidegate.engine.engine import Engine
from tidegate.epochs.opening import EpochOptions
from tidegate.errors import InvariantError
from tidegate.failpoints import watched
from tidegate.plan.fragments import Plan
from tidegate.simulator.course import Course
from tidegate.simulator.local import Local, Results
from tidegate.simulator.sources import MemorySource, Split, load

T = TypeVar("T")

EPOCHS_MAX = 10_000
_POINTS: Final = ("planned", "after-staging", "after-entry", "after-publish")
"""Where a driver dies that does not die between two messages."""
_STEPS_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Choices:
    """How a run goes; drawn from the seed by `draw`."""

    rows_max: int | None
    chunk_rows: int
    actors_live_on: bool
    crash_probability: float
    time_step_us: int = 1_000_000
    parallelism: int = 2

    @classmethod
    def draw(cls, rng: Random) -> Choices:
        return cls(
            rows_max=rng.choice([1, 2, 3, 7, 20, 100, None]),
            chunk_rows=rng.choice([1, 2, 5, 50, 1 << 30]),
            actors_live_on=rng.random() < 0.5,
            crash_probability=rng.choice([0.0, 0.1, 0.5]),
            parallelism=rng.choice([1, 2, 3, 5]),
        )


class DiedError(Exception):
    """The driver is no more, in the middle of what it did."""


class SeededCourse(Course):
    """The course of a seed, over the lives of all drivers."""

    def __init__(self, rng: Random, choices: Choices, clock: ManualClock) -> None:
        self.actors_live_on = choices.actors_live_on
        self._rng = rng
        self._choices = choices
        self._clock = clock
        self._began_us = clock.time_us
        self._steps_left: int | None = None
        self._point = ""

    def before_plan(self, epoch: int) -> None:
        if epoch > EPOCHS_MAX:
            raise InvariantError(f"the simulated job does not end in {EPOCHS_MAX} epochs")
        planned_us = self._began_us + epoch * self._choices.time_step_us
        self._clock.time_us = max(self._clock.time_us, planned_us)

    def choose(self, ready: Sequence[T]) -> T:
        return self._rng.choice(ready)

    def step(self) -> None:
        if self._steps_left is not None:
            self._steps_left -= 1
            if self._steps_left < 0:
                self._die()

    def at(self, point: str, epoch: int) -> None:
        """The driver passes a point of a commit (see `tidegate.failpoints`)."""
        del epoch
        if point == self._point:
            self._die()

    def begin_epoch(self) -> None:
        """Draws what becomes of the driver in it."""
        self._steps_left, self._point = None, ""
        if self._rng.random() < self._choices.crash_probability:
            self._point = self._rng.choice(("", *_POINTS))
            if not self._point:
                self._steps_left = self._rng.randrange(1, _STEPS_MAX)
            elif self._point == "planned":
                self._steps_left = 0

    def _die(self) -> None:
        self._steps_left, self._point = None, ""
        raise DiedError


class SeededSource(MemorySource):
    """A source whose rows come in epochs and chunks as the seed says."""

    def __init__(self, splits: Mapping[str, Split], rng: Random, chunk_rows: int) -> None:
        super().__init__(splits, chunk_rows)
        self._rng = rng

    def share(self, left: Mapping[str, int], rows_max: int) -> dict[str, int]:
        return cut(self._rng, left, rows_max)

    def turn(self, splits: Sequence[str]) -> str:
        return self._rng.choice(splits)


def cut(rng: Random, left: Mapping[str, int], rows_max: int) -> dict[str, int]:
    """How many rows of each split an epoch takes, of the ``left`` ones; ``rows_max`` in all.

    Always at least one while any is left, so that a job ends.
    """
    taken = dict.fromkeys(left, 0)
    for _ in range(rows_max):
        open_ = [split for split in sorted(left) if taken[split] < left[split]]
        if not open_:
            break
        taken[rng.choice(open_)] += 1
    return taken


class World:
    """Runs one plan under one seed."""

    def __init__(
        self, plan: Plan, rng: Random, choices: Choices, engine: Engine, time_us: int
    ) -> None:
        clock = ManualClock(time_us)
        self.course = SeededCourse(rng, choices, clock)
        self.crashes = 0
        sources = {
            table.name: SeededSource(load(table, engine), rng, choices.chunk_rows)
            for table in plan.tables
        }
        options = EpochOptions(
            parallelism=choices.parallelism,
            rows_max=choices.rows_max,
            bytes_max=None,
            duration_us=0,
            available_now=True,
            takeover=True,
        )
        self.local = Local(
            plan,
            sources,
            options,
            clock=clock,
            engine=engine,
            course=self.course,
            checks=True,
        )

    def run(self) -> Results:
        """Runs one driver after the other, until one of them has read all there is."""
        while True:
            try:
                with watched(self.course.at):
                    return self.local.run()
            except DiedError:
                self.crashes += 1
