from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from kits.spark import job_in
from tidegate.connectors.filesystem.reader import FilesystemReader
from tidegate.connectors.filesystem.sink import FilesystemWriter
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.epochs.worker import Worker, staging_writer


def test_a_worker_of_a_job_reads_and_writes_what_its_tables_say(tmp_path: Path) -> None:
    worker = Worker.of(job_in(tmp_path))
    assert worker.engine is worker.engine
    (table,) = worker.job.plan.tables
    assert isinstance(worker.reader_of(table, worker.engine), FilesystemReader)
    assert isinstance(worker.writer_of(TO_LEDGER, 1, "0", 0), FilesystemWriter)


def test_a_task_stages_rows_under_its_own_number(tmp_path: Path) -> None:
    writer = staging_writer(job_in(tmp_path), TO_SINK, 4, "11")
    writer.write(pa.table({"window_end": [10], "n": [1]}))
    (staged,) = writer.close()
    assert (staged.writer, staged.rows) == ("11", 1)
    assert Path(staged.path).name.startswith("4-11-")
