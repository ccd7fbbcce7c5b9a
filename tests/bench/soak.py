"""``python -m bench.soak``: whether memory, state and files stay flat while a job runs for long.

    python -m bench.soak [--rate ROWS_PER_S] [--minutes M] [--interval T] [--out DIR]

Orders come live, windows of five seconds by customer close all the time. Every quarter of a minute
the job's memory (by kind of process), its state, its checkpoint and its epochs are looked at. The
topics keep ten minutes. What grows shows as the ratio of the last third of the run to the second.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.engines import engine_named
from bench.processes import memory, name_of, tree
from bench.report import machine
from bench.running import running
from kafka.broker import Cluster
from kafka.kit import Kit

EVERY_S: Final = 15.0
_KEPT: Final = {"retention.ms": "600000", "segment.ms": "60000", "segment.bytes": "67108864"}
_FLAT: Final = (
    "memory_mb", "jvm_mb", "driver_mb", "workers_mb",
    "state_kb", "state_files", "checkpoint_kb", "checkpoint_files",
)  # fmt: skip


def main() -> None:
    """Measures, prints and writes; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--rate", type=int, default=50_000)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--interval", default="1 s", help="tidegate.epoch.interval")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    base = Path(tempfile.mkdtemp(prefix="tidegate-soak-"))
    engine = engine_named("tidegate")
    settings = {"tidegate.epoch.interval": given.interval}
    samples: list[dict[str, float]] = []
    try:
        with (
            Cluster(base / "kafka") as cluster,
            running(engine, Kit(cluster.bootstrap), base, 5, settings, _KEPT) as job,
            job.orders(given.rate, 60 * given.minutes) as orders,
        ):
            began = time.monotonic()
            while orders.poll() is None:
                time.sleep(EVERY_S)
                job.check()
                sizes = look(job.home / "checkpoint", job.process.pid)
                samples.append({"s": round(time.monotonic() - began), **sizes})
                print(json.dumps(samples[-1]), flush=True)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    grown = growth(samples)
    results: dict[str, Any] = {"machine": machine(), "rate": given.rate, "grown": grown}
    (given.out / "soak.json").write_text(json.dumps({**results, "samples": samples}, indent=1))
    print(json.dumps(grown))


def growth(samples: list[dict[str, float]]) -> dict[str, float]:
    """The median of the last third of ``samples`` in that of the second third, for each figure."""
    third = len(samples) // 3
    second, last = samples[third : 2 * third], samples[2 * third :]
    found = {}
    for name in _FLAT:
        before, after = (median(sample[name] for sample in part) for part in (second, last))
        found[name] = round(after / before, 3) if before else 1.0
    return found


def look(home: Path, driver: int) -> dict[str, float]:
    """What a job takes now: its checkpoint in ``home``, and the processes of ``driver``."""
    files, size = _size(home)
    # What one version of the state has; Spark keeps those of some epochs.
    state_files, state_size = _size(home / "spark" / "state")
    epochs = [int(path.stem) for path in (home / "epochs").glob("[0-9]*.json")]
    return {
        "epoch": max(epochs, default=0),
        **_memory(driver),
        "state_kb": round(state_size / 1e3),
        "state_files": state_files,
        "checkpoint_kb": round(size / 1e3),
        "checkpoint_files": files,
    }


def _memory(root: int) -> dict[str, float]:
    """Megabytes of a job's processes, by kind."""
    found = dict.fromkeys(("memory_mb", "jvm_mb", "driver_mb", "workers_mb"), 0)
    for pid in tree(root):
        kind = "driver_mb" if pid == root else "jvm_mb" if name_of(pid) == "java" else "workers_mb"
        for name in (kind, "memory_mb"):
            found[name] += memory(pid)
    return {name: round(size / 1e6) for name, size in found.items()}


def _size(directory: Path) -> tuple[int, int]:
    """How many files lie below ``directory``, and their bytes; some go while this looks."""
    sizes = list(_sizes(str(directory)))
    return len(sizes), sum(sizes)


def _sizes(directory: str) -> Iterator[int]:
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                yield Path(folder, name).stat().st_size
            except FileNotFoundError:
                continue


if __name__ == "__main__":
    main()
