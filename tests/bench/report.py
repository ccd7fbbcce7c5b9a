"""What a run leaves: the machine that it ran on, and its figures as cells of a table."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

from tidegate.clock import SystemClock

HEAD: Final = (
    "1,000 rows/s", "with its start", "Tidegate's lead", "CPU s per M rows", "peak MB",
)  # fmt: skip
"""The columns of `Speed.cells`."""


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


@dataclass(frozen=True, slots=True)
class Speed:
    """One line of a table of speeds. ``case``: what the topic had; "" where there is only one."""

    case: str
    engine: str
    cells: tuple[str, ...]


def speeds(found: Mapping[str, Any]) -> Iterator[Speed]:
    """The lines of one workload's results: medians, with the least and the most of all rounds.
    Engines with the same case stand together."""
    cases = list(dict.fromkeys(name.partition(" ")[2] for name in found["runs"]))
    for name in sorted(found["runs"], key=lambda name: cases.index(name.partition(" ")[2])):
        runs = found["runs"][name]
        engine, _, case = name.partition(" ")
        ours = found["runs"].get(f"tidegate {case}".strip(), [])
        yield Speed(case, label(found, engine), _cells(runs, ours))


def label(found: Mapping[str, Any], engine: str) -> str:
    """What an engine is called, with its version where it was installed for the benchmark."""
    settings = found["engines"][engine]
    _, _, version = (settings["packages"] or [""])[0].partition("==")
    return f"{settings['label']} {version}".strip()


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    rule = "|" + "---|" * len(head)
    return "\n".join([_line(head), rule, *map(_line, lines)]) + "\n"


def text(results: Mapping[str, Any]) -> str:
    """A table for each workload of a ``results.json``."""
    parts = []
    for name, found in results.items():
        lines = [[each.engine, each.case, *each.cells] for each in speeds(found)]
        parts.append(f"### {name}: {found['about']}\n\n{table(['', '', *HEAD], lines)}\n")
    return "".join(parts)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cells(runs: Sequence[Mapping[str, Any]], ours: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """``ours``: Tidegate's runs of the same case. The ratio is of what was measured alike."""
    if any(run["wrong"] for run in runs):
        return ("wrong answers", "", "", "", "")
    whole = any(run["by"] == "whole" for run in runs)
    speed = "" if whole else _spread([run["rows_per_s"] / 1e3 for run in runs])
    started = _spread([run["rows_per_s_with_start"] / 1e3 for run in runs])
    ratio = ""
    if ours and ours is not runs and not any(run["wrong"] for run in ours):
        figure = "rows_per_s_with_start" if whole else "rows_per_s"
        of_us, theirs = (median(run[figure] for run in each) for each in (ours, runs))
        ratio = f"{of_us / theirs:.2f} ×"
    cpu = median(run["cpu_s_per_million"] for run in runs)
    peak = max(run["peak_mb"] for run in runs)
    return speed, started, ratio, f"{cpu:.2f}", f"{peak:,}"


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):,.0f} ({min(values):,.0f}–{max(values):,.0f})"
