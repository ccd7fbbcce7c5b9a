"""A reader task: the source fragments of some splits, for one epoch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial

from tidegate.careful import CAREFUL
from tidegate.connectors.registry import connector_of
from tidegate.epochs.ledger_share import LedgerShare
from tidegate.epochs.planner import FragmentTask, ReaderTask
from tidegate.epochs.targets import TO_LEDGER
from tidegate.epochs.task_reports import SourceReport
from tidegate.epochs.worker import Worker
from tidegate.executor.actor import NO_SPLIT, Actor, Emission
from tidegate.executor.watermarks.saved import save
from tidegate.phases import PHASES
from tidegate.plan.tables import Table
from tidegate.ports import SourceChunk
from tidegate.state import MemoryStateTable, StateTable
from tidegate.types import RECORD, Barrier, Rejected, SplitStatus, Status


def read_task(worker: Worker, task: ReaderTask) -> Generator[tuple[int, Emission | SourceReport]]:
    """Reads the task's splits through their fragments: all that each of them, by its number, sends
    on from there, and behind that its report."""
    worker.engine.set_epoch_time(task.time_us)
    with CAREFUL.during(task.is_careful):
        yield from _read_fragments(worker, task)


def _read_fragments(
    worker: Worker, task: ReaderTask
) -> Iterator[tuple[int, Emission | SourceReport]]:
    share = None
    if worker.job.plan.job.ledger is None:  # else writers copy all rows for the ledger into a table
        share = LedgerShare(lambda: worker.writer_of(TO_LEDGER, task.epoch, str(task.index), 0))
    try:
        for work in task.fragments:
            is_last = work is task.fragments[-1]
            for sent in _read_fragment(worker, task, work, share, is_last=is_last):
                yield work.fragment, sent
    except BaseException:
        if share is not None:
            share.abort()
        raise


def _read_fragment(
    worker: Worker,
    task: ReaderTask,
    work: FragmentTask,
    share: LedgerShare | None,
    *,
    is_last: bool,
) -> Iterator[Emission | SourceReport]:
    """``is_last``: nothing is added to ``share`` after this fragment."""
    plan = worker.job.plan
    fragment = plan.fragments[work.fragment]
    table = fragment.table
    assert table is not None
    state = _restored(work)
    actor = Actor(fragment, plan.vnodes, worker.engine, state, task.index, worker.checks)
    splits = [split for split in work.splits if split.split != NO_SPLIT]
    actor.open_splits([split.split for split in splits], task.time_us)
    for split in splits:
        if split.floors:
            actor.take_over(split.split, dict(split.floors))
            status = SplitStatus(Status.ACTIVE, split.split, tuple(split.floors.items()))
            yield from actor.announce(status)
    reader = worker.reader_of(table, worker.engine)
    ranges = [split for split in splits if split.start != split.end]
    next_offsets = {split.split: split.first_offset for split in splits}
    read_bytes: dict[str, int] = {}
    absent = _from_records(table)
    for split_name, chunk in PHASES.timed("read", reader.read(ranges)):
        next_offsets[split_name] = chunk.next_offset
        size = chunk.data[RECORD].nbytes + chunk.malformed["record"].nbytes
        read_bytes[split_name] = read_bytes.get(split_name, 0) + size
        if absent and (count := chunk.data.num_rows):
            absent = [name for name in absent if chunk.data[name].null_count == count]
        run = partial(_run, actor, split_name)
        for part, kills in CAREFUL.parts(chunk, run):
            if kills:
                CAREFUL.remember(part.data[RECORD][0].as_py())
            rows = part.refused() if kills else part
            yield from _shared(actor.on_source(split_name, rows), share)
    for wanted in ranges:
        # Offsets may have gaps: the epoch's end lies behind its last row then.
        at = connector_of(table).offset_at(wanted.end)
        if at is not None:
            next_offsets[wanted.split] = at
    statuses = {split.split: split.status for split in work.splits}
    ended = actor.close_splits(statuses, Barrier(task.epoch, task.time_us))
    yield from _shared(ended, share)
    few = share.close() if share is not None and is_last else None
    if few is not None:
        yield Emission(None, None, few)
    staged = share.staged if share is not None and is_last else ()
    yield SourceReport(
        epoch=task.epoch,
        time_us=task.time_us,
        fragment=fragment.id,
        table=table.name,
        next_offsets=next_offsets,
        statuses={split.split: split.status for split in splits},
        splits=tuple(actor.reports()),
        bytes=read_bytes,
        ends={s.split: s.known_end for s in splits if s.known_end is not None},
        lost={split: tuple(ranges) for split, ranges in reader.take_lost().items()},
        absent=tuple(absent),
        staged={TO_LEDGER: staged} if staged else {},
        rejected=share.rejected if share is not None and is_last else {},
        phases=PHASES.take(),
    )


def _from_records(table: Table) -> list[str]:
    """The columns that a record's value may have."""
    others = {*dict(table.metadata), *connector_of(table).columns_of_key_alone(table)}
    return [column.name for column in table.columns if column.name not in others]


def _run(actor: Actor, split: str, chunk: SourceChunk) -> None:
    """Runs rows for nobody."""
    for _ in actor.on_source(split, chunk):
        pass


def _shared(emissions: Iterable[Emission], share: LedgerShare | None) -> Iterator[Emission]:
    """Those of ``emissions`` that ``share`` does not take."""
    for emission in emissions:
        if share is not None and isinstance(emission.message, Rejected):
            share.add(emission.message)
        else:
            yield emission


def _restored(work: FragmentTask) -> Callable[[str], StateTable]:
    """State tables of filters, filled from the epoch log (watermark push-down)."""
    tables = defaultdict[str, MemoryStateTable](MemoryStateTable)
    for split in work.splits:
        for filter_id, state in split.filters.items():
            save(tables[filter_id], split.split, state)
    return tables.__getitem__
