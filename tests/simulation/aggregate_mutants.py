"""Aggregations broken on purpose (see `mutants`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

from tidegate.executor.aggregation import early_aggregate, group_changes
from tidegate.executor.aggregation.early_aggregate import EarlyAggregateExecutor
from tidegate.executor.aggregation.final_aggregate import FinalAggregateExecutor
from tidegate.executor.aggregation.partial_aggregate import PartialAggregateExecutor
from tidegate.executor.aggregation.updating_aggregate import UpdatingAggregateExecutor
from tidegate.types import END, TICK, Barrier, Message


def aggregate_forgets_what_it_holds() -> AbstractContextManager[Any]:
    """The final aggregate does not write what it holds at a barrier: gone with the next crash."""
    honest = FinalAggregateExecutor.on_barrier

    def on_barrier(self: Any, barrier: Barrier) -> Iterator[Message]:
        with patch.object(self, "_persist", lambda: None):
            yield from honest(self, barrier)

    return patch.object(FinalAggregateExecutor, "on_barrier", on_barrier)


def partials_survive_a_barrier() -> AbstractContextManager[Any]:
    """The partial aggregate sends what it held before the last barrier once more."""
    honest = PartialAggregateExecutor.on_barrier

    def on_barrier(self: Any, barrier: Barrier) -> Iterator[Message]:
        self._aggregate()  # what waits is held now
        held = list(self._held)
        yield from honest(self, barrier)
        self._held = held

    return patch.object(PartialAggregateExecutor, "on_barrier", on_barrier)


@contextmanager
def updates_come_after_what_the_watermark_ends() -> Iterator[None]:
    """An updating aggregate forgets closed groups before it says what became of them."""
    honest = UpdatingAggregateExecutor.on_barrier

    def on_barrier(self: Any, barrier: Barrier) -> Iterator[Message]:
        self._changes.forget(self._bound(self._key))
        yield from honest(self, barrier)

    with patch.object(UpdatingAggregateExecutor, "on_barrier", on_barrier):
        yield


@contextmanager
def updates_keep_what_was_first() -> Iterator[None]:
    """Of what was written of a group that speaks, the first counts."""
    honest = group_changes._Sql.__init__

    def init(self: Any, node: Any) -> None:
        honest(self, node)
        self.latest = self.latest.replace("DESC", "ASC")
        self.touched = self.touched.replace("DESC", "ASC")

    with patch.object(group_changes._Sql, "__init__", init):
        yield


def early_results_have_rows_ahead() -> AbstractContextManager[Any]:
    """An early result has all rows that are there, those behind its tick too."""
    honest = EarlyAggregateExecutor._bound

    def bound(self: Any, column: str) -> int:
        honest_bound = honest(self, column)
        return END if column == TICK and column in self._watermarks else honest_bound

    return patch.object(EarlyAggregateExecutor, "_bound", bound)


def last_results_lack_the_newest_rows() -> AbstractContextManager[Any]:
    """A group that closes leaves out rows whose tick has not come."""

    def closed(table: Any, name: str, default: int) -> int:
        del table, name, default
        return END

    return patch.object(early_aggregate, "get_int", closed)
