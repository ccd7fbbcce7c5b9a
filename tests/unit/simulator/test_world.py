"""The world: what a seed decides, and what a crash takes away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from kits.executor import ENGINE
from tidegate.errors import InvariantError
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import Plan, cut
from tidegate.simulator import world as module
from tidegate.simulator.world import Choices, Committed, World

CALM = Choices(rows_max=2, chunk_rows=1, actors_live_on=True, crash_probability=0.0)
SPLITS = {"a": [1, 5, 12, 3, 21, 30], "b": [2, 11, 22, 23], "c": [], "d": [4, 9, 40]}

Run = Callable[[Choices, int], Committed]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    for split, times in SPLITS.items():
        (tmp_path / split).mkdir()
        lines = "".join(f'{{"t": {time}}}\n' for time in times)
        (tmp_path / split / "1.json").write_text(lines)
    files = f"WITH (connector = 'filesystem', path = '{tmp_path}') FORMAT PLAIN ENCODE JSON;"
    shown = "WITH (connector = 'print');"
    sql = (
        f"CREATE SOURCE ticks (t BIGINT, WATERMARK FOR t AS t - 2) {files}"
        " CREATE SINK n AS SELECT window_end, count(*) AS n FROM TUMBLE(ticks, t, 10)"
        f" GROUP BY window_end EMIT ON WINDOW CLOSE {shown}"
    )
    return cut(compile_sql(sql, "f.sql", {}), 3)


@pytest.fixture
def run(plan: Plan) -> Run:
    return lambda choices, seed: World(plan, Random(seed), choices, ENGINE, 0).run()


def _rows(committed: Committed) -> list[tuple[int, int]]:
    return sorted(
        (row["window_end"], row["n"]) for table in committed.outputs[0] for row in table.to_pylist()
    )


def test_the_same_seed_is_the_same_world(run: Run) -> None:
    one, other = (run(replace(CALM, crash_probability=0.5), 7) for _ in range(2))
    assert one.crashes == other.crashes
    assert [table.to_pylist() for table in one.outputs[0]] == [
        table.to_pylist() for table in other.outputs[0]
    ]


@pytest.mark.parametrize("live_on", [True, False])
@pytest.mark.parametrize("crashes", [0.0, 0.8])
@pytest.mark.parametrize("rows_max", [1, 4, None])
def test_nothing_depends_on_the_world(
    run: Run, live_on: bool, crashes: float, rows_max: int | None
) -> None:
    committed = run(Choices(rows_max, 2, live_on, crashes), 3)
    assert _rows(committed) == [(10, 5), (20, 2), (30, 3), (40, 1), (50, 1)]
    assert [table.num_rows for table in committed.ledger] == [1]
    assert {split: counts.read for split, counts in committed.counts["ticks"].items()} == {
        split: len(times) for split, times in SPLITS.items()
    }
    assert all(counts.balanced for counts in committed.counts["ticks"].values())


def test_state_is_empty_when_all_windows_have_closed(run: Run) -> None:
    assert sum(table.rows for table in run(CALM, 1).states.values()) == 0


def test_crashes_happen(run: Run) -> None:
    assert run(CALM, 5).crashes == 0
    assert run(replace(CALM, crash_probability=0.5), 5).crashes > 0


def test_a_job_that_does_not_end(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EPOCHS_MAX", 2)
    with pytest.raises(InvariantError, match="does not end in 2 epochs"):
        run(replace(CALM, rows_max=1), 1)
