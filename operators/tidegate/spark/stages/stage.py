"""A stateful stage: the fragments of one depth, on Spark's transformWithState.

Spark groups the messages by route, which is a vnode, and calls `run_route` (by `processor`) once
for each in every epoch. Messages for deeper fragments, sinks, ledger and driver pass unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pyspark import TaskContext
from pyspark.sql import Row as SparkRow

from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.job import WireJob, decode_job, worker_engine
from tidegate.epochs.state_versions import check_version
from tidegate.epochs.task_reports import ActorReport, StateSize, StateVersion
from tidegate.epochs.worker import report_of
from tidegate.errors import InvariantError
from tidegate.executor.actor import Actor
from tidegate.phases import PHASES
from tidegate.plan.fragments import Fragment
from tidegate.plan.places import named_by_place
from tidegate.spark.exchange.outbox import Outbox
from tidegate.spark.exchange.routes import routes
from tidegate.spark.exchange.wire import AlignedBarrier, Kind, Row, decode, port_of
from tidegate.spark.stages.run_cache import run_cache
from tidegate.spark.stages.state import Map, Value, VnodeState
from tidegate.state import Run
from tidegate.types import Barrier

BUCKETS_TOLD: Final = 256
"""So many are named; of more, the driver counts those of the vnode that has most."""


def run_route(
    job_text: str, depth: int, route: int, rows: Iterable[Any], index: Value, runs: Map
) -> Iterator[Any]:
    """One epoch of the actors of ``depth`` on the vnode of ``route``; ``index`` and ``runs`` are
    its state."""
    job = decode_job(job_text)
    inbox: dict[tuple[int, int], list[Row]] = {}
    for spark_row in rows:
        row = _from_spark(spark_row)
        if row.fragment >= 0 and job.plan.fragments[row.fragment].depth == depth:
            inbox.setdefault((row.fragment, row.vnode), []).append(row)
        else:
            yield spark_row
    if not inbox:
        return
    with PHASES.phase("state"):
        state = _state_of(job, depth, routes(job.plan.vnodes).index(route), index, runs)
    reports: list[tuple[Outbox, ActorReport]] = []
    try:
        for (fragment, vnode), received in sorted(inbox.items()):
            received.sort(key=lambda row: (row.upstream, row.seq))
            run = _run_actor(job, job.plan.fragments[fragment], vnode, received, state, reports)
            yield from map(_to_spark, run)
    except Exception:
        _check_version(job, inbox, state.version)  # what fails on other state is no cause
        raise
    state.save(reports[0][1].epoch)
    for outbox, report in reports:  # behind all work, whose time they tell
        whole = replace(report, version=state.version, phases=PHASES.take())
        yield _to_spark(outbox.report(whole))


def _state_of(job: WireJob, depth: int, vnode: int, index: Value, runs: Map) -> VnodeState:
    context = TaskContext.get()
    operator = job.plan.depth - depth  # Spark numbers them from the last stage on
    place = f"spark/state/{operator}/{context.partitionId() if context else 0}"
    named = partial(named_by_place, job.plan)
    return VnodeState(index, runs, depth, vnode, place, named, run_cache(job))


def _check_version(
    job: WireJob, inbox: Mapping[tuple[int, int], list[Row]], found: StateVersion
) -> None:
    """Raises TrustError when the epoch has begun with other state than the one before had left."""
    (fragment, _), received = next(iter(inbox.items()))
    barrier, _ = _barriers(job.plan.fragments[fragment], received)
    before = Checkpoint(job.checkpoint).entry(barrier.epoch - 1)
    if before is not None:
        check_version(before, found)


def _run_actor(
    job: WireJob,
    fragment: Fragment,
    vnode: int,
    received: list[Row],
    state: VnodeState,
    reports: list[tuple[Outbox, ActorReport]],
) -> Iterator[Row]:
    """One epoch of one actor; its input is whole, its output is sent as it comes.

    What it reports, but for the time, is added to ``reports``.
    """
    engine = worker_engine(job)
    barrier, peers = _barriers(fragment, received)
    engine.set_epoch_time(barrier.time_us)
    # The actor of a gathered fragment is one, whatever vnode its state is kept on.
    instance = vnode if fragment.instances > 1 else 0
    actor = Actor(fragment, job.plan.vnodes, engine, state.table, instance)
    outbox = Outbox(job.plan, fragment, instance, range(fragment.instances))
    for port, instances in peers.items():
        actor.open_upstreams(port, [str(instance) for instance in instances])
    actor.begin_epoch(barrier.time_us)
    done = False
    for row in received:
        port, upstream = port_of(row.upstream)
        with PHASES.phase("deserialise"):
            message = decode(row.kind, row.body)
        if isinstance(message, AlignedBarrier):
            message = message.barrier
        for emission in actor.on_message(port, str(upstream), message):
            done = done or isinstance(emission.message, Barrier)
            yield from outbox.send(emission)
    if not done:
        raise InvariantError(
            f"fragment {fragment.id}, vnode {vnode}: epoch {barrier.epoch} ended without barrier",
            detail=f"{len(received)} messages from {sorted(peers)}",
        )
    sizes = _state_sizes(fragment, state.kept("op."))
    reports.append((outbox, report_of(actor, barrier.epoch, sizes)))


def _state_sizes(
    fragment: Fragment, kept: Mapping[str, Sequence[tuple[int, Run]]]
) -> dict[str, StateSize]:
    """What the actor's operators keep, by the operator's name. A join has a table for each side.

    ``kept`` are the runs of all fragments on the vnode, by their tables' names behind ``op.``.
    """
    found: dict[str, list[tuple[int, Run]]] = {}
    for name, runs in kept.items():
        operator, number, *_ = name.split(".")
        if f"op.{operator}.{number}" in fragment.names:
            found.setdefault(operator, []).extend(runs)
    return {name: _state_size(runs) for name, runs in found.items()}


def _state_size(kept: Sequence[tuple[int, Run]]) -> StateSize:
    buckets, runs = sorted({bucket for bucket, _ in kept}), [run for _, run in kept]
    rows, size = sum(run.rows for run in runs), sum(run.bytes for run in runs)
    return StateSize(rows, size, len(runs), len(buckets), tuple(buckets[:BUCKETS_TOLD]))


def _barriers(
    fragment: Fragment, received: list[Row]
) -> tuple[Barrier, dict[int, tuple[int, ...]]]:
    """The epoch's barrier, and who sends one on each port."""
    found: Barrier | None = None
    peers: dict[int, tuple[int, ...]] = {}
    for row in received:
        if row.kind is Kind.BARRIER:
            message = decode(row.kind, row.body)
            assert isinstance(message, AlignedBarrier)
            if found not in (None, message.barrier):
                raise InvariantError(f"fragment {fragment.id}: barriers of two epochs in one")
            found = message.barrier
            peers[port_of(row.upstream)[0]] = message.peers
    if found is None or len(peers) != len(fragment.inputs):
        raise InvariantError(f"fragment {fragment.id}: no barrier on some input")
    return found, peers


def _from_spark(row: Any) -> Row:
    found = Row(*(row[name] for name in Row._fields))
    return found._replace(kind=Kind(found.kind), body=bytes(found.body))


def _to_spark(row: Row) -> Any:
    return SparkRow(**{**row._asdict(), "kind": int(row.kind)})
