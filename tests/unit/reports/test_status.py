from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kits.entries import an_entry
from kits.spark import add_rows, new_checkpoint, plan_in
from tidegate.clock import SystemClock
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.lease import Lease
from tidegate.epochs.manifest import Manifest
from tidegate.epochs.sealed import sealed
from tidegate.errors import OptionsError
from tidegate.reports.status import read_status
from tidegate.types import END


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    add_rows(tmp_path, "a", "0.json", (1, 1))
    made = new_checkpoint(tmp_path)
    made.write_job(Manifest.of(plan_in(tmp_path), 2, {}))
    write(made, 1, oldest=60)
    return made


def write(checkpoint: Checkpoint, epoch: int, oldest: int) -> None:
    counts = {"read": 9, "used": 5, "filtered": 1, "late": 2, "quarantined": 1}
    told = {"rows": 2, "seconds": 0.0, "buckets": []}
    state = {"rows": 7, "bytes": 8, "runs": 1, "buckets": 2, "oldest": oldest}
    entry = an_entry(
        epoch,
        1_700_000_000_000_000,
        counts={"orders": {"a": counts}},
        rejected={"orders": {"WatermarkFilter": {"late": told}}},
        sunk={"-1": [3, 40, 500]},
        state={"1": {"FinalAggregate": state}},
    )
    checkpoint.write_entry(entry)


def test_a_job_that_stands(checkpoint: Checkpoint) -> None:
    found = read_status(checkpoint, SystemClock())
    assert found["driver"] is None
    assert found["epoch"] == 1
    assert found["counts"] == {"read": 9, "used": 5, "filtered": 1, "late": 2, "quarantined": 1}
    assert found["ledger"] == [
        {"table": "orders", "operator": "WatermarkFilter", "reason": "late", "rows": 2}
    ]
    (sink,) = found["sinks"].values()
    assert sink == {"commits": 3, "rows": 40, "bytes": 500}


def test_who_runs_it(checkpoint: Checkpoint) -> None:
    lease = Lease(checkpoint.store.below("lease"), SystemClock())
    lease.acquire()
    assert f"process {os.getpid()} on " in str(read_status(checkpoint, SystemClock())["driver"])
    lease.release()
    assert read_status(checkpoint, SystemClock())["driver"] is None


def test_windows_are_those_of_operators_that_have_some(checkpoint: Checkpoint) -> None:
    (kept,) = read_status(checkpoint, SystemClock())["state"]
    assert (kept["windows"], kept["oldest"]) == (2, 60)
    job = json.loads(checkpoint.store.read("job.json"))
    del job["about"]["closing"]  # as an older release has written it
    checkpoint.store.write("job.json", sealed(job))
    (kept,) = read_status(checkpoint, SystemClock())["state"]
    assert (kept["windows"], kept["oldest"]) == (None, None)


def test_groups_without_a_time_are_no_oldest(checkpoint: Checkpoint) -> None:
    write(checkpoint, 2, oldest=END - 1)
    (kept,) = read_status(checkpoint, SystemClock())["state"]
    assert kept["oldest"] is None


def test_a_directory_that_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="is not a checkpoint"):
        read_status(Checkpoint(str(tmp_path)), SystemClock())
