"""A process that runs tasks of a job, whoever carries what they send."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from tidegate.connectors.registry import connector_of
from tidegate.engine.engine import Engine
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.job import WireJob, worker_engine
from tidegate.epochs.ledger import targets
from tidegate.epochs.task_reports import ActorReport, StateSize
from tidegate.executor.actor import Actor
from tidegate.plan.tables import Table
from tidegate.ports import SinkWriter, SourceReader, Stage

ReaderOf: TypeAlias = Callable[[Table, Engine], SourceReader]
WriterOf: TypeAlias = Callable[[int, int, str, int], SinkWriter]
"""Who stages rows: of a target, in an epoch, as a task, and the last epoch it is known to have
written (see `tidegate.ports.Stage`)."""


@dataclass(frozen=True, slots=True)
class Worker:
    """``checks``: every operator is checked while it runs (see `tidegate.executor.checked`).

    Not every task asks for the ``engine``, which takes a moment to make.
    """

    job: WireJob
    engine_of: Callable[[], Engine]
    reader_of: ReaderOf
    writer_of: WriterOf
    checks: bool = False

    @property
    def engine(self) -> Engine:
        return self.engine_of()

    @classmethod
    def of(cls, job: WireJob) -> Worker:
        """One that reads and writes what the job's tables say."""
        engine_of = partial(worker_engine, job)
        return cls(job, engine_of, connector_reader, partial(staging_writer, job))


def connector_reader(table: Table, engine: Engine) -> SourceReader:
    """The reader of a table's connector."""
    return connector_of(table).reader(table, engine)


def staging_writer(
    job: WireJob, target: int, epoch: int, writer: str, known: int = 0
) -> SinkWriter:
    """What stages rows of ``epoch`` for a target, as the task ``writer`` (see `Stage`)."""
    checkpoint = Checkpoint(job.checkpoint)
    table = targets(job.plan.job, checkpoint)[target]
    remembered = dict(job.remembered).get(target, ())
    stage = Stage(checkpoint.staging(target), epoch, writer, remembered, known)
    return connector_of(table).writer(table, stage)


def report_of(
    actor: Actor, epoch: int, state: Mapping[str, StateSize] | None = None
) -> ActorReport:
    """What an actor behind an exchange says at the end of an epoch; ``state`` is what it keeps."""
    return ActorReport(
        epoch=epoch,
        fragment=actor.fragment.id,
        depth=actor.fragment.depth,
        watermarks=actor.merged_watermarks(),
        state=state or {},
        splits=tuple(actor.reports()),
    )
