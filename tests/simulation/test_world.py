"""The world: what a seed decides, and what a crash takes away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from kits.executor import ENGINE
from kits.ticks import SPLITS, rows_of, ticks
from simulation import world as module
from simulation.world import Choices, World
from tidegate.errors import InvariantError
from tidegate.plan.fragments import Plan
from tidegate.simulator.local import Results

CALM = Choices(rows_max=2, chunk_rows=1, actors_live_on=True, crash_probability=0.0)

Run = Callable[[Choices, int], tuple[World, Results]]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return ticks(tmp_path)


@pytest.fixture
def run(plan: Plan) -> Run:
    def ran(choices: Choices, seed: int) -> tuple[World, Results]:
        world = World(plan, Random(seed), choices, ENGINE, 0)
        return world, world.run()

    return ran


def test_the_same_seed_is_the_same_world(run: Run) -> None:
    (one, first), (other, second) = (run(replace(CALM, crash_probability=0.5), 7) for _ in range(2))
    assert one.crashes == other.crashes > 0
    assert [table.to_pylist() for table in first.outputs["n"]] == [
        table.to_pylist() for table in second.outputs["n"]
    ]
    assert first.last.time_us == second.last.time_us


@pytest.mark.parametrize("live_on", [True, False])
@pytest.mark.parametrize("crashes", [0.0, 0.8])
@pytest.mark.parametrize("rows_max", [1, 4, None])
def test_nothing_depends_on_the_world(
    run: Run, live_on: bool, crashes: float, rows_max: int | None
) -> None:
    _, results = run(Choices(rows_max, 2, live_on, crashes), 3)
    assert rows_of(results) == [(10, 5), (20, 2), (30, 3), (40, 1), (50, 1)]
    assert [table.num_rows for table in results.ledger] == [1]
    counts = results.last.accounts.counts["ticks"]
    assert {split: each.read for split, each in counts.items()} == {
        split: len(times) for split, times in SPLITS.items()
    }
    assert all(each.balanced for each in counts.values())


def test_state_is_empty_when_all_windows_have_closed(run: Run) -> None:
    assert run(CALM, 1)[0].local.states.rows == 0


def test_crashes_happen_everywhere(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(CALM, 5)[0].crashes == 0
    died: set[str] = set()
    honest = module.SeededCourse._die

    def die(self: module.SeededCourse) -> None:
        died.add(self._point)
        honest(self)

    monkeypatch.setattr(module.SeededCourse, "_die", die)
    for seed in range(5):
        run(replace(CALM, crash_probability=0.9), seed)
    assert died == {"", "planned", "after-staging", "after-entry", "after-publish"}


def test_a_job_that_does_not_end(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EPOCHS_MAX", 2)
    with pytest.raises(InvariantError, match="does not end in 2 epochs"):
        run(replace(CALM, rows_max=1), 1)
