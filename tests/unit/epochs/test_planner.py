from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kits.entries import an_entry
from kits.spark import add_rows, job_in, new_checkpoint
from tidegate.clock import ManualClock
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry, FilterLog, SplitLog
from tidegate.epochs.job import WireJob
from tidegate.epochs.offsets import Offset
from tidegate.epochs.planner import Planner
from tidegate.errors import OptionsError, TrustError
from tidegate.executor.actor import NO_SPLIT
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut
from tidegate.types import FilterState, Status


def offsets_of(planner: Planner, start: Offset) -> list[Offset]:
    """The ends of all epochs from ``start``."""
    ends = []
    while (end := planner.next_offset(start)) != start:
        ends.append(end)
        start = Offset.from_json(end.to_json())
    return ends


def test_epochs_end_when_everything_is_read(tmp_path: Path) -> None:
    for split in ("a", "b"):
        add_rows(tmp_path, split, "0.json", *((n, n) for n in range(25)))
    clock = ManualClock(1_000)
    ends = offsets_of(Planner(job_in(tmp_path, rows_max=20), clock), Offset())
    assert [end.epoch for end in ends] == [1, 2, 3]
    assert {status for _, status in ends[-1].tables["orders"].values()} == {Status.FINISHED}
    assert {status for _, status in ends[0].tables["orders"].values()} == {Status.ACTIVE}
    times = [end.time_us for end in ends]
    assert times == sorted(set(times)), "recorded time rises though the clock stands still"
    assert times[0] == 1_000


def test_a_clock_that_was_set_back_does_not_take_time_with_it(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 1))
    start = Offset(4, 2_000, {"orders": {}})
    assert Planner(job_in(tmp_path), ManualClock(5)).next_offset(start).time_us == 2_001


def test_nothing_is_planned_while_the_driver_stops(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 1))
    mark = tmp_path / "stop"
    planner = Planner(replace(job_in(tmp_path), stop_mark=str(mark)), ManualClock(1))
    mark.touch()
    assert planner.next_offset(Offset()) == Offset()
    mark.unlink()
    assert planner.next_offset(Offset()).epoch == 1


def test_an_unbounded_table_without_rows_has_no_further_epoch(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 1))
    planner = Planner(job_in(tmp_path, monitored=True), ManualClock(1))
    ends = offsets_of(planner, Offset())
    assert [s for _, s in ends[-1].tables["orders"].values()] == [Status.ACTIVE]
    add_rows(tmp_path, "b", "0.json", (2, 2))
    (end,) = offsets_of(planner, ends[-1])
    assert sorted(end.tables["orders"]) == ["a", "b"]


@pytest.mark.parametrize("monitored", [False, True])
def test_a_split_that_is_gone_half_read_stops_the_job(tmp_path: Path, monitored: bool) -> None:
    path = add_rows(tmp_path, "a", "0.json", (1, 1), (2, 2))
    add_rows(tmp_path, "b", "0.json")
    job = job_in(tmp_path, rows_max=1, monitored=monitored)
    first = Planner(job, ManualClock(1)).next_offset(Offset())
    path.unlink()
    path.parent.rmdir()
    with pytest.raises(TrustError, match=r"'a/0.json' of split 'a' .* is gone before all of it"):
        Planner(job, ManualClock(1)).next_offset(first)


def test_tasks_share_the_splits(tmp_path: Path) -> None:
    for split in ("a", "b", "c"):
        add_rows(tmp_path, split, "0.json", (1, 1), (2, 2))
    job = job_in(tmp_path)
    planner = Planner(job, ManualClock(9))
    end = planner.next_offset(Offset())
    tasks = planner.tasks(Offset(), end)
    assert [task.index for task in tasks] == [0, 1]
    assert {(task.epoch, task.time_us) for task in tasks} == {(1, 9)}
    fragments = [fragment for task in tasks for fragment in task.fragments]
    splits = [split for fragment in fragments for split in fragment.splits]
    assert sorted(split.split for split in splits) == ["a", "b", "c"]
    assert all(split.start is None and split.first_offset == 0 for split in splits)
    assert {fragment.peers for fragment in fragments} == {(0, 1)}


def test_a_task_takes_what_the_entry_of_its_start_says(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 1), (2, 2))
    job = job_in(tmp_path, rows_max=1)
    planner = Planner(job, ManualClock(9))
    first = planner.next_offset(Offset())
    second = planner.next_offset(first)
    (filter_id,) = job.plan.filters()
    state = FilterState(-4, None, 1)
    checkpoint = new_checkpoint(tmp_path)
    for epoch, seen in ((1, state), (2, replace(state, watermark=99))):  # 2: a failed attempt's
        splits, filters = SplitLog({"orders": {"a": epoch}}), FilterLog({filter_id: {"a": seen}})
        checkpoint.write_entry(Entry(epoch, 9, splits=splits, filters=filters))
    (task,) = planner.tasks(first, second)
    (split,) = task.fragments[0].splits
    assert split.filters == {filter_id: state}
    assert split.first_offset == 1
    assert split.start == first.positions("orders")["a"]


def test_a_table_without_splits_still_has_a_task(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    planner = Planner(job_in(tmp_path, monitored=True), ManualClock(9))
    end = Offset(1, 9, {"orders": {}})
    (task,) = planner.tasks(Offset(), end)
    (split,) = task.fragments[0].splits
    assert split.split == NO_SPLIT
    assert split.status is Status.IDLE


@pytest.mark.parametrize("monitored", [False, True])
def test_tables_without_splits_have_one_epoch(tmp_path: Path, monitored: bool) -> None:
    (tmp_path / "in").mkdir()
    job = job_in(tmp_path, monitored=monitored, each_file=True)
    planner = Planner(job, ManualClock(9))
    (end,) = offsets_of(planner, Offset())
    assert (end.epoch, end.tables) == (1, {"orders": {}})
    (task,) = planner.tasks(Offset(), end)
    (split,) = task.fragments[0].splits
    assert (split.split, split.status) == (NO_SPLIT, job_status(monitored))


def job_status(monitored: bool) -> Status:
    """New splits of an unbounded table may still join: its end is never reached."""
    return Status.IDLE if monitored else Status.FINISHED


@pytest.mark.parametrize("rows_max", [1, None])
def test_nothing_is_left_of_a_watched_path(tmp_path: Path, rows_max: int | None) -> None:
    """As of a glob whose last file was read and removed."""
    add_rows(tmp_path, "a", "0.json", (1, 1), (2, 2))
    job = job_in(tmp_path, rows_max=rows_max, monitored=True)
    running = Planner(job, ManualClock(9))
    first = running.next_offset(Offset())
    shutil.rmtree(tmp_path / "in")
    for planner in (running, Planner(job, ManualClock(9))):
        if rows_max:
            with pytest.raises(TrustError, match="is gone before all of it was read"):
                planner.next_offset(first)
            continue
        end = planner.next_offset(first)
        assert end.tables["orders"]["a"] == (first.tables["orders"]["a"][0], Status.IDLE)
        assert planner.next_offset(end) == end
    if not rows_max:
        add_rows(tmp_path, "a", "1.json", (3, 3))
        assert running.next_offset(end).tables["orders"]["a"][1] is Status.ACTIVE
    with pytest.raises(OptionsError, match="nothing found"):
        Planner(job_in(tmp_path / "other"), ManualClock(9)).next_offset(Offset())


def test_a_lost_entry_is_not_made_up(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 1), (2, 2))
    planner = Planner(job_in(tmp_path, rows_max=1), ManualClock(9))
    first = planner.next_offset(Offset())
    with pytest.raises(TrustError, match="no entry for epoch 1"):
        planner.tasks(first, planner.next_offset(first))


def test_an_offset_without_a_table_of_the_job_is_not_trusted(tmp_path: Path) -> None:
    add_rows(tmp_path, "a", "0.json", (1, 1))
    planner = Planner(job_in(tmp_path), ManualClock(9))
    with pytest.raises(TrustError, match="epoch 1 has no offset of orders"):
        planner.tasks(Offset(), Offset(1, 9))


def test_files_wait_for_the_slowest_of_their_group(tmp_path: Path) -> None:
    table = """CREATE SOURCE {0} (id BIGINT, t BIGINT, WATERMARK FOR t AS t) WITH (
      connector = 'filesystem', path = '{1}/{0}/in', format = 'json',
      scan.watermark.alignment.group = 'g', scan.watermark.alignment.max-drift = '10 s');
    CREATE SINK {0}_out FROM {0} WITH (connector = 'blackhole');"""
    for name, step_ms in (("fast", 60_000), ("slow", 1_000)):
        add_rows(tmp_path / name, "a", "0.json", *((n, n * step_ms) for n in range(20)))
    sql = table.format("fast", tmp_path) + table.format("slow", tmp_path)
    plan = cut(compile_sql(sql, "job.sql", {}), vnodes=2)
    job = WireJob(plan, new_checkpoint(tmp_path).uri, 5, 2, False)
    first = Planner(job, ManualClock(1)).next_offset(Offset())
    read = {name: splits["a"][0] for name, splits in first.tables.items()}
    filters = {
        name: {"a": {"watermark": at_ms, "floor": None}}
        for name, at_ms in (("fast.t", 240_000), ("slow.t", 4_000))
    }
    Checkpoint(job.checkpoint).write_entry(an_entry(1, 1, filters=filters))
    second = Planner(job, ManualClock(1)).next_offset(first)
    assert second.tables["fast"]["a"] == (read["fast"], Status.ACTIVE)
    assert second.tables["slow"]["a"][0] != read["slow"]


def test_a_generated_table_waits_for_the_slowest_of_its_group(tmp_path: Path) -> None:
    table = """CREATE SOURCE {0} (id BIGINT, at TIMESTAMP, WATERMARK FOR at AS at) WITH (
      connector = 'datagen', number-of-rows = '30', step = '{1} s',
      scan.watermark.alignment.group = 'g', scan.watermark.alignment.max-drift = '{2} s');
    CREATE SINK {0}_out FROM {0} WITH (connector = 'blackhole');"""
    sql = table.format("fast", 60, 100) + table.format("slow", 1, 100)
    plan = cut(compile_sql(sql, "job.sql", {}), vnodes=2)
    job = WireJob(plan, new_checkpoint(tmp_path).uri, 10, 2, False)
    start = Offset(1, 0, {name: {"datagen-0": (10, Status.ACTIVE)} for name in ("fast", "slow")})
    filters = {
        name: {"datagen-0": {"watermark": at_us, "floor": None}}
        for name, at_us in (("fast.at", 540_000_000), ("slow.at", 9_000_000))
    }
    Checkpoint(job.checkpoint).write_entry(an_entry(1, 1, filters=filters))
    end = Planner(job, ManualClock(1)).next_offset(start)
    assert end.tables["fast"]["datagen-0"] == (10, Status.ACTIVE)
    assert end.tables["slow"]["datagen-0"] == (20, Status.ACTIVE)
