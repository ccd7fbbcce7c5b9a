from __future__ import annotations

from pathlib import Path

from kits.spark import plan_in
from tidegate.epochs.targets import TO_DRIVER, TO_LEDGER, TO_SINK, sink_tables


def test_no_target_is_a_fragment_or_another_target(tmp_path: Path) -> None:
    tables = sink_tables(plan_in(tmp_path, copied=True).job)
    assert {number: table.name for number, table in tables.items()} == {
        TO_SINK: "counts",
        TO_SINK - 1: "rejected",
    }
    assert len({TO_LEDGER, TO_DRIVER, *tables}) == 4
    assert max(TO_LEDGER, TO_DRIVER, *tables) < 0
