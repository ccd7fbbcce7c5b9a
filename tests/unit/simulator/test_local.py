"""A job without Spark, from beginning to end, and on from where it was left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kits.executor import ENGINE
from kits.ticks import rows_of, ticks
from simulation.memory_source import MemorySource, load
from tidegate.clock import ManualClock
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.failpoints import watched
from tidegate.simulator.local import ONCE, Local

WHOLE = [(10, 5), (20, 2), (30, 3), (40, 1), (50, 1)]


@pytest.mark.slow
def test_a_job_gives_its_rows_its_ledger_and_its_account(tmp_path: Path) -> None:
    results = Local(ticks(tmp_path)).run()
    assert rows_of(results) == WHOLE
    (refused,) = [row for table in results.ledger for row in table.to_pylist()]
    assert (refused["split"], refused["offset"], refused["reason"]) == ("a", 3, "late")
    total = results.last.accounts.total()
    assert (total.read, total.used, total.late) == (13, 12, 1)


@pytest.mark.slow
def test_rows_may_come_from_memory(tmp_path: Path) -> None:
    plan = ticks(tmp_path)
    (table,) = plan.tables
    source = MemorySource({name: s for name, s in load(table, ENGINE).items() if name != "a"})
    results = Local(plan, {"ticks": source}, engine=ENGINE).run()
    assert rows_of(results) == [(10, 3), (20, 1), (30, 2), (50, 1)]


@pytest.mark.slow
def test_a_table_that_goes_on_is_read_to_what_is_there(tmp_path: Path) -> None:
    plan = ticks(tmp_path, ", 'source.monitor-interval' = '1 s'")
    assert rows_of(Local(plan, engine=ENGINE).run()) == [], "an empty split holds the others"
    (tmp_path / "c/2.json").write_text('{"t": 25}\n')
    assert rows_of(Local(plan, engine=ENGINE).run()) == [(10, 5), (20, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("point", ["after-staging", "after-entry", "after-publish"])
def test_the_next_run_goes_on_where_one_has_died(tmp_path: Path, point: str) -> None:
    local = Local(ticks(tmp_path), options=replace(ONCE, rows_max=3), engine=ENGINE)

    def dies(name: str, epoch: int) -> None:
        if (name, epoch) == (point, 3):
            raise RuntimeError(point)

    with watched(dies), pytest.raises(RuntimeError, match=point):
        local.run()
    checkpoint = Checkpoint(local.store)
    known = 2 if point == "after-staging" else 3
    assert (checkpoint.last_epoch(), checkpoint.planned_epoch()) == (known, 3)
    assert not checkpoint.is_committed(3)
    results = local.run()
    assert rows_of(results) == WHOLE
    assert results.last.epoch == 5
    assert [table.num_rows for table in results.ledger] == [1]


@pytest.mark.slow
def test_a_job_that_has_ended_gives_what_it_gave(tmp_path: Path) -> None:
    local = Local(ticks(tmp_path), engine=ENGINE, clock=ManualClock(7))
    first, second = local.run(), local.run()
    assert rows_of(first) == rows_of(second) == WHOLE
    assert first.last == second.last
    assert first.last.time_us == 7
