"""Random queries over rows that change (S14), and what must not pass."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sqlglot import exp

from kits.many import seeds
from simulation.changing import MOVING, check_moving, check_seed
from tidegate.executor.aggregation import aggregate_parts
from tidegate.executor.changes import block, difference
from tidegate.executor.changes.table_block import TableBlock
from tidegate.executor.joins.regular_join import RegularJoinExecutor
from tidegate.frontend.queries import subqueries
from tidegate.plan import lower
from tidegate.types import OP, Op

BATCH = 10


@pytest.mark.slow
@pytest.mark.parametrize("batch", seeds(4))
def test_at_every_barrier_the_fold_is_what_the_query_says(batch: int) -> None:
    failed = [check_seed(seed) for seed in range(BATCH * batch, BATCH * (batch + 1))]
    assert not any(failed), "\n\n".join(filter(None, failed))


@pytest.mark.slow
@pytest.mark.parametrize("query", range(len(MOVING)))
def test_a_row_that_moves_between_actors_changes_once(query: int) -> None:
    failed = [check_moving(seed, MOVING[query]) for seed in range(10)]
    assert not any(failed), "\n\n".join(filter(None, failed))


@pytest.mark.slow
@pytest.mark.parametrize(("query", "first"), [(0, 5), (1, 26), (2, 7)])
def test_that_they_move_is_seen(query: int, first: int) -> None:
    with patch.object(lower, "_change_together", lambda *_: True):
        assert any(check_moving(seed, MOVING[query]) for seed in range(first, first + 40))


def retractions_are_dropped() -> AbstractContextManager[Any]:
    """What is taken back stays."""
    honest = difference.changed

    def changed(engine: Any, rows: pa.Table, changes: pa.Table) -> pa.Table:
        if OP in changes.column_names:
            came = pa.array([int(Op.INSERT), int(Op.UPDATE_AFTER)], pa.int8())
            changes = changes.filter(pc.is_in(changes.column(OP), value_set=came))
        return honest(engine, rows, changes)

    return patch.object(block, "changed", changed)


def images_of_before_are_believed() -> AbstractContextManager[Any]:
    """A put is taken for a row more, whatever the table holds."""

    def after(self: TableBlock, rows: pa.Table, changes: pa.Table) -> pa.Table:
        del self
        return pa.concat_tables([rows, changes.select(rows.column_names)])

    return patch.object(TableBlock, "after", after)


def equal_rows_are_one() -> AbstractContextManager[Any]:
    """A table is taken for a set."""
    honest = difference.difference

    def of(engine: Any, old: pa.Table, new: pa.Table, key: Any) -> pa.Table:
        one, other = (table.group_by(table.column_names).aggregate([]) for table in (old, new))
        return honest(engine, one, other, key)

    return patch.object(block, "difference", of)


def nulls_are_like_others_in_not_in() -> AbstractContextManager[Any]:
    """NOT IN takes a NULL for a value that is none of the others."""

    def equal(each: Any, tested: Any, value: Any) -> Any:
        del each
        return exp.EQ(this=tested.copy(), expression=value.copy())

    return patch.object(subqueries, "_equal", equal)


def rows_of_before_meet_nobody() -> AbstractContextManager[Any]:
    """A join looks at the rows of one epoch."""

    def known(self: RegularJoinExecutor, port: int, *_: Any) -> pa.Table:
        return self._none(port)

    return patch.object(RegularJoinExecutor, "_known", known)


def what_is_taken_counts_for_nothing() -> AbstractContextManager[Any]:
    """Counts and sums only grow."""
    return patch.object(aggregate_parts, "_IS_TAKEN", "false")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "first"),
    [
        (retractions_are_dropped, 0),
        (images_of_before_are_believed, 0),
        (equal_rows_are_one, 0),
        (rows_of_before_meet_nobody, 0),
        (what_is_taken_counts_for_nothing, 283),
        (nulls_are_like_others_in_not_in, 495),
    ],
)
def test_is_caught(mutant: Callable[[], AbstractContextManager[Any]], first: int) -> None:
    with mutant():
        assert any(check_seed(seed) for seed in range(first, first + 100))
