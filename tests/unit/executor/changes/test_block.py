from __future__ import annotations

import pyarrow as pa

from kits.executor import ENGINE
from tidegate.executor.changes.block import Block
from tidegate.types import OP, Op


class Whole(Block):
    """All rows."""

    def results(self, tables: list[pa.Table]) -> tuple[pa.Table, list[pa.Table]]:
        return tables[0], tables


def test_changes_come_and_go_and_nothing_is_refused() -> None:
    block = Whole(ENGINE)
    ops = pa.array([int(Op.DELETE), int(Op.INSERT)], pa.int8())
    after = block.after(pa.table({"k": [1, 2]}), pa.table({"k": [1, 3], OP: ops}))
    assert sorted(after.column("k").to_pylist()) == [2, 3]
    assert (list(block.take_refused()), list(block.reports())) == ([], [])
