"""What is computed anew, as `recompute` asks for it: one class a kind of node (S14)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.changes.difference import changed, difference
from tidegate.types import Rejected, SplitReport


class Block(ABC):
    """What a node says of the rows alike in some keys."""

    has_result_of_nothing: bool = False
    """Whether there is a result of no rows at all, such as the count of a whole table."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @abstractmethod
    def results(self, tables: list[pa.Table]) -> tuple[pa.Table, list[pa.Table]]:
        """The rows of the result, of all rows of some keys on each port, and those of each port
        that must be kept."""

    def after(self, rows: pa.Table, changes: pa.Table) -> pa.Table:
        """What ``rows`` of a port are after ``changes``."""
        return changed(self._engine, rows, changes)

    def changes(self, old: pa.Table, new: pa.Table, told_apart: Sequence[str] | None) -> pa.Table:
        """What leaves where the results were ``old`` and are ``new``, with `OP`."""
        return difference(self._engine, old, new, told_apart)

    def take_refused(self) -> Iterator[Rejected]:
        """The changes that were refused since the last call."""
        return iter(())

    def reports(self) -> Iterator[SplitReport]:
        """What that changes in the accounts of their splits, since the last call."""
        return iter(())
