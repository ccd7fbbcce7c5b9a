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

from tidegate.epochs.job import decode_job, worker_engine
from tidegate.epochs.outputs import staging_writer
from tidegate.epochs.rejections import Rejections, count_rejected
from tidegate.epochs.targets import TO_DRIVER, TO_LEDGER, TO_SINK
from tidegate.events import EVENTS
from tidegate.phases import PHASES
from tidegate.plan.nodes import quoted
from tidegate.ports import SinkWriter
from tidegate.spark.errors import carried
from tidegate.spark.exchange.wire import Kind, decode_chunk
from tidegate.spark.launch.heap import HEAP
from tidegate.spark.memory import resident_bytes

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
