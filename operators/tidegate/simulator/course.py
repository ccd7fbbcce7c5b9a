"""How a run goes, where nothing says how it must."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tidegate.epochs.offsets import Offset

T = TypeVar("T")


class Course:
    """Straight on, to the end of what is there. The simulator's goes as its seed says (`world`).

    What a method raises ends the run.
    """

    actors_live_on = True
    """Whether actors go on from epoch to epoch, or are made anew from their state."""

    def before_plan(self, epoch: int) -> None:
        """``epoch`` is planned next, if there is anything to do in it."""

    def begin_epoch(self, end: Offset) -> None:
        """The epoch begins that was planned so, maybe again."""

    def more_comes(self) -> bool:
        """Whether something will come of which nothing is there yet; asked when all was read."""
        return False

    def choose(self, ready: Sequence[T]) -> T:
        """Which of those goes on that have something to do: here, what has come last, so that no
        more rows wait than need be."""
        return ready[-1]

    def step(self) -> None:
        """Somebody goes on."""
