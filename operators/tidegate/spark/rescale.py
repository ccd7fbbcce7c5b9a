"""``tidegate rescale``: a job's state divided anew, for another number of parallel tasks.

State is kept by vnode, and a route, which Spark groups by, stands for a vnode whatever the number
of partitions (`routes`); readers and writers are counted anew in every epoch. So all that a
rescale moves is Spark's state store, by Spark's own offline repartition
(``StreamingCheckpointManager``, Spark 4.2). That is an epoch without rows: Spark reads the state as
of the last committed batch, spreads it over the new partitions by the hash of the route, as the
exchange of a later epoch does, writes it as the next version, and commits.

An epoch is an epoch of ours too, or the two logs would part. So it is planned, entered and
committed in the order of every other (`checkpoint`):

    rescales/n.json     what is to be done; from here on no run is let in (`parallelism`)
    spark/offsets/E-1   the last offset under a new number and time, with the new number of tasks:
                        what Spark would write, but for the offset's number, by which the next
                        epoch finds its entry. Spark takes it for a repartition that died
    epochs/E.json       the last entry under a new number: watermarks, counts and offsets go on
    spark/state         the state, by Spark
    spark/commits/E-1   by Spark, and this decides

Each step is a function of the record and of what was there before it, so a rescale that died is
run again from the beginning. Spark overwrites what it had of the state. A rescale that cannot be
finished is undone, with what Spark has written of the new version: a snapshot of it would be read
as that of the epoch that comes instead, and windows would be lost without a word.

Spark's JVM outlives a driver that is killed by a moment, and it alone writes the state and commits.
So its process is written down (``rescales/mover.json``) before it begins, and who comes next waits
for its end, as for a lease's.

Of Spark 4.2.0 one must know:

- The repartition reads state through a part of the driver that only a session which has been asked
  for its streams has (``StateStoreCoordinator``): without that it fails with "Cannot find
  endpoint". `_repartition` asks.
- It writes snapshots and no changelogs, so the new version does not lean on the old partitions.
  Those that are not needed any more stay where they are: the state of the old version, once.
- It refuses an epoch that was planned and not committed, and so do we, before anything is written:
  only the job's run knows its rows.
- A query refuses a repartition that was not finished, so it does not matter who looks first.
"""

from __future__ import annotations

import json
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidegate.clock import Clock
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.lease import Holder, Lease
from tidegate.epochs.listener import Log
from tidegate.epochs.manifest import Manifest
from tidegate.epochs.offsets import Offset
from tidegate.epochs.parallelism import FOLDER, PARTITIONS, Rescale, Rescales
from tidegate.errors import (
    RESTORE,
    LeaseHeldError,
    OptionsError,
    RefusedError,
    RunError,
    StoreError,
    TidegateError,
    TrustError,
)
from tidegate.failpoints import hit
from tidegate.spark.errors import explained
from tidegate.spark.launch.own_spark import spark_for
from tidegate.spark.run_options import RunOptions

_TOLD_S: Final = 1.0
"""How often it is told how far Spark is, and looked at the lease, while it moves the state."""

_CANCEL_S: Final = 0.2
"""How often Spark's jobs are cancelled until it has given up."""
_MOVER: Final = "mover.json"
_MOVER_S: Final = 30.0
"""How long the Spark of a rescale that died may take to end: it has nothing to wait for."""


def rescale(checkpoint: Checkpoint, options: RunOptions, clock: Clock, log: Log) -> None:
    """Makes the job of ``checkpoint`` go on with ``options.parallelism`` parallel tasks.

    Once it has them, nothing is done. Raises OptionsError when it can't, for what is asked or for
    where the job stands, LeaseHeldError when a driver holds the checkpoint, TrustError when the
    checkpoint is not whole, RunError when Spark fails.
    """
    manifest = checkpoint.read_job()
    checkpoint.create()  # what a backup may have left out
    lease = Lease(checkpoint.store.below("lease"), clock)
    note = lease.acquire(options.takeover)
    if note:
        log(note)
    try:
        _await_mover(checkpoint, clock, log)
        _rescale(checkpoint, manifest, options, lease, clock, log)
    finally:
        lease.release()


def _rescale(
    checkpoint: Checkpoint,
    manifest: Manifest,
    options: RunOptions,
    lease: Lease,
    clock: Clock,
    log: Log,
) -> None:
    checkpoint.check_spark_log()
    rescales, wanted = Rescales(checkpoint), options.parallelism
    begun, vnodes = rescales.pending, manifest.vnodes
    if begun is None:
        if not 1 <= wanted <= vnodes:
            raise OptionsError(
                f"--parallelism {wanted} does not fit: it is from 1 to {vnodes}, the job's vnodes",
                hint="a task without a vnode would have nothing to do",
            )
        now = rescales.parallelism(manifest.parallelism)
        if now == wanted:
            log(f"the job has {now} parallel tasks already: nothing to do")
            return
        begun = _next(checkpoint, now, wanted, clock)
        lease.check()
        rescales.begin(begun)
    elif begun.before == wanted:
        _undo(checkpoint, rescales, begun)
        log(f"undone: the job goes on with {wanted} parallel tasks")
        return
    elif begun.after != wanted:
        raise OptionsError(
            f"a rescale from {begun.before} parallel tasks to {begun.after} was begun and not"
            " finished",
            hint=f"finish it with --parallelism {begun.after}, or undo it with {begun.before};"
            f" then rescale to {wanted}",
        )
    else:
        log(f"going on with the rescale from {begun.before} to {begun.after} that was begun")
    hit("rescale-recorded", begun.epoch)
    if rescales.pending is not None:
        _enter(checkpoint, begun)
        _move(checkpoint, begun, manifest.job, options, lease, log)
    if vnodes % wanted:
        log(f"{wanted} does not divide the job's {vnodes} vnodes: some tasks have more than others")
    log(f"done: from {begun.before} to {begun.after} parallel tasks, from the next epoch on")


def _next(checkpoint: Checkpoint, now: int, wanted: int, clock: Clock) -> Rescale:
    """The rescale from ``now`` to ``wanted`` tasks. Raises OptionsError where the job must run."""
    planned = checkpoint.planned_epoch()
    if planned == 0:
        raise OptionsError(
            f"the job of the checkpoint {checkpoint.uri} has not run yet: it has no epoch",
            hint=f"begin with --set tidegate.parallelism={wanted} and a new --checkpoint",
        )
    if not checkpoint.is_committed(planned):
        raise OptionsError(
            f"epoch {planned} was begun and not committed: only the job itself can finish it",
            hint="run the job and stop it, or run it with --available-now; then rescale",
        )
    version, settings, *_ = checkpoint.spark_plan(planned)
    if not checkpoint.stages():
        return Rescale(now, wanted, planned, clock.now_us())
    partitions = json.loads(settings)["conf"].get(PARTITIONS)
    if version != b"v1" or partitions != str(now):
        raise TrustError(
            f"{checkpoint.uri}: Spark's log is not that of a job with {now} parallel tasks",
            detail=f"format {version.decode()}, {PARTITIONS} is {partitions}",
            hint=RESTORE,
        )
    last = checkpoint.entry(planned)
    assert last is not None  # `check_spark_log` has seen it
    return Rescale(now, wanted, planned + 1, max(clock.now_us(), last.time_us + 1))


def _enter(checkpoint: Checkpoint, begun: Rescale) -> None:
    """Plans and enters the epoch that moves the state, unless that was done."""
    version, settings, offset, *_ = checkpoint.spark_plan(begun.epoch - 1)
    metadata, last_offset = json.loads(settings), Offset.from_json(json.loads(offset))
    metadata["conf"][PARTITIONS] = str(begun.after)
    document = replace(last_offset, epoch=begun.epoch, time_us=begun.time_us).to_json()
    # As Spark writes an offset of ours: it compares offsets as text.
    lines = [version, json.dumps(metadata).encode(), json.dumps(document).encode()]
    try:
        checkpoint.write_spark_plan(begun.epoch, lines)
    except FileExistsError:
        if checkpoint.spark_plan(begun.epoch) != lines:
            raise LeaseHeldError(f"another driver has planned epoch {begun.epoch}") from None
    hit("rescale-planned", begun.epoch)
    last = checkpoint.entry(begun.epoch - 1)
    if last is None:
        raise TrustError(f"the epoch log has no entry for epoch {begun.epoch - 1}")
    if checkpoint.entry(begun.epoch) is None:
        at_us = begun.time_us
        sinks, work = replace(last.sinks, staged={}), replace(last.work, phases={})
        nothing = replace(last, epoch=begun.epoch, time_us=at_us, ended_us=at_us)
        checkpoint.write_entry(replace(nothing, sinks=sinks, work=work))
    hit("rescale-entered", begun.epoch)


def _undo(checkpoint: Checkpoint, rescales: Rescales, begun: Rescale) -> None:
    """Takes all away that a rescale has written; the record last, so that it can be run again."""
    checkpoint.forget_entry(begun.epoch)
    checkpoint.forget_spark_epoch(begun.epoch, max(begun.before, begun.after))
    rescales.forget_pending()


def _move(
    checkpoint: Checkpoint,
    begun: Rescale,
    name: str,
    options: RunOptions,
    lease: Lease,
    log: Log,
) -> None:
    """Lets Spark move the state and commit the epoch. Raises RunError when it fails."""
    stages = checkpoint.stages()
    log(
        f"moving the state of {stages} stage(s) from {begun.before} to {begun.after} partitions"
        f" in epoch {begun.epoch}"
    )
    with tempfile.TemporaryDirectory(prefix="tidegate-rescale-") as scratch:
        tasks, place = begun.after, Path(scratch)
        with spark_for(name, options, checkpoint, tasks, place, log) as spark:
            log(f"Spark {spark.version} is up: {options.master}")
            _note_mover(checkpoint, _jvm_pid(spark))
            # In a thread of its own: what waits for Java here would be torn apart by a Ctrl-C.
            with ThreadPoolExecutor(1) as pool:
                moving = pool.submit(_repartition, spark, checkpoint.spark, begun.after)
                try:
                    _watch(spark, moving, stages, lease, log)
                    moving.result()
                except (Py4JError, PySparkException) as error:
                    raise _explained(error, begun) from error
                except BaseException:
                    while not wait([moving], _CANCEL_S).done:  # there may be a next job
                        spark.sparkContext.cancelAllJobs()
                    raise
    checkpoint.store.below(FOLDER).delete([_MOVER])
    hit("rescale-moved", begun.epoch)


def _jvm_pid(spark: SparkSession) -> int:
    """The process that will write the state."""
    jvm: Any = spark._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def _note_mover(checkpoint: Checkpoint, pid: int) -> None:
    document = json.dumps(asdict(Holder.of(pid)), sort_keys=True)
    checkpoint.store.below(FOLDER).write(_MOVER, document.encode())


def _await_mover(checkpoint: Checkpoint, clock: Clock, log: Log) -> None:
    """Waits for the end of the Spark of a rescale that died. Raises LeaseHeldError if it stays."""
    store = checkpoint.store.below(FOLDER)
    if not store.exists(_MOVER):
        return
    try:
        mover = Holder(**json.loads(store.read(_MOVER)))
    except (ValueError, TypeError) as error:
        raise TrustError(f"{store.where(_MOVER)} cannot be read: {error}") from error
    until_s = clock.monotonic_s() + _MOVER_S
    logged = False
    while mover.is_here and not mover.is_dead:
        if not logged:
            log(f"waiting for the Spark of a rescale that died: process {mover.pid}")
            logged = True
        if clock.monotonic_s() >= until_s:
            raise LeaseHeldError(
                f"the Spark of a rescale that died still runs: process {mover.pid}",
                hint="end that process, and run this again",
            )
        clock.sleep(0.2)
    store.delete([_MOVER])


def _repartition(spark: SparkSession, location: str, partitions: int) -> None:
    _ = spark.streams  # else the state store's coordinator is missing, which its reader reports to
    spark._streamingCheckpointManager.repartition(location, partitions)


def _watch(spark: SparkSession, moving: Future[None], stages: int, lease: Lease, log: Log) -> None:
    """Says how far Spark is until it is done. Raises LeaseHeldError if another takes the lease."""
    tracker, first, last = spark.sparkContext.statusTracker(), None, ""
    while not wait([moving], _TOLD_S).done:
        with suppress(StoreError):  # a store that is away just now is asked again
            lease.check()
        # Spark moves one stage after the other, each in a job of its own.
        for job in tracker.getActiveJobsIds()[:1]:
            first = job if first is None else first
            infos = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
            done = sum(info.numCompletedTasks for info in infos if info)
            tasks = sum(info.numTasks for info in infos if info)
            line = f"stage {job - first + 1} of {stages}: {done} of {tasks} tasks"
            if tasks and line != last:
                log(line)
                last = line


def _explained(error: Exception, begun: Rescale) -> TidegateError:
    found = explained(str(error))
    if isinstance(found, TrustError | RefusedError):
        return found
    return RunError(
        "Spark could not move the state",
        detail=found.detail,
        hint=f"run it again, with --debug for the whole trace; --parallelism {begun.before} undoes"
        " what was begun",
    )
