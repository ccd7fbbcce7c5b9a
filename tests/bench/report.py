"""Results as a table: medians, with the least and the most of all rounds."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from tidegate.clock import SystemClock

_HEAD = (
    "| | rows/s | with its start | × Tidegate's | CPU s per M rows | peak MB | rounds |\n"
    "|---|---|---|---|---|---|---|\n"
)


def machine() -> dict[str, Any]:
    """What it ran on, and when."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": len(names),
        "cpu": names[0] if names else platform.machine(),
        "memory_gb": round(memory / (1 << 30)),
        "day": datetime.fromtimestamp(SystemClock().now_us() / 1e6, UTC).date().isoformat(),
    }


def table(results: dict[str, Any]) -> str:
    """Markdown: a table for each workload."""
    parts = []
    for name, found in results.items():
        where = f"{found['machine']['cores']} cores, {found['machine']['cpu']}"
        parts.append(f"### {name}: {found['about']}\n\n{where}\n\n{_HEAD}")
        ours = _median_of(found["runs"], "tidegate")
        for engine, runs in found["runs"].items():
            parts.append(_line(engine, runs, ours))
        parts.append("\n")
    return "".join(parts)


def _median_of(runs: dict[str, list[dict[str, Any]]], name: str) -> float:
    of_it = [found for engine, found in runs.items() if engine.split()[0] == name]
    return median(run["rows_per_s"] for run in of_it[0]) if of_it else 0.0


def _line(engine: str, runs: list[dict[str, Any]], ours: float) -> str:
    wrong = sorted({run["wrong"] for run in runs if run["wrong"]})
    if wrong:
        return f"| {engine} | wrong: {wrong[0]} | | | | | {len(runs)} |\n"
    speed = _spread([run["rows_per_s"] for run in runs])
    whole = _spread([run["rows_per_s_with_start"] for run in runs])
    ratio = median(run["rows_per_s"] for run in runs) / ours if ours else 0.0
    cpu = median(run["cpu_s_per_million"] for run in runs)
    peak = max(run["peak_mb"] for run in runs)
    return f"| {engine} | {speed} | {whole} | {ratio:.2f} | {cpu:.2f} | {peak:,} | {len(runs)} |\n"


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):,.0f} ({min(values):,.0f}–{max(values):,.0f})"
