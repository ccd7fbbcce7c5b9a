from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kits.spark import new_checkpoint, plan_in
from tidegate.epochs.ledger import ledger_files, ledger_table, read_parquet, targets
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.errors import TrustError
from tidegate.types import LEDGER_SCHEMA


def test_its_columns_are_those_of_the_rows(tmp_path: Path) -> None:
    columns = ledger_table(new_checkpoint(tmp_path)).columns
    assert [column.name for column in columns] == LEDGER_SCHEMA.names
    types = {column.name: column.type for column in columns}
    assert (types["reason"], types["offset"], types["record"]) == ("VARCHAR", "BIGINT", "BLOB")


def test_a_job_writes_its_tables_and_the_ledger(tmp_path: Path) -> None:
    found = targets(plan_in(tmp_path).job, new_checkpoint(tmp_path))
    assert {number: table.name for number, table in found.items()} == {
        TO_SINK: "counts",
        TO_LEDGER: "$ledger",
    }


def test_files_are_those_of_the_epochs_that_are_asked_for(tmp_path: Path) -> None:
    checkpoint = new_checkpoint(tmp_path)
    for epoch in (1, 2, 13):
        checkpoint.store.write(f"ledger/part-0001-{epoch:010d}-0000.parquet", b"")
    checkpoint.store.write("ledger/claim-0001", b"")
    assert ledger_files(checkpoint, 2, 12) == ["ledger/part-0001-0000000002-0000.parquet"]


def test_a_corrupt_file_is_named(tmp_path: Path) -> None:
    checkpoint = new_checkpoint(tmp_path)
    checkpoint.store.write("ledger/part.parquet", b"PAR1 and no more")
    with pytest.raises(TrustError, match=r"part\.parquet"):
        read_parquet(checkpoint, "ledger/part.parquet")


@pytest.mark.slow
def test_reading_leaves_no_thread_behind(tmp_path: Path) -> None:
    """A thread that holds the bytes while Python ends aborts one process in eight."""
    checkpoint = new_checkpoint(tmp_path)
    columns = {f"c{index}": ["x"] * 50 for index in range(11)}
    pq.write_table(pa.table(columns), Path(checkpoint.uri) / "ledger" / "part.parquet")
    script = (
        "import os, sys\n"
        "from tidegate.epochs.checkpoint import Checkpoint\n"
        "from tidegate.epochs.ledger import read_parquet\n"
        "checkpoint = Checkpoint(sys.argv[1])\n"
        "before = os.listdir('/proc/self/task')\n"
        "assert read_parquet(checkpoint, 'ledger/part.parquet').num_rows == 50\n"
        "assert os.listdir('/proc/self/task') == before, 'threads were started'\n"
    )
    command = [sys.executable, "-c", script, checkpoint.uri]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
