"""Joins, unions, windows and over-windows on Spark, through a kill: what the oracle says comes out.

The simulator runs thousands of such jobs; these few show that the same actors do the same here,
with state in Spark's store, plans of several stages, and a restart in between. Together they have
every operator that docs/conformance.md lists (`tests/simulation/test_matrix.py`).
"""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from oracle.jobs import JobSpec, diff_job, expected, random_job, write
from oracle.pair_jobs import random_pair_job
from oracle.pair_spec import PairSpec
from spark.orders import ledger_of, outputs_of
from spark.processes import Commands

ROWS_MAX = 400
_PAIRS, _QUERIES_OF_PAIR = (20, 60), 12
_SINGLE, _QUERIES_OF_SINGLE = (41,), 11
"""Few jobs of many queries: Spark starts twice for each."""


def specs() -> dict[str, JobSpec | PairSpec]:
    """The jobs by their names."""
    found: dict[str, JobSpec | PairSpec] = {}
    for seed in _PAIRS:
        found[f"pair-{seed}"] = random_pair_job(seed, rows_max=ROWS_MAX, queries=_QUERIES_OF_PAIR)
    for seed in _SINGLE:
        found[f"single-{seed}"] = random_job(
            seed, rows_max=ROWS_MAX, bounded=True, queries=_QUERIES_OF_SINGLE
        )
    return found


SPECS = specs()


@pytest.mark.parametrize("name", list(SPECS))
def test_a_killed_job_gives_what_the_oracle_says(
    name: str, drivers: Commands, tmp_path: Path
) -> None:
    spec = SPECS[name]
    wanted = expected(spec) if isinstance(spec, JobSpec) else spec.expected()
    file = write(spec, tmp_path) if isinstance(spec, JobSpec) else spec.write(tmp_path)
    checkpoint = tmp_path / "checkpoint"
    args = ["run", file, "--checkpoint", checkpoint, "--json"]
    shares = 3 * len(spec.accounts) if isinstance(spec, JobSpec) else 4  # of two unequal tables
    rows_max = wanted.counts.read // shares
    args += ["--set", f"tidegate.epoch.rows.max={rows_max}", "--set", "tidegate.vnodes=3"]
    command = drivers.start(*args, TIDEGATE_FAILPOINTS="after-entry:2")
    assert command.wait().code == -signal.SIGKILL, command.err
    command.wait_for_family(30)
    ended = drivers.run(*args)
    assert ended.code == 0, ended.err
    ledger = ledger_of(checkpoint)
    found = outputs_of(spec, tmp_path)
    assert diff_job(wanted, found, ledger["rows"], ledger["counts"]) == ""
    assert json.loads(ended.out.splitlines()[-1])["epoch"] > 2
