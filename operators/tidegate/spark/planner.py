"""The planner: decides on the driver what an epoch is (design §2 "Source").

It lives in a Python process of its own, beside the driver's, which Spark asks for the next offset
and for the tasks of an epoch. It has no memory that matters: all it needs is in the start offset,
in the epoch log, and outside. One planner serves all tables of the job, since Spark would run
planners of separate sources in separate processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.clock import Clock
from tidegate.connectors.base import Position, SourcePlanner
from tidegate.connectors.registry import is_bounded, source_planner
from tidegate.errors import TrustError
from tidegate.executor.actor import NO_SPLIT
from tidegate.spark.checkpoint import Checkpoint, Entry
from tidegate.spark.offsets import Offset
from tidegate.spark.wirejob import WireJob
from tidegate.types import Status


@dataclass(frozen=True, slots=True)
class SplitTask:
    """One split of one source fragment in one epoch.

    ``filters`` are its filters' states, ``floors`` the watermarks that they take over, by filter.
    """

    split: str
    start: Position
    end: Position
    first_offset: int
    status: Status
    filters: dict[str, dict[str, Any]]
    floors: dict[str, int]


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


class Planner:
    """Plans epochs from offset to offset."""

    def __init__(self, job: WireJob, clock: Clock) -> None:
        self._job = job
        self._clock = clock
        self._checkpoint = Checkpoint(job.checkpoint)
        self._sources: dict[str, SourcePlanner] = {
            table.name: source_planner(table, job.available_now) for table in job.plan.tables
        }
        self._accounts = job.plan.accounts()
        self._bounded = {table.name: is_bounded(table) for table in job.plan.tables}

    def next_offset(self, start: Offset) -> Offset:
        """The end of the next epoch; ``start`` itself when there is nothing to do."""
        if self._checkpoint.stopping:
            return start
        # A clock that was set back must not take the recorded time with it.
        end = Offset(start.epoch + 1, max(self._clock.now_us(), start.time_us + 1))
        changed = False
        for table, source in self._sources.items():
            before = start.tables.get(table, {})
            # New splits of an unbounded table may still join: its end is never reached.
            absent = Status.FINISHED if self._bounded[table] else Status.IDLE
            splits = source.splits(begun=bool(before))
            positions = {split: before[split][0] if split in before else None for split in splits}
            plans = source.plan(positions, self._job.rows_max)
            after = {
                split: (plan.end, absent if plan.finished else Status.ACTIVE)
                for split, plan in plans.items()
            }
            for split in before.keys() - after.keys():
                source.check_gone(split, before[split][0])
                if self._bounded[table] and before[split][1] is Status.ACTIVE:
                    raise TrustError(
                        f"split '{split}' of table '{table}' is gone before all of it was read",
                        hint="put it back, or start anew with another --checkpoint",
                    )
            # A split that is gone stays where it ended and holds nobody back, like a finished one.
            gone = {split: (entry[0], absent) for split, entry in before.items()}
            end.tables[table] = {**gone, **after}
            # A table without any split ends, or begins, in the first epoch as others do.
            changed = changed or end.tables[table] != start.tables.get(table)
        return end if changed else start

    def tasks(self, start: Offset, end: Offset) -> list[ReaderTask]:
        """The reader tasks of the epoch from ``start`` to ``end``."""
        log = self._checkpoint.entry(start.epoch)
        if log is None:
            raise TrustError(
                f"the epoch log has no entry for epoch {start.epoch}, which Spark has committed",
                hint="restore the checkpoint, or start anew with another --checkpoint",
            )
        count = min(
            self._job.parallelism, max((len(splits) for splits in end.tables.values()), default=1)
        )
        count = max(count, 1)
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
                status = Status.FINISHED if self._bounded[table] else Status.IDLE
                shares[0] = [SplitTask(NO_SPLIT, None, None, 0, status, {}, {})]
            peers = tuple(index for index, share in enumerate(shares) if share)
            for index in peers:
                work[index].append(FragmentTask(fragment.id, tuple(shares[index]), peers))
        return [
            ReaderTask(index, end.epoch, end.time_us, tuple(fragments))
            for index, fragments in enumerate(work)
            if fragments
        ]

    def _split_task(
        self, table: str, split: str, start: Offset, end: Offset, log: Entry, filters: list[str]
    ) -> SplitTask:
        position, status = end.tables[table][split]
        before = start.tables.get(table, {}).get(split)
        states = {f: log.filters[f][split] for f in filters if split in log.filters.get(f, {})}
        floors: dict[str, int] = {}
        if start.epoch and (before is None or before[1] is not Status.ACTIVE):
            # It joins, or returns, behind a merged watermark that went on without it (S6).
            floors = {f: log.merged_filters[f] for f in filters if f in log.merged_filters}
        return SplitTask(
            split,
            before[0] if before else None,
            position,
            log.next_offsets.get(table, {}).get(split, 0),
            status,
            states,
            floors,
        )
