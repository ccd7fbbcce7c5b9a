"""The state tables of all actors, as they are now and as they were at the ends of epochs."""

from __future__ import annotations

from typing import TypeAlias

from tidegate.state import MemoryStateTable, StateTable

Place: TypeAlias = "tuple[int, int, str]"
"""Fragment, vnode, and the operator's name for its table."""


class States:
    """Stands for Spark's state store: the tables of an epoch hold once the epoch is committed."""

    def __init__(self) -> None:
        self._now: dict[Place, MemoryStateTable] = {}
        self._saved: dict[int, dict[Place, MemoryStateTable]] = {0: {}}

    def table(self, place: Place) -> StateTable:
        """The table at ``place``, which is new if nobody has asked for it."""
        return self._now.setdefault(place, MemoryStateTable())

    def save(self, epoch: int) -> None:
        """Keeps all tables as they are behind ``epoch``, beside those of the epoch before it."""
        before = self._saved.get(epoch - 1, {})
        now = {place: table.snapshot() for place, table in self._now.items()}
        self._saved = {epoch - 1: before, epoch: now}

    def restore(self, epoch: int) -> None:
        """All tables are again as they were behind ``epoch``."""
        saved = self._saved[epoch].items()
        self._now = {place: table.snapshot() for place, table in saved}

    @property
    def rows(self) -> int:
        """The rows that are kept now: for tests of the bound on state."""
        return sum(table.rows for table in self._now.values())
