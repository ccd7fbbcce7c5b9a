"""What an epoch writes: the tables of its targets, and who stages rows for them in a task."""

from __future__ import annotations

from tidegate.connectors.registry import connector_of
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.job import WireJob
from tidegate.epochs.ledger import ledger_table
from tidegate.epochs.targets import TO_LEDGER, sink_tables
from tidegate.plan.nodes import Job, Table
from tidegate.ports import SinkWriter, Stage


def targets(job: Job, checkpoint: Checkpoint) -> dict[int, Table]:
    """All that a job writes: its tables, and the ledger."""
    return {**sink_tables(job), TO_LEDGER: ledger_table(checkpoint)}


def staging_writer(
    job: WireJob, target: int, epoch: int, writer: str, known: int = 0
) -> SinkWriter:
    """What stages rows of ``epoch`` for a target, as the task ``writer`` (see `Stage`)."""
    checkpoint = Checkpoint(job.checkpoint)
    table = targets(job.plan.job, checkpoint)[target]
    remembered = dict(job.remembered).get(target, ())
    stage = Stage(checkpoint.staging(target), epoch, writer, remembered, known)
    return connector_of(table).writer(table, stage)
