"""One seed: a random job, written to files, simulated, and judged by the oracle.

Everything is drawn from the seed: the job (`oracle.jobs`), the plan's shape (`Shape`) and the world
(`simulation.world.Choices`). Every `PAIRED`-th seed runs its job a second time, in another
shape and another world, and both must give the same to the last row (S6).
"""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

from oracle.changes import ends_in
from oracle.compare import diff_output, diff_steps
from oracle.jobs import Expected, JobSpec, diff_job, expected, random_job, write
from oracle.living import Stand
from oracle.pair_jobs import random_pair_job
from oracle.pair_spec import PairSpec
from simulation.run import SimulatedRun, simulate
from tidegate.engine.engine import Engine
from tidegate.epochs.offsets import Offset
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import Plan, cut
from tidegate.plan.nodes import Job
from tidegate.types import Status

PAIRED: Final = 8
PAIRS_EVERY: Final = 3
"""Of so many seeds one is a job over two tables."""
IDLE_TIMEOUT: Final = "'scan.watermark.idle-timeout' = '3 s'"
"""Three epochs of a simulated world, if it is a live one."""
_ENDLESS: Final = "'source.monitor-interval' = '1 s'"
_OTHER_WORLD: Final = 1 << 32
"""Added to a seed for the second world of a pair: no seed of a first one."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the job is planned and how large it is."""

    vnodes: int
    pushdown: bool
    rows_max: int

    @classmethod
    def draw(cls, rng: Random) -> Shape:
        return cls(
            vnodes=rng.choice([1, 2, 3, 5]),
            pushdown=rng.random() < 0.7,
            rows_max=rng.choice([6, 8, 12, 16, 40]),
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """A seed that does not give what the oracle says, with all that is needed to look into it."""

    seed: int
    choices: str
    sql: str
    difference: str

    def __str__(self) -> str:
        return (
            f"seed {self.seed} fails\n\n{self.choices}\n\n{self.sql.strip()}\n\n"
            f"{self.difference.strip()}\n\n"
            f"This seed alone: PYTHONPATH=tests python -m simulation --only {self.seed}"
        )


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a seed's job."""

    job: Job
    shape: Shape
    run: SimulatedRun


def check_seed(seed: int) -> Failure | None:
    """None when the seed's job gives what the oracle says."""
    return judged(seed)[0]


def judged(seed: int) -> tuple[Failure | None, list[Ran]]:
    """As `check_seed`, with the runs of the seed's job."""
    runs: list[Ran] = []
    shape = Shape.draw(Random(seed))
    spec, wanted = _drawn(seed, shape)
    with tempfile.TemporaryDirectory(prefix="tidegate-sim-") as directory:
        file = (
            write(spec, Path(directory))
            if isinstance(spec, JobSpec)
            else spec.write(Path(directory))
        )
        sql = file.read_text("utf-8").replace(_ENDLESS, f"{_ENDLESS}, {IDLE_TIMEOUT}")
        choices = [str(shape)]
        try:
            job = compile_sql(sql, str(file), {})
            difference = _check(spec, wanted, job, shape, seed, choices, runs)
        except Exception:
            difference = traceback.format_exc()
        if difference:
            return Failure(seed, "\n".join(choices), sql, difference), runs
    return None, runs


def _drawn(seed: int, shape: Shape) -> tuple[JobSpec | PairSpec, Expected]:
    """The seed's job, over one table or two, and what it must give."""
    if seed % PAIRS_EVERY == PAIRS_EVERY - 1:
        pairs = random_pair_job(seed, rows_max=min(shape.rows_max, 25))
        return pairs, pairs.expected()
    spec = random_job(seed, rows_max=shape.rows_max, changes=True)
    return spec, expected(spec)


def _check(
    spec: JobSpec | PairSpec,
    wanted: Expected,
    job: Job,
    shape: Shape,
    seed: int,
    choices: list[str],
    runs: list[Ran],
) -> str:
    """What is wrong with the seed's runs; notes in ``choices`` and ``runs`` how they went."""
    plan = cut(job, vnodes=shape.vnodes, pushdown=shape.pushdown)
    live = bool(seed % PAIRED) and not spec.bounded  # what comes when splits rest has no twin
    run = _ran(plan, shape, seed, choices, live=live)
    lived = run.choices.live and not spec.bounded
    if lived:
        wanted = _expected(spec, run)
    run, difference = _ended(wanted, run)
    runs.append(Ran(job, shape, run))
    rows = ledger_of(run)
    difference = difference or diff_job(wanted, run.outputs, rows, run.total, allow_empty=lived)
    if difference or seed % PAIRED:
        return difference
    other_shape = replace(Shape.draw(Random(seed + _OTHER_WORLD)), rows_max=shape.rows_max)
    plan = cut(job, vnodes=other_shape.vnodes, pushdown=other_shape.pushdown)
    other = _ran(plan, other_shape, seed + _OTHER_WORLD, choices, live=False)
    other, difference = _ended(wanted, other)
    runs.append(Ran(job, other_shape, other))
    difference = difference or diff_runs(wanted, run, other)
    return f"two worlds, two results (S6): {difference}" if difference else ""


def _expected(spec: JobSpec | PairSpec, run: SimulatedRun) -> Expected:
    """What the seed's job must give when its splits join, rest and leave as in ``run``."""
    tables = {table for offset in run.epochs_planned for table in offset.tables}
    epochs = {table: [_stands(offset, table) for offset in run.epochs_planned] for table in tables}
    if isinstance(spec, JobSpec):
        return expected(spec, epochs=epochs[spec.table.name])
    return spec.expected(epochs=epochs)


def _stands(offset: Offset, table: str) -> dict[str, Stand]:
    splits = offset.tables[table].items()
    return {
        split: Stand(int(position or 0), status is Status.ACTIVE)
        for split, (position, status) in splits
        if not isinstance(position, list)
    }


def _ran(plan: Plan, shape: Shape, seed: int, choices: list[str], *, live: bool) -> SimulatedRun:
    choices.append(f"{shape} in the world of {seed}")
    run = simulate(plan, seed, engine(), live=live)
    choices[-1] += f": {run.choices}, {run.epochs} epochs, {run.crashes} crashes"
    return run


def _ended(wanted: Expected, run: SimulatedRun) -> tuple[SimulatedRun, str]:
    """The run with the tables in which changes end, and what is wrong on the way there."""
    ways = (diff_steps(output, run.outputs[sink]) for sink, output in wanted.outputs.items())
    ended = {sink: ends_in(rows) for sink, rows in run.outputs.items()}
    return replace(run, outputs=ended), "\n".join(filter(None, ways))


def diff_runs(wanted: Expected, one: SimulatedRun, other: SimulatedRun) -> str:
    """The empty text if two runs of one job gave the same output, ledger and counts (S6)."""
    problems = []
    for sink, output in wanted.outputs.items():
        reference = replace(output, rows=one.outputs[sink])
        diff = diff_output(reference, other.outputs[sink], allow_empty=True)
        if diff:
            problems.append(f"sink {sink}: {diff}")
    first, second = (sorted(map(repr, run.ledger)) for run in (one, other))
    if first != second:
        unlike = sorted(set(first) ^ set(second))
        problems.append("\n  ".join(["ledgers differ in", *unlike[:5]]))
    if one.counts != other.counts:
        problems.append(f"counts: {one.counts} and {other.counts}")
    return "\n".join(problems)


def ledger_of(run: SimulatedRun) -> list[Mapping[str, Any]]:
    """A run's ledger rows as the oracle's comparison takes them."""
    internal = ("account", "time_type")
    return [
        {name: value for name, value in row.items() if name not in internal} for row in run.ledger
    ]


@cache
def engine() -> Engine:
    """One engine for all seeds of a process, as a Spark worker has one for all its tasks."""
    return Engine()
