from __future__ import annotations

import pyarrow as pa

from kits.executor import leaf
from tidegate.executor.changes.as_changes import AsChangesExecutor, as_changes
from tidegate.plan.physical import AsChanges
from tidegate.types import OP, Chunk, Op, Watermark


def test_rows_that_stay_have_come() -> None:
    below = leaf("k BIGINT")
    executor = AsChangesExecutor(AsChanges(below.schema, below))
    (chunk,) = executor.process(Chunk(pa.table({"k": [1, 2]}), "s"))
    assert isinstance(chunk, Chunk)
    assert chunk.split == "s"
    assert chunk.data.column(OP).to_pylist() == [Op.INSERT, Op.INSERT]
    assert list(executor.process(Watermark("k", 3))) == [Watermark("k", 3)]


def test_changes_are_what_they_are() -> None:
    rows = pa.table({"k": [1], OP: pa.array([int(Op.DELETE)], pa.int8())})
    assert as_changes(rows) is rows
