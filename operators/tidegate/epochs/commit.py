"""The commit of an epoch, on the driver: entry, publication, account (design §2 "Source", "Sinks").

In this order, each step once: the epoch's tasks have staged their rows; the lease is checked; the
entry is written; what it lists is published; Spark commits the epoch. A driver that dies between
two steps leaves an epoch that Spark runs again from the same offsets; then the entry that exists
decides what is published, and what the second run staged is discarded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from tidegate.clock import Clock
from tidegate.connectors.registry import connector_of
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.lease import Lease
from tidegate.epochs.next_entry import next_entry
from tidegate.epochs.spark_files import digests
from tidegate.epochs.task_reports import TaskReport
from tidegate.errors import RESTORE, InvariantError, LeaseHeldError, TrustError
from tidegate.events import EVENTS
from tidegate.failpoints import hit
from tidegate.plan.fragments import Plan
from tidegate.ports import (
    FencingCommitter,
    LeasedCommitter,
    Progress,
    SinkCommitter,
)
from tidegate.types import Status

ENTRIES_KEPT = 200
"""Entries older than this many epochs are removed: far more than the offsets that Spark keeps."""
TIDIED_EVERY = 50
"""After so many epochs old entries, and what dead attempts of tasks staged, are removed: each of
them costs requests where the checkpoint is not local, and none of them is in anybody's way."""


class Committer:
    """Commits the epochs of one run. ``committers`` by target (see `targets`)."""

    def __init__(
        self,
        plan: Plan,
        checkpoint: Checkpoint,
        lease: Lease,
        committers: dict[int, SinkCommitter],
        clock: Clock,
    ) -> None:
        self._plan = plan
        self._checkpoint = checkpoint
        self._lease = lease
        self._committers = committers
        self._fencing = {t: c for t, c in committers.items() if isinstance(c, FencingCommitter)}
        self._leased = {t: c for t, c in committers.items() if isinstance(c, LeasedCommitter)}
        self._clock = clock
        self._last: Entry | None = None  # the newest, once it is known
        self._entered = 0  # how many entries this run has written

    def fence(self, writers: int) -> dict[int, dict[str, str]]:
        """On start: takes the sinks that publish in tasks over from an earlier driver.

        Returns what their writers get. Raises LeaseHeldError, TrustError, OptionsError, SinkError.
        """
        given: dict[int, dict[str, str]] = {}
        for target, committer in self._fencing.items():
            self.check_lease()
            given[target] = committer.fence(writers, partial(self._progress, target))
        return given

    def begin(self, epoch: int) -> Mapping[int, Mapping[str, int]]:
        """Before the tasks of ``epoch`` run: the last epoch that each writer of a sink has written.

        Only of sinks that publish in tasks; by the epoch log.
        """
        self.check_lease()  # the tasks of a driver that has lost it would write over state
        self._checkpoint.sync_spark(epoch)  # no row is seen of a plan that a crash may take back
        for committer in self._fencing.values():
            committer.renew(epoch - 1)
        return self._last.sinks.written if self._last else {}

    def _progress(self, target: int) -> Progress:
        last = self._checkpoint.last_epoch()
        entry = self._checkpoint.entry(last)
        assert entry is not None
        planned = max(last, self._checkpoint.planned_epoch())
        return Progress(last, planned, entry.sinks.written.get(target, {}))

    def commit(self, reports: Sequence[TaskReport]) -> Entry:
        """Commits the epoch whose tasks have given ``reports``."""
        epoch = _epoch_of(reports)
        hit("after-staging", epoch)
        self.check_lease()
        # Behind the newest there is none, unless a driver before this one writes it just now.
        is_new = self._last is not None and epoch > self._last.epoch
        entry = None if is_new else self._checkpoint.entry(epoch)
        if entry is None:
            entry = self._new_entry(epoch, reports)
            try:
                self._checkpoint.write_entry(entry)
            except FileExistsError:
                entry = self._adopted(epoch, entry.time_us)
        self._last = entry
        hit("after-entry", epoch)
        self._publish(entry)
        hit("after-publish", epoch)
        if epoch % TIDIED_EVERY == 0:
            self.tidy()
            self._checkpoint.forget_entries(epoch - ENTRIES_KEPT)
        return entry

    def tidy(self) -> None:
        """Removes what dead attempts staged, in epochs that are published."""
        if self._last is not None:
            for committer in self._committers.values():
                committer.discard_unknown(self._last.epoch)

    def _adopted(self, epoch: int, time_us: int) -> Entry:
        """The entry of the driver before this one, whose last write came in behind the takeover.

        It is the same epoch, of the same rows, if its offsets were in Spark's log: then it has the
        same time. What it lists as staged is still there, since `tidy` leaves later epochs than the
        newest alone.
        """
        self.check_lease()
        entry = self._checkpoint.entry(epoch)
        if entry is None:
            raise LeaseHeldError(f"another driver has written epoch {epoch}, and removed it")
        if entry.time_us != time_us:
            raise TrustError(
                f"the driver before this one has written epoch {epoch} of other rows",
                detail=f"its epoch began at {entry.time_us}, this one's at {time_us}",
                hint=RESTORE,
            )
        return entry

    def check_lease(self) -> None:
        """Raises LeaseHeldError when another driver has taken over."""
        self._lease.check()

    def recover(self) -> Entry:
        """On start: publishes what the last entry lists, in case its driver died before it did.

        Not so when Spark has committed the epoch: then all was published, and readers of the
        output may have moved it elsewhere since.
        """
        for target, committer in self._leased.items():
            self.check_lease()
            committer.take_over(self._lease.term, partial(self._published, target))
        # Not before: until then a driver before this one may have entered another.
        last = self._checkpoint.entry(self._checkpoint.last_epoch())
        assert last is not None
        self._last = last
        if not self._checkpoint.is_committed(last.epoch):
            self._publish(last)
        self.tidy()
        return last

    def _published(self, target: int) -> Progress:
        """What must be published: all up to the newest epoch, or to the one before it."""
        last = self._checkpoint.last_epoch()
        known = last if self._checkpoint.is_committed(last) else last - 1
        entry = self._checkpoint.entry(known) if known > 0 else None
        return Progress(last, last, entry.sinks.written.get(target, {}) if entry else {})

    def _publish(self, entry: Entry) -> None:
        for target, files in entry.sinks.staged.items():
            self._committers[target].publish(entry.epoch, files)

    def _new_entry(self, epoch: int, reports: Sequence[TaskReport]) -> Entry:
        before = self._last
        if before is None or before.epoch != epoch - 1:
            before = self._checkpoint.entry(epoch - 1)
        if before is None:
            raise InvariantError(f"epoch {epoch} follows no entry of the epoch log")
        tracked = {*self._fencing, *self._leased}
        now_us = self._clock.now_us()
        entry = next_entry(before, self._plan, reports, tracked, EVENTS.take(), now_us)
        self._entered += 1
        if self._entered == 2:  # the first epoch of a run, in which Spark writes them, is committed
            files = digests(self._checkpoint, epoch)
            entry = replace(entry, state=replace(entry.state, files=files))
        return entry


def _epoch_of(reports: Sequence[TaskReport]) -> int:
    epochs = {report.epoch for report in reports}
    if len(epochs) != 1:
        raise InvariantError(f"the tasks of one epoch report epochs {sorted(epochs)}")
    return epochs.pop()


def is_finished(plan: Plan, entry: Entry) -> bool:
    """Whether every split of every table has ended; a bounded table may have had none."""
    statuses = entry.splits.statuses
    return all(
        (statuses.get(t.name) or (t.name in statuses and connector_of(t).is_bounded(t)))
        and all(status is Status.FINISHED for status in statuses[t.name].values())
        for t in plan.tables
    )
