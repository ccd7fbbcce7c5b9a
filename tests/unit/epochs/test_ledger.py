from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from kits.spark import new_checkpoint, plan_in
from tidegate.connectors.formats.parquet_format import encode
from tidegate.connectors.formats.parquet_seal import KEY
from tidegate.epochs.ledger import ledger_files, ledger_table, read_parquet, targets
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.errors import TrustError
from tidegate.types import LEDGER_SCHEMA


def ledger_rows(count: int) -> pa.Table:
    """Rows of all sorts: words, numbers, blobs and NULLs."""
    rows = [
        {
            "account": "t",
            "table": "t",
            "split": f"s{at % 3}",
            "offset": at,
            "event_time": None if at % 5 == 0 else at * 1_000_000,
            "watermark": 7_000_000 + at,
            "lateness": None if at % 5 == 0 else 7_000_000 - at,
            "time_type": "TIMESTAMP",
            "operator": "filter",
            "reason": "late",
            "record": b"%d" % (at * 37) * (at % 4),
        }
        for at in range(count)
    ]
    return pa.Table.from_pylist(rows, schema=LEDGER_SCHEMA)


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
    checkpoint.store.write("ledger/part.parquet", encode(ledger_rows(50)))
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


@pytest.mark.slow
@pytest.mark.parametrize("flip", [0x10, 0xFF])
def test_every_byte_that_changes_is_told(tmp_path: Path, flip: int) -> None:
    """Only in the name of the checksum and before it can a byte change and mean nothing."""
    checkpoint, name = new_checkpoint(tmp_path), "ledger/part-0001-0000000001-0000.parquet"
    content, file = encode(ledger_rows(20)), Path(checkpoint.uri) / name
    file.write_bytes(content)
    told, whole = 0, read_parquet(checkpoint, name)
    for at in range(len(content)):
        file.write_bytes(content[:at] + bytes([content[at] ^ flip]) + content[at + 1 :])
        try:
            assert read_parquet(checkpoint, name).equals(whole), f"byte {at} of {len(content)}"
        except TrustError:
            told += 1
    assert told > len(content) - 2 * len(KEY)


@pytest.mark.slow
def test_every_cut_is_told(tmp_path: Path) -> None:
    checkpoint, name = new_checkpoint(tmp_path), "ledger/part-0001-0000000001-0000.parquet"
    content, file = encode(ledger_rows(20)), Path(checkpoint.uri) / name
    for size in range(len(content)):
        file.write_bytes(content[:size])
        with pytest.raises(TrustError):
            read_parquet(checkpoint, name)
