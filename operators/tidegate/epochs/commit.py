"""The commit of an epoch, on the driver: entry, publication, account (design §2 "Source", "Sinks").

In this order, each step once: the epoch's tasks have staged their rows; the lease is checked; the
entry is written; what it lists is published; Spark commits the epoch. A driver that dies between
two steps leaves an epoch that Spark runs again from the same offsets; then the entry that exists
decides what is published, and what the second run staged is discarded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from functools import partial
from typing import Any

from tidegate.clock import Clock
from tidegate.connectors.registry import connector_of
from tidegate.connectors.staging import writer_of
from tidegate.epochs.checkpoint import Checkpoint, Entry
from tidegate.epochs.lease import Lease
from tidegate.epochs.observations import observe
from tidegate.epochs.targets import TO_LEDGER
from tidegate.errors import InvariantError, LeaseHeldError, TrustError
from tidegate.failpoints import hit
from tidegate.plan.fragments import Plan
from tidegate.ports import (
    FencingCommitter,
    LeasedCommitter,
    Progress,
    SinkCommitter,
    StagedFile,
)
from tidegate.types import Counts, Status

ENTRIES_KEPT = 200
"""Entries older than this many epochs are removed: far more than the offsets that Spark keeps."""
TIDIED_EVERY = 50
"""After so many epochs old entries, and what dead attempts of tasks staged, are removed: each of
them costs requests where the checkpoint is not local, and none of them is in anybody's way."""


class Committer:
    """Commits the epochs of one run. ``committers`` by target (sink or ledger) as in `wire`."""

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
        self._fencing = {
            target: committer
            for target, committer in committers.items()
            if isinstance(committer, FencingCommitter)
        }
        self._leased = {
            target: committer
            for target, committer in committers.items()
            if isinstance(committer, LeasedCommitter)
        }
        self._clock = clock
        self._last: Entry | None = None  # the newest, once it is known

    def fence(self, writers: int) -> dict[int, dict[str, str]]:
        """On start: takes the sinks that publish in tasks over from an earlier driver.

        Returns what their writers get. Raises LeaseHeldError, TrustError, OptionsError, SinkError.
        """
        given: dict[int, dict[str, str]] = {}
        for target, committer in self._fencing.items():
            self.check_lease()
            given[target] = committer.fence(writers, partial(self._progress, target))
        return given

    def begin(self, epoch: int) -> dict[int, dict[str, int]]:
        """Before the tasks of ``epoch`` run: the last epoch that each writer of a sink has written.

        Only of sinks that publish in tasks; by the epoch log.
        """
        self.check_lease()  # the tasks of a driver that has lost it would write over state
        for committer in self._fencing.values():
            committer.renew(epoch - 1)
        written = self._last.written if self._last else {}
        return {int(target): dict(writers) for target, writers in written.items()}

    def _progress(self, target: int) -> Progress:
        last = self._checkpoint.last_epoch()
        entry = self._checkpoint.entry(last)
        assert entry is not None
        planned = max(last, self._checkpoint.planned_epoch())
        return Progress(last, planned, entry.written.get(str(target), {}))

    def commit(self, results: Iterable[tuple[str, bytes]]) -> Entry:
        """Commits the epoch whose tasks gave ``results`` (see `writer`)."""
        reports, staged = _sorted_out(results)
        epoch = _epoch_of(reports)
        hit("after-staging", epoch)
        self.check_lease()
        # Behind the newest there is none, unless a driver before this one writes it just now.
        is_new = self._last is not None and epoch > self._last.epoch
        entry = None if is_new else self._checkpoint.entry(epoch)
        if entry is None:
            entry = self._new_entry(epoch, reports, staged)
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
                hint="restore the checkpoint from a backup, or start anew with another one",
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
        return Progress(last, last, entry.written.get(str(target), {}) if entry else {})

    def _publish(self, entry: Entry) -> None:
        for target, files in entry.staged.items():
            committer = self._committers[int(target)]
            committer.publish(entry.epoch, [StagedFile(*file) for file in files])

    def _merge_filters(self, entry: Entry) -> None:
        """The merged watermark of each filter: what a split that joins later starts from (S6)."""
        tables = self._plan.accounts()
        for filter_id, account in self._plan.filters().items():
            statuses = entry.statuses.get(tables[account], {})
            spoken = [(entry.effective(filter_id, s), status) for s, status in statuses.items()]
            merged = _merged(spoken)
            if merged is not None:
                before = entry.merged_filters.get(filter_id, merged)
                entry.merged_filters[filter_id] = max(before, merged)

    def _new_entry(
        self, epoch: int, reports: list[dict[str, Any]], staged: dict[int, list[StagedFile]]
    ) -> Entry:
        before = self._last
        if before is None or before.epoch != epoch - 1:
            before = self._checkpoint.entry(epoch - 1)
        if before is None:
            raise InvariantError(f"epoch {epoch} follows no entry of the epoch log")
        entry = Entry(
            epoch,
            max(report.get("time_us", 0) for report in reports),
            {table: dict(splits) for table, splits in before.next_offsets.items()},
            {name: dict(splits) for name, splits in before.filters.items()},
            dict(before.merged_filters),
            {a: {s: dict(c) for s, c in splits.items()} for a, splits in before.counts.items()},
            {table: dict(splits) for table, splits in before.statuses.items()},
            ended_us=self._clock.now_us(),
            bytes={table: dict(splits) for table, splits in before.bytes.items()},
            ends={table: dict(splits) for table, splits in before.ends.items()},
            lost={
                t: {s: list(ranges) for s, ranges in splits.items()}
                for t, splits in before.lost.items()
            },
        )
        entry.written = self._written_up_to(epoch, before.written, staged)
        for account in self._plan.accounts():
            entry.counts.setdefault(account, {})
        for report in reports:
            if report["type"] == "writer":
                continue
            if report["type"] == "source":
                entry.next_offsets.setdefault(report["table"], {}).update(report["next_offsets"])
                entry.statuses.setdefault(report["table"], {}).update(report["statuses"])
                _read(entry, report)
            else:
                merged = entry.merged.setdefault(str(report["fragment"]), {})
                merged.update(report["watermarks"])
            for split in report["splits"]:
                _account(entry, split)
        _balance(entry)
        self._merge_filters(entry)
        entry.staged = {
            str(target): [list(astuple(file)) for file in files] for target, files in staged.items()
        }
        ledger = staged.get(TO_LEDGER, [])
        entry.ledger_rows = before.ledger_rows + sum(file.rows for file in ledger)
        observe(entry, before, reports, staged)
        return entry

    def _written_up_to(
        self,
        epoch: int,
        before: Mapping[str, Mapping[str, int]],
        staged: Mapping[int, list[StagedFile]],
    ) -> dict[str, dict[str, int]]:
        written = {target: dict(writers) for target, writers in before.items()}
        for target in (*self._fencing, *self._leased):
            for file in staged.get(target, []):
                written.setdefault(str(target), {})[writer_of(file.order)] = epoch
        return written


def _merged(watermarks: list[tuple[int | None, int]]) -> int | None:
    """What is sure over all splits, given (watermark, status) of each: as a merger has it (S3)."""
    active = [value for value, status in watermarks if status == Status.ACTIVE]
    if active:
        known = [value for value in active if value is not None]
        return min(known) if len(known) == len(active) else None
    idle = [v for v, status in watermarks if status == Status.IDLE and v is not None]
    return max(idle, default=None)


def _sorted_out(
    results: Iterable[tuple[str, bytes]],
) -> tuple[list[dict[str, Any]], dict[int, list[StagedFile]]]:
    reports: list[dict[str, Any]] = []
    staged: dict[int, list[StagedFile]] = {}
    for kind, body in results:
        if kind == "report":
            report = json.loads(body)
            reports.append(report)
            for file in report.get("ledger", []):  # of a reader that had many such rows
                staged.setdefault(TO_LEDGER, []).append(StagedFile(*file))
        else:
            target = int(kind.removeprefix("staged:"))
            staged.setdefault(target, []).append(StagedFile(*json.loads(body)))
    return reports, staged


def _epoch_of(reports: list[dict[str, Any]]) -> int:
    epochs = {report["epoch"] for report in reports}
    if len(epochs) != 1:
        raise InvariantError(f"the tasks of one epoch report epochs {sorted(epochs)}")
    return int(next(iter(epochs)))


def _read(entry: Entry, report: dict[str, Any]) -> None:
    """What a reader task says of its splits' input."""
    table = report["table"]
    entry.ends.setdefault(table, {}).update(report["ends"])
    read = entry.bytes.setdefault(table, {})
    for split, size in report["bytes"].items():
        read[split] = read.get(split, 0) + size
    for split, ranges in report["lost"].items():
        entry.lost.setdefault(table, {}).setdefault(split, []).extend(ranges)


def _account(entry: Entry, split: dict[str, Any]) -> None:
    counts = entry.counts.setdefault(split["account"], {}).setdefault(split["split"], {})
    for name, value in split["counts"].items():
        counts[name] = counts.get(name, 0) + value
    for filter_id, state in split["filters"].items():
        entry.filters.setdefault(filter_id, {})[split["split"]] = state


def _balance(entry: Entry) -> None:
    """What passed the filters and was used by no query was refused by every WHERE (S7)."""
    for splits in entry.counts.values():
        for counts in splits.values():
            passed = counts["read"] - counts["late"] - counts["quarantined"]
            counts["filtered"] = passed - counts["used"]
            if counts["filtered"] < 0 or not Counts(**counts).balanced:
                raise InvariantError(f"epoch {entry.epoch}: the account does not balance: {counts}")


def is_finished(plan: Plan, entry: Entry) -> bool:
    """Whether every split of every table has ended; a bounded table may have had none."""
    return all(
        (entry.statuses.get(t.name) or (t.name in entry.statuses and connector_of(t).is_bounded(t)))
        and all(status == Status.FINISHED for status in entry.statuses[t.name].values())
        for t in plan.tables
    )
