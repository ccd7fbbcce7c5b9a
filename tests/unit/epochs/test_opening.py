from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kits.entries import an_entry
from kits.spark import add_rows, new_checkpoint, plan_in, write_log
from tidegate.clock import SystemClock
from tidegate.epochs import opening
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.lease import Lease
from tidegate.epochs.manifest import fingerprint
from tidegate.epochs.opening import EpochOptions, OpenJob
from tidegate.epochs.parallelism import Rescale, Rescales
from tidegate.epochs.sealed import sealed
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.errors import (
    BindError,
    LeaseHeldError,
    OptionsError,
    SinkError,
    TidegateError,
    TrustError,
)
from tidegate.plan.fragments import Plan
from tidegate.store.local import LocalStore
from tidegate.types import Status


def opened(directory: Path, plan: Plan | None = None, **options: Any) -> tuple[OpenJob, list[str]]:
    """The job as it was while it was open, and what it logged."""
    lines: list[str] = []
    checkpoint = Checkpoint(str(directory / "checkpoint"))
    how = EpochOptions(**options)
    job = OpenJob(plan or plan_in(directory), checkpoint, how, SystemClock(), lines.append)
    with job:
        if job.is_finished:
            job.say_finished()
    return job, lines


def refused(directory: Path, kind: type[TidegateError], words: str, **options: Any) -> None:
    with pytest.raises(kind, match=words):
        opened(directory, **options)


def manifest(directory: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((directory / "checkpoint/job.json").read_text())
    return document


def rewrite(directory: Path, changes: Mapping[str, Any]) -> None:
    path = directory / "checkpoint/job.json"
    path.write_bytes(sealed({**manifest(directory), **changes}))


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """The directory of a job that was opened once."""
    add_rows(tmp_path, "a", "0.json", (1, 1))
    opened(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_first_run_writes_down_what_the_job_is(job: Path) -> None:
    document = manifest(job)
    assert document["fingerprint"] == fingerprint(plan_in(job))
    assert (document["vnodes"], document["parallelism"], document["pushdown"]) == (4, 2, True)
    opened(job)
    assert manifest(job) == document


def test_what_is_missing_is_told_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(BindError) as caught:
        opened(tmp_path)
    assert caught.value.exit_code == 2
    line = f"WITH (connector = 'filesystem', path = '{tmp_path}/in') FORMAT PLAIN ENCODE JSON;"
    assert caught.value.render().splitlines() == [
        f"job.sql:3:40: table 'orders': nothing found at path '{tmp_path}/in'",
        f"  {line}",
        "  " + " " * line.index("'/") + "^" * len(f"'{tmp_path}/in'"),
        "hint: 'path' must be an existing directory, file or glob",
    ]
    assert not (tmp_path / "checkpoint/job.json").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_output_of_another_checkpoint_is_told_before_anything_is_written(job: Path) -> None:
    assert not [line for line in opened(job)[1] if "beside" in line]
    (job / "out" / "part-0001-0000000001-0000.json").write_text("{}\n")
    (job / "checkpoint").rename(job / "other")
    (warning,) = opened(job)[1]
    wanted = f"the output of 'counts' lies beside 1 file of another checkpoint in '{job}/out'"
    assert warning == f"warning: {wanted}: who reads it reads both"
    assert opened(job)[1] == [], "once"


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 1))
    (tmp_path / "out").write_text("")
    refused(tmp_path, SinkError, str(tmp_path / "out"))
    assert not (tmp_path / "checkpoint/job.json").exists()


@pytest.mark.parametrize("place", ["in", "in/a", "in/ck", "out/..", "/"])
def test_a_checkpoint_that_a_table_would_read_or_lies_in_is_refused(
    tmp_path: Path, place: str
) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 1))
    checkpoint = Checkpoint(str(tmp_path / place))
    plan, options = plan_in(tmp_path), EpochOptions()
    with (
        pytest.raises(OptionsError, match=r"lies where table 'orders' reads|be written into the c"),
        OpenJob(plan, checkpoint, options, SystemClock(), print),
    ):
        pass
    assert not (tmp_path / place / "job.json").exists()


def test_another_job_is_refused(job: Path) -> None:
    rewrite(job, {"fingerprint": "other", "parts": {}})
    shutil.rmtree(job / "out")
    refused(job, OptionsError, "belongs to another job")
    assert not (job / "out").exists(), "nothing was made where this job would write"


@pytest.mark.slow
def test_settings_that_state_depends_on_are_kept(job: Path) -> None:
    with pytest.raises(OptionsError, match=r"tidegate\.watermark\.pushdown is false"):
        opened(job, plan_in(job, pushdown=False))
    rewrite(job, {"vnodes": 16})
    refused(job, OptionsError, r"tidegate\.vnodes is 4, but the checkpoint began with 16")


@pytest.mark.slow
def test_a_rescaled_job_has_the_number_of_tasks_it_was_given(job: Path) -> None:
    checkpoint = new_checkpoint(job)
    Rescales(checkpoint).begin(Rescale(2, 3, 1, 1))
    refused(job, OptionsError, "half way from 2 parallel tasks to 3")

    checkpoint.write_entry(Entry(1, 1))
    for name in ("offsets", "commits"):
        write_log(checkpoint, name, 0, 'v1\n{}\n{"epoch": 1, "tables": {}, "time_us": 1}')
    assert opened(job)[0].parallelism == 3
    assert manifest(job)["parallelism"] == 2, "job.json is never written again"


def test_a_checkpoint_that_hashes_otherwise_is_not_trusted(job: Path) -> None:
    rewrite(job, {"hash": "other"})
    refused(job, TrustError, "another way")


def test_a_description_that_says_too_little_is_not_trusted(job: Path) -> None:
    (job / "checkpoint/job.json").write_text('{"job": "orders"}')
    refused(job, TrustError, r"job\.json")


def test_epochs_without_a_description_are_not_trusted(job: Path) -> None:
    new_checkpoint(job).write_entry(Entry(1, 1))
    (job / "checkpoint/job.json").unlink()
    refused(job, TrustError, r"no job\.json")


@pytest.mark.slow
def test_a_held_checkpoint_is_refused_and_the_lease_given_back(job: Path) -> None:
    lease = Lease(LocalStore(job / "checkpoint/lease"), SystemClock())
    assert lease.acquire() == ""  # the run before gave it back, though it failed
    refused(job, LeaseHeldError, "another driver holds")
    lease.release()
    opened(job)


@pytest.mark.slow
def test_a_finished_job_is_left_alone(job: Path) -> None:
    checkpoint = new_checkpoint(job)
    entry = an_entry(1, 1, statuses={"orders": {"a": int(Status.FINISHED)}})
    checkpoint.write_entry(entry)
    refused(job, TrustError, "is not whole")
    position = ["0.json", (job / "in/a/0.json").stat().st_size, 1]
    tables = {"orders": {"a": [position, int(Status.FINISHED)]}}
    offset = json.dumps({"epoch": 1, "tables": tables, "time_us": 1})
    for name, text in (("offsets", f"v1\n{{}}\n{offset}"), ("commits", "v1\n{}")):
        if name == "commits":
            assert not opened(job)[0].is_finished  # the epoch is not committed: it is run again
        write_log(checkpoint, name, 0, text)
    ended = f"the job has finished: {job}/checkpoint is at the end of all its tables"
    assert opened(job)[1] == [ended]
    add_rows(job, "a", "1.json", (2, 2))
    assert opened(job)[1][1:] == [
        "orders: a/1.json appeared since and is not read; --fresh reads all"
    ]


@pytest.mark.slow
def test_planner_and_workers_are_given_what_the_checkpoint_says(job: Path) -> None:
    lines: list[str] = []
    plan, options = plan_in(job), EpochOptions(parallelism=9, rows_max=7)
    with OpenJob(
        plan, Checkpoint(str(job / "checkpoint")), options, SystemClock(), lines.append
    ) as opening:
        wire = opening.begin(job / "stop")
    assert (wire.parallelism, wire.rows_max, wire.time_zone) == (2, 7, "UTC")
    assert wire.stop_mark == str(job / "stop")
    assert dict(wire.remembered).keys() == {TO_LEDGER, TO_SINK}
    assert ("generation", "1") in dict(wire.remembered)[TO_SINK]
    assert lines == []


def test_what_others_may_read_is_told_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "exposures", lambda tables, place: [f"{len(tables)} in {place}"])
    lines: list[str] = []
    checkpoint = Checkpoint(str(tmp_path / "checkpoint"))
    plan = plan_in(tmp_path, copied=True)  # whose source is not there
    job = OpenJob(plan, checkpoint, EpochOptions(), SystemClock(), lines.append)
    with pytest.raises(BindError), job:
        pass
    assert lines == [f"warning: 3 in {tmp_path}/checkpoint"]
