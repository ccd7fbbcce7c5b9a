"""The driver of a job: from a plan and a checkpoint to an exit.

It holds the lease, checks that the checkpoint belongs to this job, prepares the outputs, starts
Spark and runs the query.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import tidegate
from tidegate.clock import Clock
from tidegate.connectors.registry import same_table, sink_committer, source_planner
from tidegate.engine.engine import Engine
from tidegate.epochs.about import about
from tidegate.epochs.checkpoint import Checkpoint, Entry
from tidegate.epochs.commit import Committer, is_finished
from tidegate.epochs.job import WireJob
from tidegate.epochs.lease import EXPIRY_S, RENEWAL_S, Lease
from tidegate.epochs.losses import Losses
from tidegate.epochs.offsets import Offset
from tidegate.epochs.outputs import targets
from tidegate.epochs.parallelism import parallelism_of
from tidegate.errors import BindError, OptionsError, RunError, TrustError
from tidegate.executor.exchange.dispatch import hash_probe
from tidegate.plan.fragments import Plan
from tidegate.plan.nodes import Expr, Table, WatermarkFilter, time_zone
from tidegate.ports import SinkCommitter
from tidegate.reports.metrics.exporter import exporting
from tidegate.reports.metrics.health import Health
from tidegate.reports.metrics.job_metrics import JobMetrics
from tidegate.reports.metrics.metrics_file import MetricsFile
from tidegate.spark.kubernetes.reaper import reaper_in
from tidegate.spark.kubernetes.settings import is_kubernetes
from tidegate.spark.launch.gateway import overruled
from tidegate.spark.launch.given import Given
from tidegate.spark.launch.own_spark import spark_for
from tidegate.spark.run_options import RunOptions
from tidegate.spark.runtime import RunState, all_bounded, executors_of, run_query
from tidegate.spark.stop import Stop

Log = Callable[[str], None]
Listener = Callable[[Entry], None]


def run_job(
    plan: Plan,
    options: RunOptions,
    clock: Clock,
    log: Log,
    listener: Listener,
    stop: Stop | None = None,
    given: Given | None = None,
) -> Entry:
    """Runs ``plan`` until it ends, or ``stop`` is requested; gives the last epoch's entry.

    On a Spark of its own, which ends with it, unless one is ``given``.
    """
    directory = options.checkpoint or tempfile.mkdtemp(prefix="tidegate-")
    checkpoint = Checkpoint(directory)
    if options.checkpoint is None:
        log(f"checkpoint: {directory} (temporary; keep one with --checkpoint)")
    checkpoint.create()
    lease = Lease(checkpoint.store.below("lease"), clock)
    # A pod that is started in place of one on a dead node comes before that one's lease is over.
    patience_s = EXPIRY_S + RENEWAL_S if is_kubernetes(options.master) else 0.0
    note = lease.acquire(options.takeover, patience_s)
    if note:
        log(note)
    try:
        with tempfile.TemporaryDirectory(prefix="tidegate-run-") as scratch:
            return _run(
                plan, options, checkpoint, lease, clock, log, listener, stop or Stop(),
                Path(scratch), given,
            )  # fmt: skip
    finally:
        lease.release()


def _run(
    plan: Plan,
    options: RunOptions,
    checkpoint: Checkpoint,
    lease: Lease,
    clock: Clock,
    log: Log,
    listener: Listener,
    stop: Stop,
    scratch: Path,
    given: Given | None,
) -> Entry:
    committers = _committers(plan, checkpoint)
    fresh = not checkpoint.exists
    if fresh:
        _list_sources(plan, options, begun=False)
    manifest = _open_manifest(plan, options, checkpoint, committers)
    checkpoint.check_spark_log()
    committer = Committer(plan, checkpoint, lease, committers, clock)
    last = committer.recover()
    if last.epoch and is_finished(plan, last) and checkpoint.is_committed(last.epoch):
        _say_finished(plan, checkpoint, last, log)
        return last
    if not fresh:
        _list_sources(plan, options, begun=last.epoch > 0)
    master = options.master if given is None else None
    _say_overruled(options, manifest["parallelism"], master, log)
    fenced = committer.fence(manifest["parallelism"])
    job = _wire_job(plan, options, checkpoint, manifest, fenced, scratch)
    starts = [] if given is None else [given.started]
    state = RunState(Health(clock), last=last, starts=starts)
    metrics = JobMetrics(plan, state.profile, clock, last)
    file = MetricsFile(metrics, checkpoint.store, clock)
    heard = (state.profile, metrics, file, Losses(last, log))
    state.listeners += [*(each.on_epoch for each in heard), listener]
    state.ticks.append(file.on_tick)
    with exporting(options.metrics, metrics, state.health) as port:
        if options.metrics is not None:
            log(f"metrics: http://{options.metrics.host or '0.0.0.0'}:{port}/metrics")
        name, tasks = plan.job.name, job.parallelism
        with (
            spark_for(name, options, checkpoint, tasks, scratch, log)
            if given is None
            else nullcontext(given.session(tasks, checkpoint.store, dict(options.spark)))
        ) as spark:
            if stop.requested:
                return last
            stop.reinstall()  # PySpark has taken SIGINT
            log(f"Spark {spark.version} is up: {options.master}, {tasks} parallel tasks")
            if options.metrics is not None:
                state.ticks.append(lambda: metrics.set_executors(executors_of(spark)))
            if given is None and is_kubernetes(options.master):
                places = os.environ["POD_NAMESPACE"], os.environ["POD_NAME"]
                reaper = reaper_in(*places, spark.sparkContext.applicationId, clock, log)
                state.ticks.append(reaper.on_tick)
            try:
                run_query(spark, job, committer, state, options.interval_s, stop, log)
            finally:
                file.flush()
            committer.tidy()
    assert state.last is not None
    if all_bounded(plan) and not stop.requested and not is_finished(plan, state.last):
        raise RunError(
            "the job ended before all of its tables were read to their ends",
            hint="run it again: it goes on from the checkpoint",
        )
    return state.last


def _say_overruled(options: RunOptions, parallelism: int, master: str | None, log: Log) -> None:
    """What was asked for and is not done. ``parallelism`` is the checkpoint's."""
    if parallelism != options.parallelism:
        log(
            f"running {parallelism} parallel tasks, as the checkpoint has it, though"
            f" tidegate.parallelism is {options.parallelism} (tidegate rescale changes it)"
        )
    for line in overruled(options.spark, parallelism, master):
        log(line)


def _wire_job(
    plan: Plan,
    options: RunOptions,
    checkpoint: Checkpoint,
    manifest: Mapping[str, Any],
    fenced: Mapping[int, Mapping[str, str]],
    scratch: Path,
) -> WireJob:
    remembered = {int(t): {**k, **fenced.get(int(t), {})} for t, k in manifest["sinks"].items()}
    return WireJob(
        plan,
        checkpoint.uri,
        options.rows_max,
        manifest["parallelism"],
        options.available_now,
        manifest["time_zone"],
        tuple((target, tuple(sorted(kept.items()))) for target, kept in remembered.items()),
        options.bytes_max,
        options.duration_us,
        str(scratch / "stop"),
    )


def _list_sources(plan: Plan, options: RunOptions, *, begun: bool) -> None:
    """Looks at every source once, so that a missing path is told at once, with its place."""
    places = dict(plan.job.places)
    for table in plan.tables:
        try:
            source_planner(table, options.available_now).splits(begun=begun)
        except OptionsError as error:
            place = places.get(table.name)
            raise BindError(error.message, place, detail=error.detail, hint=error.hint) from None


def _committers(plan: Plan, checkpoint: Checkpoint) -> dict[int, SinkCommitter]:
    tables = targets(plan.job, checkpoint)
    return {t: sink_committer(table, checkpoint.staging(t)) for t, table in tables.items()}


def _open_manifest(
    plan: Plan,
    options: RunOptions,
    checkpoint: Checkpoint,
    committers: Mapping[int, SinkCommitter],
) -> dict[str, Any]:
    """job.json: written by the first run, checked by all others."""
    fresh = not checkpoint.exists
    identity: dict[str, Any] = {
        "fingerprint": fingerprint(plan),
        "vnodes": plan.vnodes,
        "pushdown": _pushed_down(plan),
        "time_zone": time_zone(plan.job),
        "hash": hash_probe(Engine()),
    }
    if fresh:
        if checkpoint.last_epoch():
            raise TrustError(f"{checkpoint.uri} has epochs but no job.json")
        manifest: dict[str, Any] = {
            **identity,
            "job": plan.job.name,
            "about": about(plan),
            "tidegate": tidegate.__version__,
            "parallelism": options.parallelism,
            "sinks": {str(t): committer.prepare(True) for t, committer in committers.items()},
        }
        checkpoint.write_job(manifest)
    else:
        manifest = checkpoint.read_job()
        if not manifest.keys() >= {*identity, "parallelism", "sinks"}:
            raise TrustError(f"{checkpoint.store.where('job.json')} does not describe a job")
        if manifest.get("fingerprint") != identity["fingerprint"]:
            raise OptionsError(
                f"the checkpoint {checkpoint.uri} belongs to another job",
                detail=f"it was made by '{manifest.get('job')}'; tables or queries differ",
                hint="give this job a checkpoint of its own, or run the SQL that made this one; if"
                " it has relative paths, in the directory in which it was run",
            )
        _check_fixed(manifest, identity)
        manifest["parallelism"] = parallelism_of(checkpoint, manifest["parallelism"])
        if manifest.get("hash") != identity["hash"]:
            raise TrustError(
                "this release spreads keys over vnodes in another way than the checkpoint's",
                hint=f"run with tidegate {manifest.get('tidegate')}, which made the checkpoint",
            )
        for committer in committers.values():  # not before it is known whose checkpoint this is
            committer.prepare(False)
    for target, committer in committers.items():
        committer.bind(manifest["sinks"][str(target)])
    return manifest


_FIXED = {
    "vnodes": "tidegate.vnodes",
    "pushdown": "tidegate.watermark.pushdown",
    "time_zone": "table.local-time-zone",
}
"""What of the manifest a setting says, and state or results depend on."""


def _check_fixed(manifest: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    for name, setting in _FIXED.items():
        before, now = (json.dumps(document[name]) for document in (manifest, identity))
        if before != now:
            raise OptionsError(
                f"{setting} is {now}, but the checkpoint began with {before}, and keeps to it",
                hint=f"run with --set {setting}={before}, or give a new --checkpoint",
            )


def _pushed_down(plan: Plan) -> bool:
    """Whether the watermark filters run in the readers (`tidegate.watermark.pushdown`)."""
    return not any(
        isinstance(node, WatermarkFilter)
        for fragment in plan.fragments
        if fragment.table is None
        for node in fragment.nodes
    )


def fingerprint(plan: Plan) -> str:
    """What a checkpoint's job is: its sinks' plans, whatever settings it is run with."""
    job = plan.job
    further = [part for part in (job.ledger, job.functions) if part]
    written = [job.sinks, *further] if further else job.sinks
    document = json.dumps(_canonical(written), sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    if isinstance(value, Expr):  # how it was written, or is explained, makes no other job
        return {"": "Expr", "sql": value.sql, "type": value.type}
    if isinstance(value, Table):
        value = same_table(value)
    if is_dataclass(value):
        content = {f.name: _canonical(getattr(value, f.name)) for f in fields(value)}
        return {"": type(value).__name__, **content}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [_canonical(item) for item in value]
    return value


def _say_finished(plan: Plan, checkpoint: Checkpoint, last: Entry, log: Log) -> None:
    offset = Offset.from_json(json.loads(checkpoint.spark_offset(last.epoch)))
    log(f"the job has finished: {checkpoint.uri} is at the end of all its tables")
    for table in plan.tables:
        try:
            unread = source_planner(table, True).unread(offset.positions(table.name))
        except OptionsError as error:  # the input may be gone: all of it was read
            log(f"{table.name}: {error.message}")
            continue
        for name in unread:
            log(f"{table.name}: {name} appeared since and is not read")
