"""``python -m bench.backlog``: how long a job that stood still for ten minutes takes to catch up.

    python -m bench.backlog [--rate ROWS_PER_S] [--minutes M] [--engines NAME…] [--out DIR]

Each engine reads half a minute of orders and is stopped. Then orders come for ten minutes. Each
engine, in turn, goes on from its own checkpoint: how long it takes from the start of its process to
the last window that can close, and how many of the backlog's rows that is a second. The windows of
both halves are then compared with what they must be.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from bench import live
from bench.data import PARTITIONS
from bench.engines import Case, Engine, engine_named
from bench.measure import Run, run, save_output
from bench.orders import Windows
from bench.report import machine
from kafka.broker import Cluster
from kafka.kit import Kit

_BEFORE_S: Final = 30.0
_WINDOW_S: Final = 5


def main() -> None:
    """Measures, prints and writes; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.backlog", description=__doc__)
    parser.add_argument("--rate", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--engines", nargs="*", default=["tidegate", "native"])
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    engines = [engine_named(name) for name in given.engines]
    results: dict[str, Any] = {"machine": machine(), "rate": given.rate, "minutes": given.minutes}
    base = Path(tempfile.mkdtemp(prefix="tidegate-backlog-"))
    try:
        with Cluster(base / "kafka") as cluster:
            kit = Kit(cluster.bootstrap)
            source = kit.topic("backlog", partitions=PARTITIONS)
            cases = {engine.name: _case(engine, kit, source, base) for engine in engines}
            _orders(kit, source, given.rate, _BEFORE_S, base)
            for engine in engines:
                engine.prepare()
                _run(engine, cases[engine.name])
            _orders(kit, source, given.rate, 60 * given.minutes, base)
            save_output(kit.bootstrap, source, base / "orders" / "all")
            answer = Windows(base / "orders", late=False, closes=False, window_s=_WINDOW_S)
            for engine in engines:
                case = cases[engine.name]
                found = _run(engine, case)
                save_output(kit.bootstrap, case.target, case.home / "output")
                if wrong := answer.differ(case.home / "output"):
                    raise SystemExit(f"{engine.name}: {wrong}")
                results[engine.name] = {
                    "seconds": round(found.seconds, 1),
                    "rows_per_s": round(given.rate * 60 * given.minutes / found.seconds),
                    "load": round(found.load, 2),
                }
                print(engine.name, results[engine.name], flush=True)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    (given.out / "backlog.json").write_text(json.dumps(results, indent=2))


def _case(engine: Engine, kit: Kit, source: str, base: Path) -> Case:
    target = kit.topic(f"drained-{engine.name}", partitions=PARTITIONS)
    home = Path(tempfile.mkdtemp(dir=base))
    return Case(
        "windows", kit.bootstrap, {"orders": source}, target, home, bounded=False,
        window_s=_WINDOW_S,
    )  # fmt: skip


def _orders(kit: Kit, source: str, rate: int, seconds: float, base: Path) -> None:
    command = live.command(kit.bootstrap, source, rate, seconds, base / "ticks")
    subprocess.run(command, check=True)


def _run(engine: Engine, case: Case) -> Run:
    """Until it has nothing to write any more."""
    return run(
        engine.command(case), engine.environment(), case.servers, case.target,
        case.home / "log", ends=False,
    )  # fmt: skip


if __name__ == "__main__":
    main()
