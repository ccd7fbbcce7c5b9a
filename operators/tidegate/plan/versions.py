"""Versions: what the rows of a table that changes were, and since when (S13, S14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidegate.plan.nodes import Unary


@dataclass(frozen=True, slots=True)
class Versions(Unary):
    """Each version of each row, valid from its ``time`` on; and one that says that it is gone.

    The first column of the schema, ``change``, orders versions of one time; it is odd where the row
    is gone.
    """

    gives_splits: ClassVar[bool] = False

    change: str
    time: str

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        return ((wanted - {self.change}) | {self.time},)

    @property
    def title(self) -> str:
        return f"Versions by {self.time}"
