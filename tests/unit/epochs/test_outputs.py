from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from kits.spark import job_in, new_checkpoint, plan_in
from tidegate.epochs.outputs import staging_writer, targets
from tidegate.epochs.targets import TO_LEDGER, TO_SINK


def test_a_job_writes_its_tables_and_the_ledger(tmp_path: Path) -> None:
    found = targets(plan_in(tmp_path).job, new_checkpoint(tmp_path))
    assert {number: table.name for number, table in found.items()} == {
        TO_SINK: "counts",
        TO_LEDGER: "$ledger",
    }


def test_a_task_stages_rows_under_its_own_number(tmp_path: Path) -> None:
    writer = staging_writer(job_in(tmp_path), TO_SINK, 4, "11")
    writer.write(pa.table({"window_end": [10], "n": [1]}))
    (staged,) = writer.close()
    assert (staged.writer, staged.rows) == ("11", 1)
    assert Path(staged.path).name.startswith("4-11-")
