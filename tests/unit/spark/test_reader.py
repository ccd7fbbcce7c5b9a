from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spark_kit import add_rows, job_in
from tidegate.clock import ManualClock
from tidegate.spark.offsets import Offset
from tidegate.spark.planner import Planner
from tidegate.spark.reader import run_reader_task
from tidegate.spark.wire import TO_DRIVER, TO_LEDGER, AlignedBarrier, Kind, Row, decode
from tidegate.spark.wirejob import WireJob
from tidegate.types import Chunk, Status, Watermark


def rows_of_first_epoch(job: WireJob) -> list[Row]:
    planner = Planner(job, ManualClock(1_000))
    tasks = planner.tasks(Offset(), planner.next_offset(Offset()))
    return [row for task in tasks for row in run_reader_task(job, task)]


def reports(rows: list[Row]) -> list[dict[str, Any]]:
    return [json.loads(row.body) for row in rows if row.fragment == TO_DRIVER]


def test_a_task_reads_filters_and_reports(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 10), (2, 20), (3, 11), "no json", (-4, 21))
    job = job_in(tmp_path)
    rows = rows_of_first_epoch(job)
    (report,) = reports(rows)
    assert report["epoch"] == 1
    assert report["time_us"] == 1_000
    assert report["next_offsets"] == {"a": 5}
    assert report["statuses"] == {"a": Status.FINISHED}
    (split,) = report["splits"]
    assert split["counts"]["read"] == 5
    assert split["counts"]["late"] == 1
    assert split["counts"]["quarantined"] == 1
    (state,) = split["filters"].values()
    assert state["watermark"] == 16

    ledger = [decode(row.kind, row.body) for row in rows if row.fragment == TO_LEDGER]
    chunks = [message for message in ledger if isinstance(message, Chunk)]
    found = [reason for chunk in chunks for reason in chunk.data.column("reason").to_pylist()]
    assert sorted(found) == ["late", "malformed"]


def test_every_receiver_gets_watermark_and_barrier_behind_its_rows(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", *((n, n) for n in range(1, 90)))
    add_rows(tmp_path, "b", "0.json", (1, 1))
    job = job_in(tmp_path)
    rows = rows_of_first_epoch(job)
    for vnode in range(job.plan.vnodes):
        for instance in (0, 1):
            sent = [
                r for r in rows if r.fragment >= 0 and (r.vnode, r.upstream) == (vnode, instance)
            ]
            assert [r.seq for r in sent] == sorted(r.seq for r in sent)
            messages = [decode(r.kind, r.body) for r in sent]
            assert isinstance(messages[-1], AlignedBarrier)
            assert messages[-1].peers == (0, 1)
            assert isinstance(messages[-2], Watermark)
            assert messages[-2].status is Status.FINISHED
            kinds = [r.kind for r in sent]
            assert kinds.count(Kind.BARRIER) == 1
            assert kinds == sorted(kinds, key=[Kind.CHUNK, Kind.WATERMARK, Kind.BARRIER].index)
    assert any(r.kind is Kind.CHUNK and r.fragment >= 0 for r in rows)


@pytest.mark.parametrize("pushdown", [True, False])
def test_the_filter_is_where_the_plan_says(pushdown: bool, tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 10), (2, 20), (3, 11))
    (report,) = reports(rows_of_first_epoch(job_in(tmp_path, pushdown=pushdown)))
    filters = [split["filters"] for split in report["splits"]]
    assert any(filters) is pushdown
