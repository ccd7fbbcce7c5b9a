"""Everything but the repartition itself, which is Spark's: tests/spark/test_rescale.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark import SparkStageInfo

from kits.entries import an_entry
from kits.rescale import KEPT, NOW_US, World, offset_text, process
from kits.spark import a_manifest
from tidegate.clock import ManualClock, SystemClock
from tidegate.codec import encode
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.lease import Lease
from tidegate.epochs.parallelism import Rescales
from tidegate.errors import (
    LeaseHeldError,
    OptionsError,
    RunError,
    StoreError,
    TrustError,
)
from tidegate.spark import rescale as module
from tidegate.spark.rescale import rescale
from tidegate.spark.run_options import RunOptions


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path)

    @contextmanager
    def spark_for(*_: Any) -> Iterator[Any]:
        with process() as world.spark.pid:
            yield world.spark

    def repartition(*args: Any) -> None:
        world.repartition(*args)

    monkeypatch.setattr(module, "spark_for", spark_for)
    monkeypatch.setattr(module, "_repartition", repartition)
    monkeypatch.setattr(module, "_jvm_pid", lambda spark: spark.pid)
    return world


def test_the_spark_of_one_that_died_is_waited_for(world: World) -> None:
    """It writes state, and may commit, until it ends."""
    world.add_epoch()
    with process() as pid:
        world.checkpoint.store.below("rescales").prepare()
        module._note_mover(world.checkpoint, pid)
        error = world.refused(LeaseHeldError, f"still runs: process {pid}")
        assert error.exit_code == 3
    world.rescale(4)
    assert [partitions for _, partitions in world.moved] == [4]


def test_one_that_was_begun_with_more_tasks_than_vnodes_can_be_undone(world: World) -> None:
    world.add_epoch(partitions="6")
    job = replace(a_manifest("orders"), parallelism=6)
    (Path(world.checkpoint.uri) / "job.json").write_bytes(encode(job))

    def fail(*_: Any) -> None:
        raise Py4JError("trace\norg.apache.spark.SparkException: no disk\n at somewhere")

    world.repartition = fail
    with pytest.raises(RunError):
        world.rescale(4)
    assert "undone: the job goes on with 6 parallel tasks" in world.rescale(6)


def test_an_epoch_without_rows_moves_the_state(world: World) -> None:
    world.add_epoch()
    assert world.rescale(4) == [
        "moving the state of 2 stage(s) from 2 to 4 partitions in epoch 2",
        "Spark 4.2.0 is up: local[2]",
        "done: from 2 to 4 parallel tasks, from the next epoch on",
    ]
    assert world.moved == [(world.checkpoint.spark, 4)]
    version, settings, offset = world.checkpoint.spark_plan(2)
    assert version == b"v1"
    assert json.loads(settings) == {
        "batchTimestampMs": 7,
        "conf": {"spark.sql.shuffle.partitions": "4"},
    }
    assert offset.decode() == offset_text(2, NOW_US), "an offset of ours, with its own checksum"
    entry = world.checkpoint.entry(2)
    assert entry == an_entry(2, NOW_US, ended_us=NOW_US, **KEPT)
    world.checkpoint.check_spark_log()
    assert Rescales(world.checkpoint).parallelism(2) == 4


def test_a_second_time_does_nothing(world: World) -> None:
    world.add_epoch()
    world.rescale(4)
    before = world.files()
    assert world.rescale(4) == ["the job has 4 parallel tasks already: nothing to do"]
    assert (world.files(), len(world.moved)) == (before, 1)


def test_vnodes_that_do_not_divide_are_told(world: World) -> None:
    world.add_epoch()
    assert "3 does not divide the job's 4 vnodes: some tasks have more than others" in (
        world.rescale(3)
    )


def test_a_job_without_state_has_nothing_to_move(world: World) -> None:
    world.add_epoch()
    for path in Path(world.checkpoint.uri).glob("spark/state/*/_metadata/v2/0"):
        path.unlink()
    assert world.rescale(4) == ["done: from 2 to 4 parallel tasks, from the next epoch on"]
    assert world.rescale(1) == ["done: from 4 to 1 parallel tasks, from the next epoch on"]
    assert world.moved == []
    assert world.checkpoint.last_epoch() == world.checkpoint.planned_epoch() == 1
    assert Rescales(world.checkpoint).parallelism(2) == 1


@pytest.mark.parametrize("parallelism", [-1, 0, 5, 4096])
def test_a_number_that_does_not_fit(world: World, parallelism: int) -> None:
    world.add_epoch()
    words = f"--parallelism {parallelism} does not fit: it is from 1 to 4"
    world.refused(OptionsError, words, parallelism)


def test_no_checkpoint(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path / "none"))
    with pytest.raises(OptionsError, match="not a checkpoint of Tidegate"):
        rescale(checkpoint, RunOptions(), ManualClock(0), lambda _: None)
    assert not (tmp_path / "none").exists()
    (tmp_path / "job.json").write_text("{}")
    with pytest.raises(TrustError, match=r"job\.json cannot be read"):
        rescale(Checkpoint(str(tmp_path)), RunOptions(), ManualClock(0), lambda _: None)


def test_a_job_that_never_ran(world: World) -> None:
    error = world.refused(OptionsError, "has not run yet")
    assert "--set tidegate.parallelism=4" in error.hint


def test_an_epoch_that_was_not_committed_is_the_jobs(world: World) -> None:
    world.add_epoch(committed=False)
    error = world.refused(OptionsError, "epoch 1 was begun and not committed")
    assert "--available-now" in error.hint


def test_a_checkpoint_that_is_not_whole(world: World) -> None:
    world.add_epoch()
    world.write("commits/1", "v1\n{}")
    world.refused(TrustError, "is not whole")


@pytest.mark.parametrize("partitions", ["3", ""])
def test_a_log_of_sparks_that_has_another_number(world: World, partitions: str) -> None:
    world.add_epoch(partitions=partitions)
    world.refused(TrustError, "is not that of a job with 2 parallel tasks")


def test_a_driver_that_holds_the_checkpoint(world: World) -> None:
    world.add_epoch()
    lease = Lease(world.checkpoint.store.below("lease"), SystemClock())
    lease.acquire()
    lines: list[str] = []
    try:
        with pytest.raises(LeaseHeldError) as caught:
            rescale(world.checkpoint, RunOptions(), SystemClock(), lines.append)
        assert caught.value.exit_code == 3
        options = RunOptions(parallelism=4, takeover=True)
        rescale(world.checkpoint, options, SystemClock(), lines.append)
        assert "as --takeover says" in lines[0]
    finally:
        lease.release()
    assert world.rescale(4) == ["the job has 4 parallel tasks already: nothing to do"]


class Dies(Exception):  # noqa: N818 -- it stands for a SIGKILL
    """The process ends here."""


@pytest.mark.parametrize("place", ["recorded", "planned", "entered", "state", "moved"])
def test_what_died_is_run_again(world: World, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world.add_epoch()
    died_at(world, place, monkeypatch)
    with pytest.raises(Dies):
        world.rescale(4)
    world.checkpoint.check_spark_log()
    recovered(world, monkeypatch)

    if place == "moved":
        assert world.rescale(4) == ["the job has 4 parallel tasks already: nothing to do"]
        return
    error = world.refused(OptionsError, "a rescale from 2 parallel tasks to 4 was begun", 3)
    assert "finish it with --parallelism 4, or undo it with 2; then rescale to 3" in error.hint
    assert world.rescale(4)[0] == "going on with the rescale from 2 to 4 that was begun"
    entry = world.checkpoint.entry(2)
    assert entry is not None
    assert entry.time_us == NOW_US
    assert Rescales(world.checkpoint).parallelism(2) == 4
    assert world.moved[-1] == (world.checkpoint.spark, 4)


@pytest.mark.parametrize("place", ["recorded", "planned", "entered", "state"])
def test_what_died_is_undone(world: World, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world.add_epoch()
    before = world.files()
    died_at(world, place, monkeypatch)
    with pytest.raises(Dies):
        world.rescale(4)
    recovered(world, monkeypatch)
    assert world.rescale(2) == ["undone: the job goes on with 2 parallel tasks"]
    assert world.files() == before
    assert world.rescale(2) == ["the job has 2 parallel tasks already: nothing to do"]
    assert world.rescale(3)[-1] == "done: from 2 to 3 parallel tasks, from the next epoch on"


def died_at(world: World, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def hit(name: str, epoch: int) -> None:
        assert epoch == 2
        if name == f"rescale-{place}":
            raise Dies

    def half(*_: Any) -> None:
        """Spark has written the state of some partitions, then dies."""
        for partition in range(3):
            world.write(f"state/0/{partition}/2.zip", "half")
            world.write(f"state/0/{partition}/.2.zip.crc", "half")
        world.write("state/0/_metadata/v2/1", "v2\n{}")
        world.write("offsets/.1.crc", "half")
        raise Dies

    monkeypatch.setattr(module, "hit", hit)
    if place == "state":
        world.repartition = half


def recovered(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "hit", lambda *_: None)
    world.repartition = world.commit


def test_an_epoch_that_another_driver_has_planned(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.add_epoch()
    died_at(world, "recorded", monkeypatch)
    with pytest.raises(Dies):
        world.rescale(4)
    recovered(world, monkeypatch)
    theirs = offset_text(2, 900)
    world.write("offsets/1", f"v1\n{{}}\n{theirs}")
    world.refused(LeaseHeldError, "another driver has planned epoch 2")


def test_how_far_spark_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []

    def until_said(line: str) -> None:
        while line not in lines:
            SystemClock().sleep(0.001)

    def repartition(*args: Any) -> None:
        world.spark.jobs = [7]
        until_said("stage 1 of 2: 1 of 4 tasks")
        world.spark.jobs, world.spark.tasks = [8], {}  # a job whose stages have not begun
        SystemClock().sleep(0.05)
        world.spark.tasks = {4: SparkStageInfo(4, 0, "write", 5, 0, 0, 0)}
        until_said("stage 2 of 2: 0 of 5 tasks")
        world.commit(*args)

    world.add_epoch()
    world.repartition = repartition
    monkeypatch.setattr(module, "_TOLD_S", 0.01)
    rescale(world.checkpoint, RunOptions(parallelism=4), ManualClock(NOW_US), lines.append)
    said = ["stage 1 of 2: 1 of 4 tasks", "stage 2 of 2: 0 of 5 tasks"]
    assert [line for line in lines if line in said] == said


def test_what_spark_says_is_told(world: World) -> None:
    def fail(*_: Any) -> None:
        raise Py4JError("trace\norg.apache.spark.SparkException: no disk\n at somewhere")

    world.add_epoch()
    world.repartition = fail
    with pytest.raises(RunError, match="Spark could not move the state") as caught:
        world.rescale(4)
    assert caught.value.detail == "org.apache.spark.SparkException: no disk"
    assert "--parallelism 2 undoes what was begun" in caught.value.hint


def test_a_damaged_file_is_not_trusted(world: World) -> None:
    def fail(*_: Any) -> None:
        raise Py4JError("ChecksumException: Checksum error: file:/x at 0 exp: 1 got: 2")

    world.add_epoch()
    world.repartition = fail
    with pytest.raises(TrustError, match="was changed after it was written"):
        world.rescale(4)


@pytest.mark.slow
def test_a_lease_that_is_lost_stops_spark(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Exception | None] = []

    def check(lease: Lease) -> None:
        del lease
        if answers and (error := answers.pop(0)) is not None:
            raise error

    def wait(*_: Any) -> None:
        """Until another driver takes over, behind a store that is away for a while."""
        answers.extend([StoreError("away"), LeaseHeldError("another driver has taken over")])
        while not world.spark.cancelled:
            SystemClock().sleep(0.01)
        raise Py4JError("SparkException: Job 0 cancelled")

    world.add_epoch()
    world.repartition = wait
    monkeypatch.setattr(Lease, "check", check)
    monkeypatch.setattr(module, "_TOLD_S", 0.01)
    with pytest.raises(LeaseHeldError, match="has taken over"):
        world.rescale(4)
