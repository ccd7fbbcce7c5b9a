"""The planner: decides on the driver what an epoch is (design §2 "Source").

It lives in a Python process of its own, beside the driver's, which Spark asks for the next offset
and for the tasks of an epoch. It has no memory that matters: all it needs is in the start offset,
in the epoch log, and outside. One planner serves all tables of the job, since Spark would run
planners of separate sources in separate processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from tidegate.clock import AwakeClock, Clock, ManualClock
from tidegate.connectors.registry import connector_of
from tidegate.epochs.alignment import Alignment
from tidegate.epochs.checkpoint import Checkpoint, entry_name
from tidegate.epochs.entry import Entry
from tidegate.epochs.idleness import Idleness
from tidegate.epochs.job import WireJob
from tidegate.epochs.offsets import Offset
from tidegate.epochs.pace import Pace
from tidegate.errors import RESTORE, TrustError
from tidegate.executor.actor import NO_SPLIT
from tidegate.plan.tables import Table
from tidegate.ports import Position, SourcePlanner, SplitPlan, SplitRange
from tidegate.types import FilterState, Status

PlannerOf: TypeAlias = Callable[[Table, bool], SourcePlanner]
"""Of a source table; whether only what is available now is read."""


def connector_planner(table: Table, available_now: bool) -> SourcePlanner:
    """The planner of a table's connector."""
    return connector_of(table).planner(table, available_now)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitTask(SplitRange):
    """One split of one source fragment in one epoch.

    ``filters`` are its filters' states, ``floors`` the watermarks that they take over, by filter;
    ``known_end`` is the offset at which the split ended when the epoch was planned.
    """

    status: Status
    filters: Mapping[str, FilterState] = field(default_factory=dict)
    floors: Mapping[str, int] = field(default_factory=dict)
    known_end: int | None = None


@dataclass(frozen=True, slots=True)
class FragmentTask:
    """What a reader task does for one source fragment. ``peers``: the tasks that do likewise."""

    fragment: int
    splits: tuple[SplitTask, ...]
    peers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReaderTask:
    """One Spark task of the source in one epoch."""

    index: int
    epoch: int
    time_us: int
    fragments: tuple[FragmentTask, ...]
    is_careful: bool = False
    """See `tidegate.careful`."""


class Planner:
    """Plans epochs from offset to offset. ``checkpoint`` None: opened where the job says."""

    def __init__(
        self,
        job: WireJob,
        clock: Clock,
        checkpoint: Checkpoint | None = None,
        planner_of: PlannerOf = connector_planner,
    ) -> None:
        self._job = job
        self._clock = clock
        self._checkpoint = checkpoint or Checkpoint(job.checkpoint)
        tables = [(table, connector_of(table)) for table in job.plan.tables]
        self._sources = {t.name: planner_of(t, job.available_now) for t in job.plan.tables}
        self._accounts = job.plan.accounts()
        self._bounded = {t.name: each.is_bounded(t) for t, each in tables}
        self._timeouts = {t.name: each.read_options(t).idle_timeout_us for t, each in tables}
        awake_s = clock.monotonic_s
        if any(self._timeouts.values()) and not isinstance(clock, ManualClock):
            awake_s = AwakeClock(clock).awake_s
        self._idleness = Idleness(awake_s)
        self._alignment = Alignment(job.plan, clock.monotonic_s)
        self._paces = {
            table: Pace(job.rows_max, job.bytes_max, job.duration_us) for table in self._sources
        }
        self._log: Entry | None = None  # the one that was asked for last
        self._ends: dict[int, dict[str, dict[str, int]]] = {}  # by epoch, of this run
        # What waits for the clock waits for epochs, rows or not; a run that ends has its last one.
        live = not (job.available_now or all(self._bounded.values()))
        self._ticks = live and job.plan.reads_clock

    def next_offset(self, start: Offset) -> Offset:
        """The end of the next epoch; ``start`` itself when there is nothing to do."""
        if self._job.stop_mark and Path(self._job.stop_mark).exists():
            return start
        # A clock that was set back must not take the recorded time with it.
        end = Offset(start.epoch + 1, max(self._clock.now_us(), start.time_us + 1))
        # Only for pace and alignment, which may do without; the tasks insist on it.
        log = self._entry(start.epoch) or Entry(start.epoch, 0)
        positions = {table: self._positions(table, start) for table in self._sources}
        held = self._held(start, log, positions)
        self._ends[end.epoch] = {}
        changed = False
        for table in self._sources:
            before = start.tables.get(table, {})
            plans = self._planned(table, positions[table], held, log, end.epoch)
            after = {
                split: (plan.end, self._status(table, split, plan, before.get(split)))
                for split, plan in plans.items()
            }
            gone = self._gone(table, before, after)
            end.tables[table] = {**gone, **after}
            # A table without any split ends, or begins, in the first epoch as others do.
            changed = changed or end.tables[table] != start.tables.get(table)
        self._ends = {epoch: ends for epoch, ends in self._ends.items() if epoch >= start.epoch}
        return end if changed or self._ticks else start

    def _entry(self, epoch: int) -> Entry | None:
        """An entry of the epoch log. It never changes: a planner that waits asks for it once."""
        if self._log is None or self._log.epoch != epoch:
            self._log = self._checkpoint.entry(epoch)
        return self._log

    def _positions(self, table: str, start: Offset) -> dict[str, Position]:
        """Where each split that exists now stands."""
        before = start.tables.get(table, {})
        splits = self._sources[table].splits(begun=bool(before))
        return {split: before[split][0] if split in before else None for split in splits}

    def _held(
        self, start: Offset, log: Entry, positions: dict[str, dict[str, Position]]
    ) -> set[tuple[str, str]]:
        """The splits that alignment holds back (S9)."""
        waiting, resting = set(), set()
        for table in self._alignment.tables:
            more = self._sources[table].waiting(positions[table])
            waiting |= {(table, split) for split in more}
            if self._job.available_now:
                resting |= {(table, split) for split in positions[table].keys() - set(more)}
        statuses = {
            table: {split: status for split, (_, status) in splits.items()}
            for table, splits in start.tables.items()
        }
        return self._alignment.held(log, statuses, waiting, resting)

    def _planned(
        self,
        table: str,
        positions: dict[str, Position],
        held: set[tuple[str, str]],
        log: Entry,
        epoch: int,
    ) -> dict[str, SplitPlan]:
        pace = self._paces[table]
        if log.ended_us:
            pace.took(log.epoch, log.ended_us - log.time_us)
        pace.read(*_read_of(log, table))
        free = {split: at for split, at in positions.items() if (table, split) not in held}
        plans = dict(self._sources[table].plan(free, pace.rows()))
        plans |= {
            split: SplitPlan(at, False, 0) for split, at in positions.items() if split not in free
        }
        pace.planned(epoch, sum(plan.rows_max for plan in plans.values()))
        ends = {split: plan.known_end for split, plan in plans.items()}
        self._ends[epoch][table] = {s: end for s, end in ends.items() if end is not None}
        return plans

    def _status(
        self, table: str, split: str, plan: SplitPlan, before: tuple[Position, Status] | None
    ) -> Status:
        if plan.finished:
            return self._ended(table)
        idle = self._idleness.is_idle(
            table,
            split,
            stands=plan.at_end and before is not None and before[0] == plan.end,
            was_idle=before is not None and before[1] is Status.IDLE,
            timeout_us=self._timeouts[table],
            begins=not self._job.available_now,
        )
        return Status.IDLE if idle else Status.ACTIVE

    def _gone(
        self,
        table: str,
        before: dict[str, tuple[Position, Status]],
        after: dict[str, tuple[Position, Status]],
    ) -> dict[str, tuple[Position, Status]]:
        """A split that is gone stays where it ended and holds nobody back, like a finished one."""
        for split in before.keys() - after.keys():
            self._sources[table].check_gone(split, before[split][0])
            if self._bounded[table] and before[split][1] is Status.ACTIVE:
                raise TrustError(
                    f"split '{split}' of table '{table}' is gone before all of it was read",
                    hint="put it back, or start anew with another --checkpoint",
                )
        return {split: (entry[0], self._ended(table)) for split, entry in before.items()}

    def _ended(self, table: str) -> Status:
        """Of a split of which no more comes. New ones may still join an unbounded table."""
        return Status.FINISHED if self._bounded[table] else Status.IDLE

    def tasks(self, start: Offset, end: Offset) -> list[ReaderTask]:
        """The reader tasks of the epoch from ``start`` to ``end``."""
        log = self._entry(start.epoch)
        if log is None:
            raise TrustError(
                f"the epoch log has no entry for epoch {start.epoch}, which Spark has committed:"
                f" {self._checkpoint.store.where(entry_name(start.epoch))} is gone",
                hint="restore the checkpoint, or start anew with another --checkpoint",
            )
        if missing := sorted(self._sources.keys() - end.tables.keys()):
            raise TrustError(
                f"the checkpoint is corrupt: epoch {end.epoch} has no offset of {missing[0]}",
                hint=RESTORE,
            )
        most = max(map(len, end.tables.values()), default=0)
        count = max(1, min(self._job.parallelism, most))
        work: list[list[FragmentTask]] = [[] for _ in range(count)]
        for fragment in self._job.plan.sources:
            assert fragment.table is not None
            table = fragment.table.name
            ids = [
                filter_id
                for filter_id, account in self._job.plan.filters().items()
                if self._accounts[account] == table
            ]
            splits = [
                self._split_task(table, split, start, end, log, ids)
                for split in sorted(end.tables[table])
            ]
            shares = [splits[index::count] for index in range(count)]
            if not splits:
                shares[0] = [SplitTask(NO_SPLIT, None, None, status=self._ended(table))]
            peers = tuple(index for index, share in enumerate(shares) if share)
            for index in peers:
                work[index].append(FragmentTask(fragment.id, tuple(shares[index]), peers))
        is_careful = end.epoch == self._job.careful_epoch
        return [
            ReaderTask(index, end.epoch, end.time_us, tuple(fragments), is_careful)
            for index, fragments in enumerate(work)
            if fragments
        ]

    def _split_task(
        self, table: str, split: str, start: Offset, end: Offset, log: Entry, filters: list[str]
    ) -> SplitTask:
        position, status = end.tables[table][split]
        before = start.tables.get(table, {}).get(split)
        states = {f: by[split] for f in filters if split in (by := log.filters.states.get(f, {}))}
        floors: dict[str, int] = {}
        if start.epoch and (before is None or before[1] is not Status.ACTIVE):
            # It joins, or returns, behind a merged watermark that went on without it (S6).
            floors = {f: log.filters.merged[f] for f in filters if f in log.filters.merged}
        return SplitTask(
            split,
            before[0] if before else None,
            position,
            log.splits.next_offset(table, split),
            status=status,
            filters=states,
            floors=floors,
            known_end=self._ends.get(end.epoch, {}).get(table, {}).get(split),
        )


def _read_of(log: Entry, table: str) -> tuple[int, int]:
    """How many rows of ``table`` were read, and their bytes, as far as its account tells."""
    rows = sum(counts.read for counts in log.accounts.counts.get(table, {}).values())
    return rows, sum(log.splits.bytes.get(table, {}).values())
