"""A deterministic world for a job: all that Spark and the machines decide, by a seed.

The seed chooses how many reader tasks there are, how many rows an epoch and a chunk have, in which
order messages of different senders arrive, whether actors live on or are made anew in each epoch;
where the driver dies, between two messages or at one of the points of a commit, alone or with its
machine; what the store fails to do; and, in a live world, which splits of tables without an end
join, rest and leave. Each driver may have another clock. What Spark guarantees holds here too and
no more: messages of one sender to one receiver keep their order; an epoch that was planned is run
again with the same offsets and the same recorded time, from the state at its start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from simulation.faulty_store import FaultyStore
from simulation.memory_source import load
from simulation.seeded_source import Life, SeededSource
from tidegate.clock import ManualClock
from tidegate.connectors.registry import connector_of
from tidegate.engine.engine import Engine
from tidegate.epochs.offsets import Offset
from tidegate.epochs.opening import EpochOptions
from tidegate.errors import InvariantError, StoreError
from tidegate.failpoints import watched
from tidegate.plan.fragments import Plan
from tidegate.simulator.course import Course
from tidegate.simulator.local import Local, Results
from tidegate.store.memory import MemoryStore

T = TypeVar("T")

EPOCHS_MAX = 10_000
_POINTS: Final = ("", "planned", "after-staging", "after-entry", "after-publish")
"""Where a driver dies; at "" between two messages."""
_STEPS_MAX: Final = 200
_SLOW_S: Final = 2.0
_JUMPS_S: Final = (0, 30, -30, -3_600, 3_600)
"""How far the clock of the first driver is off, of the second, and so on around."""
_LINGERS_MAX: Final = 12
"""Steps of time for which a live world goes on when all was read."""


@dataclass(frozen=True, slots=True)
class Choices:
    """How a run goes; drawn from the seed by `draw`. ``trouble_probability`` is that of a request
    to the store to fail, or to take long. ``live``, ``clocks_differ``: see the module."""

    rows_max: int | None
    chunk_rows: int
    actors_live_on: bool
    crash_probability: float
    trouble_probability: float = 0.0
    live: bool = False
    parallelism: int = 2
    time_step_us: int = 1_000_000
    clocks_differ: bool = False

    @classmethod
    def draw(cls, rng: Random, *, live: bool = False) -> Choices:
        """``live``: whether the world may be."""
        return cls(
            rows_max=rng.choice([1, 2, 3, 7, 20, 100, None]),
            chunk_rows=rng.choice([1, 2, 5, 50, 1 << 30]),
            actors_live_on=rng.random() < 0.5,
            crash_probability=rng.choice([0.0, 0.1, 0.5]),
            trouble_probability=rng.choice([0.0, 0.0, 0.002, 0.01]),
            live=rng.random() < 0.8 and live,
            parallelism=rng.choice([1, 2, 3, 5]),
            clocks_differ=True,
        )


class DiedError(Exception):
    """The driver is no more, in the middle of what it did."""


class SeededCourse(Course):
    """The course of a seed, over the lives of all drivers."""

    def __init__(self, rng: Random, choices: Choices, clock: ManualClock) -> None:
        self.actors_live_on = choices.actors_live_on
        self.sources: dict[str, SeededSource] = {}
        self.planned: dict[int, Offset] = {}
        """The epochs so far, as they were planned."""
        self._rng = rng
        self._choices = choices
        self._clock = clock
        self._began_us = clock.time_us
        self._steps_left: int | None = None
        self._point = ""
        self.disk = MemoryStore(clock)
        self.store = FaultyStore(self.disk, self.trouble)
        """As the driver that lives now has it."""
        self._lingers = rng.randint(0, _LINGERS_MAX) if choices.live else 0

    def before_plan(self, epoch: int) -> None:
        if epoch > EPOCHS_MAX:
            raise InvariantError(f"the simulated job does not end in {EPOCHS_MAX} epochs")
        planned_us = self._began_us + epoch * self._choices.time_step_us
        self._clock.time_us = max(self._clock.time_us, planned_us)

    def more_comes(self) -> bool:
        if not any(source.more_comes for source in self.sources.values()):
            self._lingers -= 1
            if self._lingers < 0:
                return False
        self._clock.time_us += self._choices.time_step_us
        self._began_us += self._choices.time_step_us
        return True

    def begin_epoch(self, end: Offset) -> None:
        self.planned[end.epoch] = end
        self._steps_left, self._point = None, ""
        if self._rng.random() < self._choices.crash_probability:
            self._point = self._rng.choice(_POINTS)
            if self._point in ("", "planned"):
                self._steps_left = 0 if self._point else self._rng.randrange(1, _STEPS_MAX)

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

    def _die(self) -> None:
        self.store.die()
        raise DiedError

    def trouble(self) -> None:
        """A store is asked for something, or has done it. Raises StoreError."""
        probability = self._choices.trouble_probability
        if probability and self._rng.random() < probability:
            if self._rng.random() < 0.5:
                raise StoreError("the store does not answer")
            self._clock.sleep(_SLOW_S)


class DriversClock(ManualClock):
    """That of the machine on which a driver runs; the next one may run on another machine."""

    def __init__(self, world: ManualClock) -> None:
        super().__init__()
        self._world = world
        self.driver = 0

    def now_us(self) -> int:
        return self._world.now_us() + _JUMPS_S[self.driver % len(_JUMPS_S)] * 1_000_000

    def monotonic_s(self) -> float:
        return self._world.monotonic_s()

    def sleep(self, seconds: float) -> None:
        self._world.sleep(seconds)


class World:
    """Runs one plan under one seed."""

    def __init__(
        self, plan: Plan, rng: Random, choices: Choices, engine: Engine, time_us: int
    ) -> None:
        clock = ManualClock(time_us)
        self._rng = rng
        self.course = course = SeededCourse(rng, choices, clock)
        self.crashes = 0
        self._clock = DriversClock(clock)
        self._clocks_differ = choices.clocks_differ
        tables = plan.tables if choices.live else ()
        endless = {table.name for table in tables if not connector_of(table).is_bounded(table)}
        for table in plan.tables:
            splits, lives = load(table, engine), dict[str, Life]()
            if table.name in endless:
                for split, whole in splits.items():
                    lives[split] = Life.draw(rng, whole.rows, time_us, choices.time_step_us)
            course.sources[table.name] = SeededSource(splits, rng, choices.chunk_rows, clock, lives)
        options = EpochOptions(
            parallelism=choices.parallelism,
            rows_max=choices.rows_max,
            bytes_max=None,
            duration_us=0,
            available_now=not endless,
            takeover=True,
        )
        self.local = Local(
            plan,
            course.sources,
            options,
            clock=self._clock,
            engine=engine,
            course=course,
            checks=True,
        )
        self.local.outputs.on_use = course.trouble

    def run(self) -> Results:
        """Runs one driver after the other, until one of them has read all there is."""
        course, local = self.course, self.local
        while True:
            local.store = course.store = FaultyStore(course.disk, course.trouble)
            try:
                with watched(course.at):
                    return local.run()
            except (DiedError, StoreError) as error:
                self.crashes += 1
                self._clock.driver += self._clocks_differ
                if isinstance(error, DiedError) and self._rng.random() < 0.5:  # with its machine
                    course.store.lose(self._rng)
                    local.outputs.lose()
