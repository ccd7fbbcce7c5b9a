from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kits.entries import an_entry
from kits.reports import source_report, staged
from kits.spark import new_checkpoint, plan_in
from tidegate.clock import ManualClock
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.commit import TIDIED_EVERY, Committer, is_finished
from tidegate.epochs.entry import Entry
from tidegate.epochs.lease import Lease
from tidegate.epochs.rejections import Rejection
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.errors import InvariantError, LeaseHeldError, TrustError
from tidegate.ports import StagedFile
from tidegate.types import Counts, Status


class Recorded:
    """A sink that writes down what is done to it."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def prepare(self, fresh: bool) -> dict[str, str]:
        self.calls.append(("prepare", fresh))
        return {}

    def bind(self, remembered: Any) -> None:
        pass

    def publish(self, epoch: int, staged: Sequence[StagedFile]) -> None:
        self.calls.append((epoch, [file.path for file in staged]))

    def discard_unknown(self, epoch: int) -> None:
        del epoch
        self.calls.append("discard")


class World:
    """A committer with its surroundings, as one driver has them."""

    def __init__(self, directory: Path) -> None:
        self.plan = plan_in(directory)
        self.checkpoint: Checkpoint = new_checkpoint(directory)
        self.sink, self.ledger = Recorded(), Recorded()
        self.lease = Lease(self.checkpoint.store.below("lease"), ManualClock())
        committers = {TO_SINK: self.sink, TO_LEDGER: self.ledger}
        self.committer = Committer(
            self.plan, self.checkpoint, self.lease, dict(committers), ManualClock(7)
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "in").mkdir()
    return World(tmp_path)


def test_an_epoch_is_entered_then_published_then_cleaned(world: World) -> None:
    reports = [
        staged(TO_SINK, "s"),
        source_report(1, 10, used=6, filtered=1, late=2, quarantined=1),
        staged(TO_LEDGER, "l", rows=3),
    ]
    entry = world.committer.commit(reports)
    assert entry == world.checkpoint.entry(1)
    assert entry.accounts.counts == {"orders": {"a": Counts(10, 6, 1, 2, 1)}}
    assert entry.filters.state("orders.t", "a").watermark == 10
    assert entry.splits.next_offsets == {"orders": {"a": 100}}
    assert (entry.time_us, entry.ended_us) == (1001, 7)
    assert entry.accounts.ledger_rows == 3
    assert entry.work.phases["source"] == {"read": 0.25, "decode": 0.5}
    assert world.sink.calls == [(1, ["s"])]
    assert world.ledger.calls == [(1, ["l"])]


def test_what_a_reader_staged_for_the_ledger_is_published_too(world: World) -> None:
    late = {"orders": {"watermark_filter": {"late": Rejection(3, 1.5, (3,))}}}
    files = staged(TO_LEDGER, "r", rows=3).staged
    report = replace(source_report(1, 10, used=6, late=4), staged=files, rejected=late)
    entry = world.committer.commit([staged(TO_LEDGER, "l"), report])
    assert entry.accounts.ledger_rows == 4
    assert entry.accounts.rejected["orders"]["watermark_filter"]["late"].rows == 3
    assert world.ledger.calls == [(1, ["l", "r"])]


@pytest.mark.slow
def test_what_dead_attempts_left_is_removed_now_and_then(world: World) -> None:
    for epoch in range(1, TIDIED_EVERY + 2):
        world.committer.commit([source_report(epoch, 1, used=1)])
        assert world.sink.calls.count("discard") == (epoch >= TIDIED_EVERY)


def test_an_entry_that_another_driver_wrote_in_behind_is_taken_over(world: World) -> None:
    """Its last write hung when this driver started: what it lists is published, not ours."""
    world.committer.recover()
    theirs = World(Path(world.checkpoint.uri).parent)
    entry = theirs.committer.commit([source_report(1, 1, used=1), staged(TO_SINK, "theirs")])
    done = world.committer.commit([source_report(1, 1, used=1), staged(TO_SINK, "ours")])
    assert done == entry
    assert world.sink.calls == ["discard", (1, ["theirs"])]


def test_an_entry_of_other_rows_is_not_taken_over(world: World) -> None:
    """Its driver had planned the epoch anew, when Spark's log had not kept its offsets."""
    world.committer.recover()
    theirs = World(Path(world.checkpoint.uri).parent)
    entry = theirs.committer.commit([source_report(1, 1, used=1)])
    ours = replace(source_report(1, 1, used=1), time_us=entry.time_us + 1)
    with pytest.raises(TrustError, match="of other rows"):
        world.committer.commit([ours])
    assert world.sink.calls == ["discard"]


@pytest.mark.slow
def test_accounts_add_up_and_nothing_is_shared_between_entries(world: World) -> None:
    first = world.committer.commit([source_report(1, 10, used=10)])
    second = world.committer.commit([source_report(2, 5, used=4, late=1)])
    assert first.accounts.counts["orders"]["a"].read == 10
    assert second.accounts.counts["orders"]["a"] == Counts(15, 14, 0, 1)
    assert world.checkpoint.entry(1) == first


def test_an_epoch_that_is_run_again_publishes_what_its_entry_says(world: World) -> None:
    first = world.committer.commit([source_report(1, 10, used=10), staged(TO_SINK, "first")])
    again = World(Path(world.checkpoint.uri).parent)
    result = again.committer.commit([source_report(1, 10, used=10), staged(TO_SINK, "second")])
    assert result == first
    assert again.sink.calls == [(1, ["first"])]


def test_recovery_publishes_the_last_entry(world: World) -> None:
    assert world.committer.recover() == Entry(0, 0)
    assert world.sink.calls == ["discard"]
    world.committer.commit([source_report(1, 1, used=1), staged(TO_SINK, "one")])
    again = World(Path(world.checkpoint.uri).parent)
    assert again.committer.recover().epoch == 1
    assert again.sink.calls == [(1, ["one"]), "discard"]


def test_a_driver_that_lost_its_lease_commits_nothing(world: World) -> None:
    world.lease.acquire()
    Lease(world.checkpoint.store.below("lease"), ManualClock()).acquire(takeover=True)
    with pytest.raises(LeaseHeldError):
        world.committer.check_lease()
    with pytest.raises(LeaseHeldError):
        world.committer.commit([source_report(1, 1, used=1), staged(TO_SINK, "one")])
    assert world.sink.calls == []
    assert world.checkpoint.entry(1) is None
    world.lease.release()


def test_an_account_that_does_not_balance_is_never_committed(world: World) -> None:
    with pytest.raises(InvariantError, match="does not balance"):
        world.committer.commit([source_report(1, 10, used=11)])
    assert world.checkpoint.entry(1) is None
    assert world.sink.calls == []


def test_epochs_follow_each_other(world: World) -> None:
    with pytest.raises(InvariantError, match="follows no entry"):
        world.committer.commit([source_report(2, 1)])
    with pytest.raises(InvariantError, match=r"epochs \[1, 2\]"):
        world.committer.commit([source_report(1, 1), source_report(2, 1)])
    with pytest.raises(InvariantError, match=r"epochs \[\]"):
        world.committer.commit([])


def test_a_job_is_finished_when_all_splits_are(world: World) -> None:
    assert not is_finished(world.plan, Entry(0, 0))
    assert not is_finished(world.plan, world.committer.commit([source_report(1, 1, used=1)]))
    ended = world.committer.commit([source_report(2, 1, Status.FINISHED, used=1)])
    assert is_finished(world.plan, ended)


@pytest.mark.parametrize("monitored", [False, True])
def test_a_table_without_splits_has_ended_when_it_is_bounded(
    tmp_path: Path, monitored: bool
) -> None:
    plan = plan_in(tmp_path, monitored=monitored)
    assert is_finished(plan, an_entry(1, 1, statuses={"orders": {}})) is not monitored
    assert not is_finished(plan, Entry(1, 1))


def test_an_entry_has_digests_of_what_spark_wrote_in_earlier_epochs(world: World) -> None:
    """Not in the first of a run: Spark writes them in its epoch, and again if that dies."""
    folder = Path(world.checkpoint.uri, "spark/state/0/_metadata/v2")
    folder.mkdir(parents=True)
    found = []
    for epoch in (1, 2, 3):
        (folder / str(epoch - 1)).write_text("v2")
        entry = world.committer.commit([source_report(epoch, 1, used=1)])
        found.append([name.rpartition("/")[2] for name in entry.state.files])
    assert found == [[], ["0"], ["0"]]
