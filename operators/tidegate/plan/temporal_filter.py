"""TemporalFilter: rows near the present, which enter and leave as time passes (S14)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from tidegate.plan.nodes import Unary


@dataclass(frozen=True, slots=True)
class TemporalFilter(Unary):
    """The rows for which ``enters <= now - column < leaves``, in microseconds; None is no bound.

    Now is the recorded time of an epoch. ``text`` is the condition as it was written.
    """

    stateful: ClassVar[bool] = True
    gives_splits: ClassVar[bool] = False

    column: str
    enters: int | None
    leaves: int | None
    text: str

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        return (wanted | {self.column},)

    @property
    def title(self) -> str:
        return f"TemporalFilter {self.text}"

    @property
    def state(self) -> Iterator[str]:
        if self.leaves is not None:
            yield "state: the rows that are there"
        else:
            yield "state: nothing of the rows that are there"
        if self.enters is not None:
            yield "state: the rows whose time has not come"
