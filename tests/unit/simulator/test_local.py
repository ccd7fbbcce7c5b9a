"""A job without Spark, from beginning to end, and on from where it was left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from kits.executor import ENGINE
from kits.ticks import rows_of, ticks
from simulation.memory_source import MemorySource, load
from tidegate.clock import ManualClock
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.errors import InvariantError
from tidegate.executor.base import Executor
from tidegate.executor.filter import FilterExecutor
from tidegate.executor.project import ProjectExecutor
from tidegate.failpoints import watched
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut
from tidegate.simulator.local import ONCE, Local
from tidegate.types import Chunk, Counts, Message

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


JOB = """
CREATE SOURCE r (v BIGINT, t BIGINT, WATERMARK FOR t AS t - 2)
WITH (connector = 'filesystem', path = '{path}') FORMAT PLAIN ENCODE JSON;
CREATE SINK a AS SELECT v + 1 AS w, t FROM r WHERE v > 2 {shown};
{second}
"""
WINDOWS = """
CREATE SINK b AS SELECT window_end, count(*) AS n FROM HOP(r, t, 10, 20)
WHERE window_end > 10 AND v < 1 GROUP BY window_end EMIT ON WINDOW CLOSE {shown};
"""
SHOWN = "WITH (connector = 'print')"


def filtering(path: Path, second: str) -> Local:
    """Rows of which queries refuse some."""
    (path / "s").mkdir()
    rows = [f'{{"v": {v}, "t": {t}}}\n' for t in range(1, 40, 3) for v in range(6)]
    (path / "s/1.json").write_text("".join(rows))
    sql = JOB.format(path=path, shown=SHOWN, second=second.format(shown=SHOWN))
    return Local(cut(compile_sql(sql, "f.sql", {}), 2), engine=ENGINE, checks=True)


@pytest.mark.slow
def test_filtered_is_what_every_query_refuses(tmp_path: Path) -> None:
    for second, filtered in (("", 3 * 13), (WINDOWS, 2 * 13)):
        directory = tmp_path / str(filtered)
        directory.mkdir()
        total = filtering(directory, second).run().last.accounts.total()
        assert total == Counts(78, 78 - filtered, filtered)


def loses_a_row(kind: type[Executor]) -> AbstractContextManager[object]:
    """An operator that does not pass its first row on."""
    honest = kind.on_chunk

    def on_chunk(self: Executor, chunk: Chunk) -> Iterator[Message]:
        for message in honest(self, chunk):
            if isinstance(message, Chunk) and message.split:
                yield Chunk(message.data.slice(1), message.split)
            else:
                yield message

    return patch.object(kind, "on_chunk", on_chunk)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [FilterExecutor, ProjectExecutor])
def test_a_row_that_an_operator_loses_is_found_by_the_account(
    tmp_path: Path, kind: type[Executor]
) -> None:
    local = filtering(tmp_path, "")
    with loses_a_row(kind), pytest.raises(InvariantError, match=r"account r of split 's' does not"):
        local.run()


@pytest.mark.slow
def test_a_job_that_has_ended_gives_what_it_gave(tmp_path: Path) -> None:
    local = Local(ticks(tmp_path), engine=ENGINE, clock=ManualClock(7))
    first, second = local.run(), local.run()
    assert rows_of(first) == rows_of(second) == WHOLE
    assert first.last == second.last
    assert first.last.time_us == 7
