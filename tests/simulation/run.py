"""Runs a SQL job in a simulated world; gives its rows as Python values."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa

from simulation.world import Choices, World
from tidegate.engine.engine import Engine, engine_of
from tidegate.epochs.entry import By
from tidegate.epochs.offsets import Offset
from tidegate.plan.fragments import Plan
from tidegate.plan.nodes import time_zone
from tidegate.types import Counts

START_US = 1_767_225_600_000_000
"""Where simulated time begins: 2026-01-01."""


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """What a simulated job gave: rows by sink, ledger rows, and the account."""

    outputs: dict[str, list[dict[str, Any]]]
    ledger: list[dict[str, Any]]
    counts: By[str, Counts]
    choices: Choices
    epochs: int
    crashes: int
    state_rows: int
    epochs_planned: list[Offset]

    @property
    def total(self) -> Counts:
        """All accounts and splits together."""
        return sum((c for splits in self.counts.values() for c in splits.values()), Counts())


def simulate(
    plan: Plan,
    seed: int,
    engine: Engine | None = None,
    choices: Choices | None = None,
    *,
    live: bool = False,
) -> SimulatedRun:
    """Runs ``plan`` in the world of ``seed``, which may be a ``live`` one."""
    rng = Random(seed)
    drawn = Choices.draw(rng, live=live)
    world = World(
        plan,
        rng,
        choices or drawn,
        engine or engine_of(time_zone(plan.job), plan.job.functions),
        START_US,
    )
    results = world.run()
    return SimulatedRun(
        {sink: _rows(tables) for sink, tables in results.outputs.items()},
        _rows(results.ledger),
        results.last.accounts.counts,
        choices or drawn,
        results.last.epoch,
        world.crashes,
        world.local.states.rows,
        [offset for _, offset in sorted(world.course.planned.items())],
    )


def _rows(tables: list[pa.Table]) -> list[dict[str, Any]]:
    return [row for table in tables for row in table.to_pylist()]
