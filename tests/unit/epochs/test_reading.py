"""Reader tasks, whoever carries what they send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kits.spark import add_rows, job_in
from tidegate.clock import ManualClock
from tidegate.connectors.registry import connector_of
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.job import WireJob
from tidegate.epochs.ledger import ledger_files, ledger_table, read_parquet
from tidegate.epochs.offsets import Offset
from tidegate.epochs.planner import Planner, ReaderTask
from tidegate.epochs.reading import read_task
from tidegate.epochs.targets import TO_LEDGER
from tidegate.epochs.task_reports import SourceReport
from tidegate.epochs.worker import Worker
from tidegate.executor.actor import Emission
from tidegate.types import Rejected, Status


def tasks_of_first_epoch(job: WireJob) -> list[ReaderTask]:
    planner = Planner(job, ManualClock(1_000))
    return planner.tasks(Offset(), planner.next_offset(Offset()))


def read(job: WireJob) -> tuple[list[Emission], list[SourceReport]]:
    """What the tasks of the first epoch send, and what they report."""
    worker = Worker.of(job)
    sent = [each for task in tasks_of_first_epoch(job) for _, each in read_task(worker, task)]
    emissions = [each for each in sent if isinstance(each, Emission)]
    return emissions, [each for each in sent if not isinstance(each, Emission)]


def rejected(emissions: list[Emission]) -> list[str]:
    """The reasons of the rows for the ledger that travel."""
    messages = [emission.message for emission in emissions]
    tables = [message.data for message in messages if isinstance(message, Rejected)]
    return [reason for table in tables for reason in table.column("reason").to_pylist()]


@pytest.mark.slow
def test_a_task_reads_filters_and_reports(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 10), (2, 20), (3, 11), "no json", (-4, 21))
    job = job_in(tmp_path)
    emissions, (report,) = read(job)
    assert report.epoch == 1
    assert report.time_us == 1_000
    assert report.next_offsets == {"a": 5}
    assert report.statuses == {"a": Status.FINISHED}
    (split,) = report.splits
    assert split.counts.read == 5
    assert split.counts.late == 1
    assert split.counts.quarantined == 1
    (state,) = split.filters.values()
    assert state.watermark == 16

    assert sorted(rejected(emissions)) == ["late", "malformed"]


@pytest.mark.slow
def test_a_task_reports_the_columns_that_no_row_has(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", '{"ID":1,"t":10}', '{"id":null,"t":20}')
    (report,) = read(job_in(tmp_path))[1]
    assert report.absent == ("id",)
    add_rows(tmp_path, "a", "1.json", (1, 30))
    (report,) = read(job_in(tmp_path))[1]
    assert report.absent == ()


MANY = 30_000


def many_late(directory: Path) -> None:
    """A row, and `MANY` that are late behind it: a megabyte for the ledger."""
    late = ((n, n % 7) for n in range(1, MANY + 1))
    add_rows(directory, "a", "0.json", (1, 1_000), "no json", *late)


@pytest.mark.slow
def test_many_late_rows_are_staged_by_who_finds_them(tmp_path: Path) -> None:
    many_late(tmp_path)
    job = job_in(tmp_path)
    emissions, (report,) = read(job)
    assert rejected(emissions) == []
    staged = report.staged[TO_LEDGER]
    assert sum(file.rows for file in staged) == MANY + 1
    told = {
        reason: counted.rows
        for operators in report.rejected.values()
        for reasons in operators.values()
        for reason, counted in reasons.items()
    }
    assert told == {"late": MANY, "malformed": 1}

    checkpoint = Checkpoint(job.checkpoint)
    ledger = ledger_table(checkpoint)
    committer = connector_of(ledger).committer(ledger, checkpoint.staging(TO_LEDGER))
    checkpoint.write_entry(Entry(1, 0))
    committer.publish(1, staged)
    found = [read_parquet(checkpoint, name) for name in ledger_files(checkpoint, 1, 1)]
    rows = pa.concat_tables(found).sort_by("offset")
    assert rows.column("offset").to_pylist() == list(range(1, MANY + 2))
    assert rows.column("reason").to_pylist() == ["malformed"] + ["late"] * MANY


@pytest.mark.slow
def test_rows_that_a_copy_needs_travel(tmp_path: Path) -> None:
    many_late(tmp_path)
    emissions, (report,) = read(job_in(tmp_path, copied=True))
    assert (report.staged, report.rejected) == ({}, {})
    assert len(rejected(emissions)) == MANY + 1


@pytest.mark.slow
def test_a_task_that_fails_leaves_nothing_staged(tmp_path: Path) -> None:
    many_late(tmp_path)
    job = job_in(tmp_path)
    (task,) = tasks_of_first_epoch(job)
    running: Any = read_task(Worker.of(job), task)
    while isinstance(next(running)[1], Emission):
        pass
    staging = Path(f"{job.checkpoint}/ledger")
    assert len(list(staging.rglob("*.parquet"))) == 1
    with pytest.raises(RuntimeError, match="the JVM hung up"):
        running.throw(RuntimeError("the JVM hung up"))
    assert list(staging.rglob("*.parquet")) == []


@pytest.mark.parametrize("pushdown", [True, False])
def test_the_filter_is_where_the_plan_says(pushdown: bool, tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 10), (2, 20), (3, 11))
    _, (report,) = read(job_in(tmp_path, pushdown=pushdown))
    filters = [split.filters for split in report.splits]
    assert any(filters) is pushdown
