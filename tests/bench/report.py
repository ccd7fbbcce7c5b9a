"""Results as a table: medians, with the least and the most of all rounds."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from tidegate.clock import SystemClock

_HEAD = (
    "| | rows/s | told by | with its start | × Tidegate's | CPU s per M rows | peak MB | rounds |\n"
    "|---|---|---|---|---|---|---|---|\n"
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
        "commit": _commit(),
        "day": datetime.fromtimestamp(SystemClock().now_us() / 1e6, UTC).date().isoformat(),
    }


def _commit() -> str:
    """What of us was measured; "" outside of a clone."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def table(results: dict[str, Any]) -> str:
    """Markdown: a table for each workload."""
    parts = []
    for name, found in results.items():
        where = f"{found['machine']['cores']} cores, {found['machine']['cpu']}"
        parts.append(f"### {name}: {found['about']}\n\n{where}\n\n{_HEAD}")
        for case, runs in found["runs"].items():
            ours = " ".join(["tidegate", *case.split()[1:]])
            parts.append(_line(case, runs, found["runs"].get(ours, [])))
        parts.append("\n")
    return "".join(parts)


def _line(name: str, runs: list[dict[str, Any]], ours: list[dict[str, Any]]) -> str:
    """``ours``: Tidegate's runs of the same case. The ratio is of what was measured alike."""
    wrong = sorted({run["wrong"] for run in runs if run["wrong"]})
    if wrong:
        return f"| {name} | wrong: {wrong[0]} | | | | | | {len(runs)} |\n"
    by = sorted({run["by"] for run in runs})
    speed = _spread([run["rows_per_s"] for run in runs])
    started = _spread([run["rows_per_s_with_start"] for run in runs])
    figure = "rows_per_s_with_start" if "whole" in by else "rows_per_s"
    ratio = ""
    if ours and not any(run["wrong"] for run in ours):
        theirs, of_us = (median(run[figure] for run in each) for each in (runs, ours))
        ratio = f"{theirs / of_us:.3f}"
    cpu = median(run["cpu_s_per_million"] for run in runs)
    peak = max(run["peak_mb"] for run in runs)
    told = f"{', '.join(by)} of {runs[0]['rows']:,}"
    return (
        f"| {name} | {speed} | {told} | {started} | {ratio} | {cpu:.2f} | {peak:,} |"
        f" {len(runs)} |\n"
    )


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):,.0f} ({min(values):,.0f}–{max(values):,.0f})"
