"""Settle: rows of a table that changes, once they are final (S13)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from tidegate.plan.nodes import Unary


@dataclass(frozen=True, slots=True)
class Settle(Unary):
    """Keeps the rows whose ``column`` is not below the watermark, as they change; then they leave,
    once, and what is said of them later is refused. So all that is final can stand above it.

    ``time`` is the time column of which ``column`` is made, or that itself: a row is final for its
    split when the split's watermark of that is above it, or has reached the end of its window,
    which ``column`` lies ``short`` of. ``account`` is that of ``table``, whose rows they are.
    """

    stateful: ClassVar[bool] = True
    gives_splits: ClassVar[bool] = False

    column: str
    time: str
    short: int | None
    table: str
    account: str

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        return (wanted | {self.column},)

    @property
    def title(self) -> str:
        return f"Settle by {self.column}: rows of {self.table}, once they are final"

    @property
    def state(self) -> Iterator[str]:
        yield f"state: the rows whose {self.column} is not below the watermark"
