"""A source whose splits come, rest, go on and leave as a seed says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from simulation.memory_source import MemorySource, Split, row_of
from tidegate.clock import Clock
from tidegate.ports import Position, SplitPlan


@dataclass(frozen=True, slots=True)
class Life:
    """What becomes of a split: when it is there, for how long nothing comes once it was read up to
    some of its offsets, and whether it is gone when all of it was read."""

    from_us: int = 0
    pauses_us: Mapping[int, int] = field(default_factory=dict)
    leaves: bool = False

    @classmethod
    def draw(cls, rng: Random, rows: int, now_us: int, step_us: int) -> Life:
        """One that joins and rests now and then; it does something else every ``step_us``."""
        joins = rng.choice([0, 0, 0, 1, 4, 8])
        stops = [rng.randint(0, rows) for _ in range(rng.choice([0, 1, 1, 2]))]
        pauses = {stop: rng.randint(1, 8) * step_us for stop in stops}
        return cls(now_us + joins * step_us, pauses, rng.random() < 0.2)


class SeededSource(MemorySource):
    """Rows come in epochs and chunks as ``rng`` says; splits live as ``lives`` says, those without
    one are all there, and stay."""

    def __init__(
        self,
        splits: Mapping[str, Split],
        rng: Random,
        chunk_rows: int,
        clock: Clock,
        lives: Mapping[str, Life] | None = None,
    ) -> None:
        super().__init__(splits, chunk_rows)
        self._rng = rng
        self._clock = clock
        self._lives = lives or {}
        self._at: dict[str, int] = {}  # how far each split is read, as the planner said last
        self._since_us: dict[tuple[str, int], int] = {}  # when a pause began

    @property
    def more_comes(self) -> bool:
        """Whether there are rows that nobody has read, or will be."""
        return any(self._at.get(split, 0) < whole.rows for split, whole in self.whole.items())

    def splits(self, *, begun: bool = False) -> Sequence[str]:
        del begun
        now_us = self._clock.now_us()
        lives = {split: self._lives.get(split, Life()) for split in sorted(self.whole)}
        return [
            split
            for split, life in lives.items()
            if life.from_us <= now_us and not (life.leaves and self._is_read(split))
        ]

    def plan(self, start: Mapping[str, Position], rows_max: int | None) -> dict[str, SplitPlan]:
        self._at |= {split: row_of(at) for split, at in start.items()}
        return super().plan(start, rows_max)

    def there(self, split: str, at: Position) -> int:
        row, now_us = row_of(at), self._clock.now_us()
        for stop, pause_us in sorted(self._lives.get(split, Life()).pauses_us.items()):
            if stop > row:
                return stop
            began_us = self._since_us.setdefault((split, stop), now_us) if stop == row else 0
            if stop == row and now_us - began_us < pause_us:
                return row
        return self.whole[split].rows

    def share(self, left: Mapping[str, int], rows_max: int) -> dict[str, int]:
        return cut(self._rng, left, rows_max)

    def turn(self, splits: Sequence[str]) -> str:
        return self._rng.choice(splits)

    def _is_read(self, split: str) -> bool:
        return self._at.get(split) == self.whole[split].rows


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
