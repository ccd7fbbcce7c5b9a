from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kits.entries import an_entry
from kits.spark import add_rows, new_checkpoint, plan_in, write_log
from tidegate.clock import SystemClock
from tidegate.epochs.lease import Lease
from tidegate.errors import (
    LeaseHeldError,
)
from tidegate.plan.fragments import Plan
from tidegate.spark.driver import Driver
from tidegate.spark.launch import own_spark
from tidegate.spark.run_options import RunOptions
from tidegate.spark.stop import Stop
from tidegate.store.local import LocalStore
from tidegate.types import Status


class SparkStarts(Exception):  # noqa: N818 -- how far a run gets here
    """The driver has checked everything and would start Spark now."""


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def start_spark(*_: Any) -> None:
        raise SparkStarts

    monkeypatch.setattr(own_spark, "start_spark", start_spark)


def run(directory: Path, plan: Plan | None = None, **options: Any) -> list[str]:
    """Runs the job; gives what it logged. Raises `SparkStarts` where Spark would start."""
    lines: list[str] = []
    options = {"checkpoint": str(directory / "checkpoint"), **options}
    plan = plan or plan_in(directory)
    Driver(plan, RunOptions(**options), SystemClock(), lines.append).run()
    return lines


def started(directory: Path, plan: Plan | None = None, **options: Any) -> None:
    with pytest.raises(SparkStarts):
        run(directory, plan, **options)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """The directory of a job that was started once."""
    add_rows(tmp_path, "a", "0.json", (1, 1))
    started(tmp_path)
    return tmp_path


def test_the_number_of_tasks_is_kept_and_said(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def start_spark(name: str, master: str, parallelism: int, *_: Any) -> None:
        seen.append(parallelism)
        raise SparkStarts

    monkeypatch.setattr(own_spark, "start_spark", start_spark)
    lines: list[str] = []
    options = RunOptions(str(job / "checkpoint"), parallelism=4)
    with pytest.raises(SparkStarts):
        Driver(plan_in(job), options, SystemClock(), lines.append).run()
    assert seen == [2]
    (line,) = lines
    assert line.startswith("running 2 parallel tasks, as the checkpoint has it, though")
    assert line.endswith("tidegate.parallelism is 4 (tidegate rescale changes it)")


@pytest.mark.slow
def test_spark_is_started_when_everything_was_checked(job: Path) -> None:
    assert (job / "checkpoint/job.json").exists()
    lease = Lease(LocalStore(job / "checkpoint/lease"), SystemClock())
    assert lease.acquire() == "", "given back, though the run failed"
    with pytest.raises(LeaseHeldError, match="another driver holds"):
        run(job)
    lease.release()
    started(job)


def test_a_job_that_has_finished_starts_no_spark(job: Path) -> None:
    checkpoint = new_checkpoint(job)
    entry = an_entry(1, 1, statuses={"orders": {"a": int(Status.FINISHED)}})
    checkpoint.write_entry(entry)
    tables = {"orders": {"a": [["0.json", 1, 1], int(Status.FINISHED)]}}
    offset = json.dumps({"epoch": 1, "tables": tables, "time_us": 1})
    for name, text in (("offsets", f"v1\n{{}}\n{offset}"), ("commits", "v1\n{}")):
        write_log(checkpoint, name, 0, text)
    assert "the job has finished" in run(job)[0]


def test_without_a_checkpoint_it_is_temporary_and_said(job: Path) -> None:
    lines: list[str] = []
    with pytest.raises(SparkStarts):
        Driver(plan_in(job), RunOptions(), SystemClock(), lines.append).run()
    line, kept = lines
    assert "to go on from it, run with --checkpoint" in kept
    assert line.endswith("(temporary; keep one with --checkpoint)")
    directory = Path(line.split()[1])
    assert (directory / "job.json").exists()
    shutil.rmtree(directory)


def test_a_signal_that_also_ends_a_starting_jvm_is_a_stop(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, lines = Stop(), list[str]()

    def start_spark(*_: Any) -> None:
        if stopped:
            stop.request()
        raise ConnectionRefusedError

    monkeypatch.setattr(own_spark, "start_spark", start_spark)
    run = Driver(
        plan_in(job), RunOptions(str(job / "checkpoint")), SystemClock(), lines.append, (), stop
    ).run
    stopped = False
    with pytest.raises(ConnectionRefusedError):
        run()
    stopped = True
    assert run().epoch == 0
    assert lines == ["stopped before Spark was up"]
