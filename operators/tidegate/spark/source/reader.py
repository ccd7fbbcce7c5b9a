"""A reader task: the source fragments of some splits, for one epoch, in one worker."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict

from tidegate.connectors.registry import offset_at, source_reader
from tidegate.engine.engine import Engine
from tidegate.epochs.job import WireJob, worker_engine
from tidegate.epochs.ledger_share import LedgerShare
from tidegate.epochs.outputs import staging_writer
from tidegate.epochs.planner import FragmentTask, ReaderTask
from tidegate.epochs.targets import TO_LEDGER
from tidegate.executor.actor import NO_SPLIT, Actor, Emission
from tidegate.phases import PHASES
from tidegate.ports import SplitRange
from tidegate.spark.exchange.outbox import Outbox
from tidegate.spark.exchange.wire import Row
from tidegate.spark.launch.heap import HEAP
from tidegate.state import MemoryStateTable, StateTable
from tidegate.types import RECORD, Barrier, Rejected, SplitStatus, Status


def run_reader_task(job: WireJob, task: ReaderTask) -> Iterator[Row]:
    """Reads the task's splits through their fragments; gives all that goes on from there."""
    PHASES.start()
    HEAP.on_task()
    engine = worker_engine(job)
    engine.set_epoch_time(task.time_us)
    share = _ledger_share(job, task)
    try:
        for place, work in enumerate(task.fragments, start=1):
            ended = share if place == len(task.fragments) else None
            yield from _run_fragment(job, task, work, engine, share, ended)
    except BaseException:
        if share is not None:
            share.abort()
        raise


def _ledger_share(job: WireJob, task: ReaderTask) -> LedgerShare | None:
    """None where all rows for the ledger go to the writers, which copy them into a table."""
    if job.plan.job.ledger is not None:
        return None
    return LedgerShare(lambda: staging_writer(job, TO_LEDGER, task.epoch, str(task.index)))


def _run_fragment(
    job: WireJob,
    task: ReaderTask,
    work: FragmentTask,
    engine: Engine,
    share: LedgerShare | None,
    ended: LedgerShare | None,
) -> Iterator[Row]:
    """One fragment of the task. ``ended`` is the share if this is the last that adds to it."""
    fragment = job.plan.fragments[work.fragment]
    table = fragment.table
    assert table is not None
    states = _restored(work)
    actor = Actor(fragment, job.plan.vnodes, engine, states.table, instance=task.index)
    outbox = Outbox(job.plan, fragment, task.index, work.peers)

    def sent(emissions: Iterable[Emission]) -> Iterator[Row]:
        for emission in emissions:
            if share is not None and isinstance(emission.message, Rejected):
                share.add(emission.message)
            else:
                yield from outbox.send(emission)

    splits = [split for split in work.splits if split.split != NO_SPLIT]
    actor.open_splits([split.split for split in splits], task.time_us)
    for split in splits:
        if split.floors:
            actor.take_over(split.split, split.floors)
            status = SplitStatus(Status.ACTIVE, split.split, tuple(split.floors.items()))
            yield from sent(actor.announce(status))
    reader = source_reader(table, engine)
    ranges = [
        SplitRange(split.split, split.start, split.end, split.first_offset)
        for split in splits
        if split.start != split.end
    ]
    next_offsets = {split.split: split.first_offset for split in splits}
    read_bytes: dict[str, int] = {}
    for split_name, chunk in PHASES.timed("read", reader.read(ranges)):
        next_offsets[split_name] = chunk.next_offset
        size = chunk.data[RECORD].nbytes + chunk.malformed["record"].nbytes
        read_bytes[split_name] = read_bytes.get(split_name, 0) + size
        yield from sent(actor.on_source(split_name, chunk))
    for wanted in ranges:
        # Offsets may have gaps: the epoch's end lies behind its last row then.
        at = offset_at(table, wanted.end)
        if at is not None:
            next_offsets[wanted.split] = at
    barrier = Barrier(task.epoch, task.time_us)
    yield from sent(actor.close_splits({s.split: s.status for s in work.splits}, barrier))
    few = ended.close() if ended is not None else None
    if few is not None:
        yield from outbox.send(Emission(None, None, few))
    yield outbox.report(
        {
            "type": "source",
            "epoch": task.epoch,
            "time_us": task.time_us,
            "table": table.name,
            "next_offsets": next_offsets,
            "statuses": {split.split: int(split.status) for split in splits},
            "splits": [asdict(report) for report in actor.reports()],
            "bytes": read_bytes,
            "ends": {s.split: s.known_end for s in splits if s.known_end is not None},
            "lost": reader.take_lost(),
            **(ended.report() if ended is not None else {}),
            "phases": PHASES.take(),
        }
    )


class _restored:  # noqa: N801  # a small callable, not a concept
    """State tables of filters, filled from the epoch log (watermark push-down)."""

    def __init__(self, work: FragmentTask) -> None:
        self._tables: dict[str, MemoryStateTable] = {}
        for split in work.splits:
            for filter_id, state in split.filters.items():
                encoded = json.dumps(state).encode()
                self._table(filter_id).put(f"filter:{split.split}", encoded)

    def _table(self, name: str) -> MemoryStateTable:
        return self._tables.setdefault(name, MemoryStateTable())

    def table(self, name: str) -> StateTable:
        return self._table(name)
