"""A job and its checkpoint, opened: what a run does before its first epoch, without an engine.

In this order. The lease is taken, so nobody else commits from here on. A new job's sources are
looked at, so that a missing path is told before anything is written; job.json is written, or holds
the job to what it says; outputs are prepared. The logs must agree. What the newest entry lists is
published, in case its driver died before it did. Then, unless the job has ended: sources are looked
at, and sinks that publish in tasks are taken over from an earlier driver (`OpenJob.begin`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self, TypeAlias

from tidegate.clock import Clock
from tidegate.connectors.registry import connector_of
from tidegate.engine.limits import UNSHARED, Limits
from tidegate.epochs.anew import begin_anew
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.commit import Committer, is_finished
from tidegate.epochs.entry import Entry
from tidegate.epochs.exposed import exposures
from tidegate.epochs.job import WireJob
from tidegate.epochs.lease import Lease
from tidegate.epochs.ledger import targets
from tidegate.epochs.listener import Log
from tidegate.epochs.manifest import Manifest
from tidegate.epochs.mending import Mender
from tidegate.epochs.parallelism import parallelism_of
from tidegate.epochs.planner import PlannerOf, connector_planner
from tidegate.epochs.targets import sink_tables
from tidegate.errors import BindError, OptionsError, TrustError
from tidegate.plan.fragments import Plan
from tidegate.plan.tables import Table
from tidegate.ports import BESIDE, FencingCommitter, SinkCommitter

CommitterOf: TypeAlias = Callable[[int, Table, str], SinkCommitter]
"""Of a target and its table; where its writers stage what has no place of its own."""


def connector_committer(target: int, table: Table, staging: str) -> SinkCommitter:
    """The committer of a table's connector."""
    del target
    return connector_of(table).committer(table, staging)


@dataclass(frozen=True, slots=True)
class EpochOptions:
    """How a job is run, as far as its epochs go; none of it changes what it gives (S6).

    ``checkpoint`` None: a temporary one. ``rows_max`` and ``bytes_max`` bound an epoch of one
    table, ``duration_us`` is what it aims at (see `pace`); ``limits`` bound an engine.
    ``fresh``: what the checkpoint knows, and its job has written, is removed first (see `anew`).
    """

    checkpoint: str | None = None
    parallelism: int = 2
    rows_max: int | None = 4_000_000
    bytes_max: int | None = 256 << 20
    duration_us: int = 10_000_000
    available_now: bool = False
    takeover: bool = False
    fresh: bool = False
    limits: Limits = UNSHARED


@dataclass(slots=True)
class OpenJob:
    """A job whose checkpoint is held here, from `__enter__` to `__exit__`.

    Inside, ``committer`` commits its epochs, ``last`` is the newest entry when it was opened, and
    ``is_finished`` says that nothing is left to do. ``parallelism`` is the checkpoint's, as is
    ``manifest``. Opening
    raises LeaseHeldError when another driver holds it, OptionsError (or BindError, with a place)
    when the job is another or does not fit, TrustError, SinkError. Sources and sinks are those of
    the connectors, unless ``planner_of`` and ``committer_of`` give others.
    """

    plan: Plan
    checkpoint: Checkpoint
    options: EpochOptions
    clock: Clock
    log: Log
    patience_s: float = 0.0
    planner_of: PlannerOf = connector_planner
    committer_of: CommitterOf = connector_committer
    committer: Committer = field(init=False)
    last: Entry = field(init=False)
    is_finished: bool = field(init=False)
    parallelism: int = field(init=False)
    _lease: Lease = field(init=False)
    manifest: Manifest = field(init=False)

    def __enter__(self) -> Self:
        self._check_place()
        for line in exposures(self._tables(), self.checkpoint.uri):
            self.log(f"warning: {line}")
        self.checkpoint.create()
        self._lease = Lease(self.checkpoint.store.below("lease"), self.clock)
        note = self._lease.acquire(self.options.takeover, self.patience_s)
        try:
            if note:
                self.log(note)
            self._open()
        except BaseException:
            self._lease.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._lease.release()

    def _tables(self) -> list[Table]:
        return [*self.plan.tables, *sink_tables(self.plan.job).values()]

    def _check_place(self) -> None:
        """A checkpoint is nothing that a table reads, nor where one is written."""
        uri = self.checkpoint.uri
        read = [t.name for t in self.plan.tables if connector_of(t).reads_from(t, uri)]
        sinks = sink_tables(self.plan.job).values()
        written = [t.name for t in sinks if connector_of(t).writes_in(t, uri)]
        if read or written:
            raise OptionsError(
                f"the checkpoint {uri} lies where table '{read[0]}' reads"
                if read
                else f"table '{written[0]}' would be written into the checkpoint {uri}",
                hint="give the checkpoint a directory of its own with --checkpoint",
            )

    def _open(self) -> None:
        tables = targets(self.plan.job, self.checkpoint)
        committers = {
            target: self.committer_of(target, table, self.checkpoint.staging(target))
            for target, table in tables.items()
        }
        fresh = self.options.fresh or not self.checkpoint.exists
        if fresh:
            self._look_at_sources(begun=False)
        if self.options.fresh:
            begin_anew(self.checkpoint, self.plan, committers, self.log)
        self.manifest = self._written(committers) if fresh else self._read(committers)
        for target, committer in committers.items():
            committer.bind(self.manifest.sinks[target])
        self.parallelism = self.manifest.parallelism
        has_state = self.plan.depth > 0
        fences = any(isinstance(each, FencingCommitter) for each in committers.values())
        partitions = self.parallelism if has_state else None
        Mender(self.checkpoint, partitions, not fences, self.log).mend()
        self.committer = Committer(self.plan, self.checkpoint, self._lease, committers, self.clock)
        self.last = last = self.committer.recover()
        ended = last.epoch > 0 and is_finished(self.plan, last)
        self.is_finished = ended and self.checkpoint.is_committed(last.epoch)
        if not (fresh or self.is_finished):
            self._look_at_sources(begun=last.epoch > 0)

    def _written(self, committers: Mapping[int, SinkCommitter]) -> Manifest:
        if self.checkpoint.last_epoch() or self.checkpoint.planned_epoch():
            raise TrustError(
                f"{self.checkpoint.uri} has epochs but no job.json",
                hint="if a run with --fresh was killed, run it again so; else restore the"
                " checkpoint from a backup, or give another one",
            )
        sinks = {target: committer.prepare(True) for target, committer in committers.items()}
        names = {target: table.name for target, table in sink_tables(self.plan.job).items()}
        for target, kept in sinks.items():
            if what := kept.get(BESIDE):
                self.log(
                    f"warning: the output of '{names[target]}' lies beside {what}: who reads it"
                    " reads both"
                )
        manifest = Manifest.of(self.plan, self.options.parallelism, sinks)
        self.checkpoint.write_job(manifest)
        return manifest

    def _read(self, committers: Mapping[int, SinkCommitter]) -> Manifest:
        manifest = self.checkpoint.read_job()
        manifest.check(Manifest.of(self.plan, 0, {}), self.checkpoint.uri)
        parallelism = parallelism_of(self.checkpoint, manifest.parallelism)
        for committer in committers.values():  # not before it is known whose checkpoint this is
            committer.prepare(False)
        return replace(manifest, parallelism=parallelism)

    def _look_at_sources(self, *, begun: bool) -> None:
        places = dict(self.plan.job.places)
        for table in self.plan.tables:
            try:
                planner = self.planner_of(table, self.options.available_now)
                planner.splits(begun=begun)
            except OptionsError as error:
                place, detail = places.get(table.name), error.detail
                raise BindError(error.message, place, detail=detail, hint=error.hint) from None

    def begin(self, stop_mark: Path | None = None) -> WireJob:
        """From here on no earlier driver's task publishes. What planner and workers are given."""
        fenced = self.committer.fence(self.parallelism)
        remembered = {t: {**k, **fenced.get(t, {})} for t, k in self.manifest.sinks.items()}
        return WireJob(
            self.plan,
            self.checkpoint.uri,
            self.options.rows_max,
            self.parallelism,
            self.options.available_now,
            self.manifest.time_zone,
            tuple((target, tuple(sorted(kept.items()))) for target, kept in remembered.items()),
            self.options.bytes_max,
            self.options.duration_us,
            str(stop_mark or ""),
            limits=self.options.limits,
        )

    def say_finished(self) -> None:
        """Logs that the job has ended, and what has appeared in its tables since."""
        offset = self.checkpoint.offset(self.last.epoch)
        self.log(f"the job has finished: {self.checkpoint.uri} is at the end of all its tables")
        for table in self.plan.tables:
            try:
                planner = self.planner_of(table, True)
                unread = planner.unread(offset.positions(table.name))
            except OptionsError as error:  # the input may be gone: all of it was read
                self.log(f"{table.name}: {error.message}")
                continue
            for name in unread:
                self.log(f"{table.name}: {name} appeared since and is not read; --fresh reads all")
