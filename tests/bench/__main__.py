"""``make bench``: the engines side by side on the same topics, in turn.

    python -m bench [WORKLOAD…] [--full] [--rounds N] [--rows N] [--engines NAME…] [--out DIR]

First every output is compared with what it must be: a wrong answer has no speed. Then rows a second
once the engine has started (`measure.steady`), and over the whole
run with its start; CPU seconds per million rows; peak memory. The broker is not counted. In every
round the engines take turns, in another order; the files of the topic are read before each run, so
that no engine waits for a disk that another has not waited for.

A workload is one of `bench.workloads`; ``nexmark`` are all of Nexmark's. Without any, and without
``--full``: orders alone, two rounds, under ten minutes. Results go to DIR (out/bench),
beside those of other workloads that are there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from bench.data import PARTITIONS, Data, Topics
from bench.engines import ENGINES, Case, Engine
from bench.measure import progress, run, save_output, steady, whole
from bench.report import machine, text
from bench.workloads import NAMES, Workload, names_of, workloads
from kafka.broker import Cluster
from kafka.kit import Kit
from tidegate.spark.launch.classes import JVM_OPTIONS
from tidegate.spark.launch.gateway import DEFAULTS, REQUIRED

_QUICK: Final = (("orders",), 2, 10_000_000)
_FULL_ROUNDS: Final = 5
_FULL_ROWS: Final = 20_000_000


def main() -> None:
    """Measures, prints and writes; see the module."""
    given = _arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "results.json"
    results: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    base = Path(tempfile.mkdtemp(prefix="tidegate-bench-"))
    try:
        with Cluster(base / "kafka") as cluster:
            bench = _Bench(base, Kit(cluster.bootstrap), given.rounds)
            for workload in workloads(given.rows):
                if workload.name in given.workloads:
                    results[workload.name] = bench.measure(workload, given.engines)
                    file.write_text(json.dumps(results, indent=2))
    finally:
        shutil.rmtree(base, ignore_errors=True)
    tables = text(results)
    (given.out / "results.md").write_text(tables)
    print(tables)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--engines", nargs="*", default=[engine.name for engine in ENGINES])
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    given = parser.parse_args()
    names, rounds, rows = _QUICK
    try:
        given.workloads = names_of(given.workloads or (NAMES if given.full else names))
    except ValueError as unknown:
        parser.error(str(unknown))
    given.rounds = given.rounds or (_FULL_ROUNDS if given.full else rounds)
    given.rows = given.rows or (_FULL_ROWS if given.full else rows)
    return given


class _Bench:
    def __init__(self, base: Path, kit: Kit, rounds: int) -> None:
        self._base = base
        self._kit = kit
        self._rounds = rounds
        self._topics = Topics(kit, base / "data")

    def measure(self, workload: Workload, names: list[str]) -> dict[str, Any]:
        """All rounds of a workload."""
        engines = [
            engine
            for engine in ENGINES
            if engine.name in names
            and workload.query in engine.queries
            and (not workload.engines or engine.name in workload.engines)
        ]
        for engine in engines:
            engine.prepare()
        runs = [
            (engine, label, workload.slow if engine.slow and workload.slow else data)
            for engine in engines
            for label, data in workload.cases.items()
        ]
        found: dict[str, list[dict[str, Any]]] = {}
        for number in range(self._rounds):
            for engine, label, data in runs if number % 2 == 0 else reversed(runs):
                name = f"{engine.name} {label}".strip()
                result = self._run(workload, engine, data)
                found.setdefault(name, []).append(result)
                speed = f"{result['rows_per_s']:,} rows/s" if not result["wrong"] else "wrong"
                print(f"{workload.name}, round {number + 1}, {name}: {speed}", result, flush=True)
        return {
            "about": workload.about,
            "machine": machine(),
            "engines": _settings(engines),
            "spark_of_tidegate": {**DEFAULTS, "JVM": JVM_OPTIONS, **REQUIRED},
            "runs": found,
        }

    def _run(self, workload: Workload, engine: Engine, data: Data) -> dict[str, Any]:
        sources = self._topics.filled(data)
        target = self._kit.topic(f"{workload.name}-{engine.name}", partitions=PARTITIONS)
        home = Path(tempfile.mkdtemp(dir=self._base))
        case = Case(
            workload.query, self._kit.bootstrap, sources, target, home, padded=data.padded,
            epoch_rows=_epoch_rows(engine, data),
        )  # fmt: skip
        for topic in sources.values():
            self._read_ahead(topic)
        found = run(
            engine.command(case), engine.environment(), self._kit.bootstrap, target,
            home / "log", ends=engine.ends,
        )  # fmt: skip
        written = save_output(self._kit.bootstrap, target, home / "output")
        wanted = self._topics.answer(data, workload.query, engine.closes)
        wrong = wanted.differ(home / "output")
        speed = (whole if engine.slow else steady)(found, data.rows)
        shutil.rmtree(home, ignore_errors=True)
        return {
            "rows": data.rows,
            "rows_per_s": round(speed.rows_per_s),
            "rows_per_s_with_start": round(data.rows / found.seconds),
            "cpu_s_per_million": round(speed.cpu_s_per_million, 2),
            "by": speed.by,
            "seconds": round(found.seconds, 2),
            "epochs": len(progress(found)),
            "peak_mb": found.peak_bytes >> 20,
            "load": round(found.load, 2),
            "written": written,
            "wrong": wrong,
        }

    def _read_ahead(self, topic: str) -> None:
        """Has the kernel hold the topic's files: on small machines it lets go of them early."""
        for file in (self._base / "kafka").rglob(f"{topic}-*/*.log"):
            with file.open("rb") as opened:
                while opened.read(1 << 24):
                    pass


def _epoch_rows(engine: Engine, data: Data) -> int | None:
    """Not so many that a topic makes too few epochs to tell a speed."""
    return engine.epoch_rows and min(engine.epoch_rows, 3 * data.rows // 10)


def _settings(engines: list[Engine]) -> dict[str, Any]:
    return {
        engine.name: {
            "label": engine.label,
            "packages": engine.packages,
            "environment": engine.environment(),
            "epoch_rows": engine.epoch_rows,
            **engine.settings,
        }
        for engine in engines
    }


if __name__ == "__main__":
    main()
