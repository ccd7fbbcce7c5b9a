from __future__ import annotations

from pathlib import Path

from kits.spark import job_in
from tidegate.connectors.filesystem.reader import FilesystemReader
from tidegate.connectors.filesystem.sink import FilesystemWriter
from tidegate.epochs.targets import TO_LEDGER
from tidegate.epochs.worker import Worker


def test_a_worker_of_a_job_reads_and_writes_what_its_tables_say(tmp_path: Path) -> None:
    worker = Worker.of(job_in(tmp_path))
    assert worker.engine is worker.engine
    (table,) = worker.job.plan.tables
    assert isinstance(worker.reader_of(table, worker.engine), FilesystemReader)
    assert isinstance(worker.writer_of(TO_LEDGER, 1, "0", 0), FilesystemWriter)
