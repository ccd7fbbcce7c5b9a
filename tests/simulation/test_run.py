"""A run as Python values."""

from __future__ import annotations

from pathlib import Path

from kits.executor import ENGINE
from simulation.run import simulate
from simulation.world import Choices
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut


def test_rows_by_sink_ledger_and_total(tmp_path: Path) -> None:
    for split, lines in (("a", '{"t": 5}\n{"t": 2}\n'), ("b", '{"t": 3}\nbroken\n')):
        (tmp_path / split).mkdir()
        (tmp_path / split / "1.json").write_text(lines)
    files = f"WITH (connector = 'filesystem', path = '{tmp_path}') FORMAT PLAIN ENCODE JSON;"
    shown = "WITH (connector = 'print');"
    sql = (
        f"CREATE SOURCE ticks (t BIGINT, WATERMARK FOR t AS t) {files}"
        f" CREATE SINK good AS SELECT t FROM ticks ORDER BY t EMIT ON WINDOW CLOSE {shown}"
        f" CREATE SINK large AS SELECT t FROM ticks WHERE t > 4 {shown}"
    )
    choices = Choices(None, 10, actors_live_on=False, crash_probability=0.0)
    run = simulate(cut(compile_sql(sql, "f.sql", {}), 2), 1, ENGINE, choices)
    assert run.outputs == {"good": [{"t": 3}, {"t": 5}], "large": [{"t": 5}]}
    assert sorted((row["split"], row["offset"], row["reason"]) for row in run.ledger) == [
        ("a", 1, "late"),
        ("b", 1, "malformed"),
    ]
    total = run.total
    assert (total.read, total.used, total.late, total.quarantined) == (4, 2, 1, 1)
    assert (run.epochs, run.crashes, run.state_rows) == (1, 0, 0)
    assert run.choices == choices
