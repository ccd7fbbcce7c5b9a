"""Who writes a world's values: at random, and more or less calmly."""

from __future__ import annotations

from random import Random


class Hand(Random):
    """``calm`` is the share of values that are such as everybody writes."""

    calm: float = 0.0

    @property
    def is_calm(self) -> bool:
        """Whether the next value is such a one."""
        return self.random() < self.calm
