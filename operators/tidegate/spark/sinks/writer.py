"""The end of an epoch in a task: rows for sinks and ledger are staged, the driver is told.

What comes out of a task is small: one row for each report, and one for each staged file. The rows
of one sink are written in the order of (upstream, seq), which for a sorted sink is row order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple

import pyarrow as pa
from pyspark import TaskContext

from tidegate.connectors.base import SinkWriter
from tidegate.connectors.registry import Stage, sink_writer
from tidegate.events import EVENTS
from tidegate.phases import PHASES
from tidegate.plan.nodes import Job, Table, quoted
from tidegate.spark.checkpoint.checkpoint import Checkpoint
from tidegate.spark.errors import carried
from tidegate.spark.exchange.wire import TO_DRIVER, TO_LEDGER, TO_SINK, Kind, decode_chunk
from tidegate.spark.launch.heap import HEAP
from tidegate.spark.ledger.ledger import ledger_table
from tidegate.spark.ledger.rejections import Rejections, count_rejected
from tidegate.spark.metrics.memory import resident_bytes
from tidegate.spark.wirejob import WireJob, decode_job, worker_engine

WRITER_SCHEMA = "kind string, body binary"
_ARROW = pa.schema([("kind", pa.string()), ("body", pa.binary())])


def writer(
    job_text: str, epoch: int, written: Mapping[int, Mapping[str, int]] | None = None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for ``mapInArrow``. ``written``: see `Committer.begin`."""

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            yield from _write(job_text, epoch, batches, written or {})

    return write


def sink_tables(job: Job) -> dict[int, Table]:
    """The tables that a job writes, by the number that stands for them on the wire.

    The ledger's copy, if there is one, comes behind the sinks.
    """
    tables = [sink.table for sink in job.sinks] + ([job.ledger.table] if job.ledger else [])
    return {TO_SINK - index: table for index, table in enumerate(tables)}


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
    return sink_writer(table, Stage(checkpoint.staging(target), epoch, writer, remembered, known))


def _write(
    job_text: str,
    epoch: int,
    batches: Iterable[pa.RecordBatch],
    written: Mapping[int, Mapping[str, int]],
) -> Iterator[pa.RecordBatch]:
    PHASES.start()
    HEAP.on_task()
    job = decode_job(job_text)
    writers: dict[int, SinkWriter] = {}
    context = TaskContext.get()
    name = str(context.partitionId() if context is not None else 0)

    def writer_of(target: int) -> SinkWriter:
        if target not in writers:
            known = written.get(target, {}).get(name, 0)
            writers[target] = staging_writer(job, target, epoch, name, known)
        return writers[target]

    copy, to_copy = job.plan.job.ledger, TO_SINK - len(job.plan.job.sinks)
    results: list[tuple[str, bytes]] = []
    rejected: Rejections = {}
    try:
        for target, body in _in_order(batches, results):
            with PHASES.phase("deserialise"):
                data = decode_chunk(body).data
            with PHASES.phase("sink"):
                writer_of(target).write(data)
            if target == TO_LEDGER:
                count_rejected(rejected, data)
            if target == TO_LEDGER and copy is not None:
                values = [f"{value} AS {quoted(column)}" for column, value in copy.columns]
                sql = f"SELECT {', '.join(values)} FROM rejected"
                engine = worker_engine(job)
                writer_of(to_copy).write(engine.query(sql, {"rejected": data}))
        for target, sink in sorted(writers.items()):
            with PHASES.phase("sink"):
                closed = sink.close()
            for staged in closed:
                results.append((f"staged:{target}", json.dumps(astuple(staged)).encode()))
    except BaseException:
        for sink in writers.values():
            sink.abort()
        raise
    report = {
        "type": "writer",
        "epoch": epoch,
        "phases": PHASES.take(),
        "rejected": rejected,
        "events": EVENTS.take(),
        "memory": resident_bytes(),
    }
    results.append(("report", json.dumps(report).encode()))
    columns = list(zip(*results, strict=True))
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _ARROW, strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def _in_order(
    batches: Iterable[pa.RecordBatch], results: list[tuple[str, bytes]]
) -> Iterator[tuple[int, bytes]]:
    """Chunks for sinks in the order of (fragment, upstream, seq); reports go to ``results``."""
    chunks: list[tuple[int, int, int, bytes]] = []
    for batch in PHASES.timed("wait", batches):
        columns = [batch.column(n).to_pylist() for n in ("fragment", "upstream", "seq", "kind")]
        bodies = batch.column("body")
        for index, (fragment, upstream, seq, kind) in enumerate(zip(*columns, strict=True)):
            body = bodies[index].as_py()
            if fragment == TO_DRIVER:
                results.append(("report", body))
            else:
                assert kind == Kind.CHUNK, kind
                assert fragment < 0, fragment
                chunks.append((fragment, upstream, seq, body))
    chunks.sort(key=lambda chunk: chunk[:3])
    for fragment, _, _, body in chunks:
        yield fragment, body
