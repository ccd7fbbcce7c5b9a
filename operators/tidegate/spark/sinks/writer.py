"""The end of an epoch in a task: rows for sinks and ledger are staged, the driver is told.

What comes out of a task is small: one row for each report. The rows of one sink are written in the
order of (upstream, seq), which for a sorted sink is row order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark import TaskContext

from tidegate.epochs.job import decode_job
from tidegate.epochs.targets import TO_DRIVER
from tidegate.epochs.task_reports import packed
from tidegate.epochs.worker import Worker
from tidegate.epochs.writing import write_task
from tidegate.phases import PHASES
from tidegate.spark.errors import carried
from tidegate.spark.exchange.wire import Kind, decode_chunk
from tidegate.spark.launch.heap import HEAP
from tidegate.spark.memory import resident_bytes

WRITER_SCHEMA = "report binary"
_ARROW = pa.schema([("report", pa.binary())])


def writer(
    job_text: str, epoch: int, written: Mapping[int, Mapping[str, int]] | None = None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for ``mapInArrow``. ``written``: see `Committer.begin`."""

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            PHASES.start()
            HEAP.on_task()
            context = TaskContext.get()
            name = str(context.partitionId() if context is not None else 0)
            passed: list[bytes] = []
            worker = Worker.of(decode_job(job_text))
            report = write_task(worker, epoch, name, _in_order(batches, passed), written or {})
            own = packed(replace(report, memory=resident_bytes()))
            yield pa.RecordBatch.from_arrays([pa.array([*passed, own], pa.binary())], schema=_ARROW)

    return write


def _in_order(
    batches: Iterable[pa.RecordBatch], passed: list[bytes]
) -> Iterator[tuple[int, pa.Table]]:
    """Rows for sinks in the order of (fragment, upstream, seq); ``passed`` gets the reports."""
    chunks: list[tuple[int, int, int, bytes]] = []
    for batch in PHASES.timed("wait", batches):
        columns = [batch.column(n).to_pylist() for n in ("fragment", "upstream", "seq", "kind")]
        bodies = batch.column("body")
        for index, (fragment, upstream, seq, kind) in enumerate(zip(*columns, strict=True)):
            body = bodies[index].as_py()
            if fragment == TO_DRIVER:
                passed.append(body)
            else:
                assert kind == Kind.CHUNK, kind
                assert fragment < 0, fragment
                chunks.append((fragment, upstream, seq, body))
    chunks.sort(key=lambda chunk: chunk[:3])
    for fragment, _, _, body in chunks:
        with PHASES.phase("deserialise"):
            data = decode_chunk(body).data
        yield fragment, data
