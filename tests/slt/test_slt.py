"""Every `*.slt` of this folder, in the simulator, under several seeds (format: slt.py)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from oracle.compare import diff_counts, diff_ledger, diff_output
from oracle.jobs import DIRECTORY, write_splits
from simulation.run import simulate
from slt.slt import Case, read_case
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut
from tidegate.plan.nodes import Job

FILES = sorted(Path(__file__).parent.glob("*.slt"))
SEEDS = range(3)
Compiled: TypeAlias = "Callable[[Path], tuple[Case, Job]]"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """What is in a file, and its job, whose splits are written: the same for all seeds."""

    @cache
    def compiled_once(file: Path) -> tuple[Case, Job]:
        case, directory = read_case(file), tmp_path_factory.mktemp(file.stem)
        for table, splits in case.splits.items():
            write_splits(splits, directory / "in" / table)
        sql = case.sql.replace(DIRECTORY, directory.as_posix())
        return case, compile_sql(sql, file.name, {})

    return compiled_once


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_slt(file: Path, seed: int, compiled: Compiled) -> None:
    case, job = compiled(file)
    plan = cut(job, vnodes=seed + 1, pushdown=seed != 1)
    run = simulate(plan, seed)
    problems = [
        f"sink {sink}: {diff}"
        for sink, output in case.sinks.items()
        if (diff := diff_output(output, run.outputs[sink], allow_empty=not output.rows))
    ]
    assert case.ledger is not None
    assert case.counts is not None
    diff = diff_ledger(
        case.ledger, run.ledger, time_type=case.time_type, allow_empty=not case.ledger
    )
    problems += [f"ledger: {diff}"] if diff else []
    diff = diff_counts(case.counts, run.total)
    problems += [f"counts: {diff}"] if diff else []
    assert not problems, f"{file.name}, seed {seed}\n" + "\n".join(problems)
    assert sorted(run.outputs) == sorted(case.sinks)
