"""A writer task: the end of an epoch, rows staged for sinks and ledger (see `ports.SinkWriter`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from tidegate.epochs.rejections import Rejections, rejections_of
from tidegate.epochs.sums import summed
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.epochs.task_reports import WriterReport
from tidegate.epochs.worker import Worker
from tidegate.events import EVENTS
from tidegate.phases import PHASES
from tidegate.plan.nodes import quoted
from tidegate.ports import SinkWriter, StagedFile


def write_task(
    worker: Worker,
    epoch: int,
    name: str,
    chunks: Iterable[tuple[int, pa.Table]],
    written: Mapping[int, Mapping[str, int]],
) -> WriterReport:
    """Stages ``chunks``, rows of a target each, in their order.

    ``name`` is the task's number among those of the epoch; ``written``: see `Committer.begin`.
    """
    writers: dict[int, SinkWriter] = {}

    def writer_of(target: int) -> SinkWriter:
        if target not in writers:
            known = written.get(target, {}).get(name, 0)
            writers[target] = worker.writer_of(target, epoch, name, known)
        return writers[target]

    job = worker.job.plan.job
    copy, to_copy = job.ledger, TO_SINK - len(job.sinks)
    rejected: list[Rejections] = []
    staged: dict[int, tuple[StagedFile, ...]] = {}
    try:
        for target, data in chunks:
            with PHASES.phase("sink"):
                writer_of(target).write(data)
            if target == TO_LEDGER:
                rejected.append(rejections_of(data))
            if target == TO_LEDGER and copy is not None:
                values = [f"{value} AS {quoted(column)}" for column, value in copy.columns]
                sql = f"SELECT {', '.join(values)} FROM rejected"
                writer_of(to_copy).write(worker.engine.query(sql, {"rejected": data}))
        for target, sink in sorted(writers.items()):
            with PHASES.phase("sink"):
                files = tuple(sink.close())
            if files:
                staged[target] = files
    except BaseException:
        for sink in writers.values():
            sink.abort()
        raise
    return WriterReport(
        epoch=epoch,
        staged=staged,
        rejected=summed(rejected),
        events=EVENTS.take(),
        phases=PHASES.take(),
    )
