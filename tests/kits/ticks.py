"""A small job over four splits of numbers, for tests of what runs jobs."""

from __future__ import annotations

from pathlib import Path

from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import Plan, cut
from tidegate.simulator.local import Results

SPLITS = {"a": [1, 5, 12, 3, 21, 30], "b": [2, 11, 22, 23], "c": [], "d": [4, 9, 40]}
"""One of the rows is late: 3, in ``a``."""


def ticks(directory: Path, more: str = "") -> Plan:
    """Counts of windows of ten, into the sink ``n``; a watermark trails by two. ``more``: options
    of the source."""
    for split, times in SPLITS.items():
        (directory / split).mkdir()
        lines = "".join(f'{{"t": {time}}}\n' for time in times)
        (directory / split / "1.json").write_text(lines)
    files = f"WITH (connector = 'filesystem', path = '{directory}'{more}) FORMAT PLAIN ENCODE JSON;"
    shown = "WITH (connector = 'print');"
    sql = (
        f"CREATE SOURCE ticks (t BIGINT, WATERMARK FOR t AS t - 2) {files}"
        " CREATE SINK n AS SELECT window_end, count(*) AS n FROM TUMBLE(ticks, t, 10)"
        f" GROUP BY window_end EMIT ON WINDOW CLOSE {shown}"
    )
    return cut(compile_sql(sql, "f.sql", {}), 3)


def rows_of(results: Results) -> list[tuple[int, int]]:
    """What the job has given: ends of windows, and how many rows they have."""
    rows = [row for table in results.outputs["n"] for row in table.to_pylist()]
    return sorted((row["window_end"], row["n"]) for row in rows)
