"""``python -m bench.floor``: what an epoch of one row takes, ours and Spark's own, in turn.

    python -m bench.floor [--epochs 150] [--rounds 3] [--s3] [--out DIR]

Each epoch has one order of a topic with one partition: of more, Spark takes one each. Spark tells
how long its epochs took; ours is the time from one epoch's line to the next, which is all of it.
The first third of a run's epochs are left out: the JVM is still warming up. With ``--s3`` both have
their checkpoints on a MinIO of this machine, through the same client with the same settings.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.data import PARTITIONS, Topics
from bench.engines import Case, Engine, engine_named
from bench.measure import progress, run
from bench.orders import Orders
from bench.report import machine
from kafka.broker import Cluster
from kafka.kit import Kit
from s3.minio import Minio
from tidegate.spark.launch.s3a_jars import fetch, home

_EPOCHS_APART: Final = 2
"""Some have one before the first row, or behind the last."""


def main() -> None:
    """Measures, prints and writes; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.floor", description=__doc__)
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--s3", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    engines = [engine_named(name) for name in ("tidegate", "native")]
    found: dict[str, list[float]] = {engine.name: [] for engine in engines}
    base = Path(tempfile.mkdtemp(prefix="tidegate-floor-"))
    try:
        with Cluster(base / "kafka") as cluster, _bucket(base, given.s3) as bucket:
            kit = Kit(cluster.bootstrap)
            sources = Topics(kit, base / "orders").filled(Orders(given.epochs, partitions=1))
            for number in range(given.rounds):
                for engine in engines if number % 2 == 0 else reversed(engines):
                    took_ms = _run(engine, kit, sources, base, bucket, given.epochs)
                    found[engine.name].append(took_ms)
                    print(f"round {number + 1}, {engine.name}: {took_ms:.0f} ms", flush=True)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    medians = {name: median(values) for name, values in found.items()}
    results: dict[str, Any] = {"machine": machine(), "rounds_ms": found, "median_ms": medians}
    results["difference_ms"] = medians["tidegate"] - medians["native"]
    name = "floor-s3.json" if given.s3 else "floor.json"
    (given.out / name).write_text(json.dumps(results, indent=2))
    print(json.dumps(results["median_ms"]), f"difference {results['difference_ms']:.0f} ms")


@contextmanager
def _bucket(base: Path, wanted: bool) -> Iterator[str]:
    """A bucket of a MinIO that all processes of ours find; "" if none is wanted."""
    if not wanted:
        yield ""
        return
    fetch(home())
    with Minio(base / "minio") as minio:
        os.environ.update(minio.environment)
        yield minio.bucket("floor")


def _run(
    engine: Engine, kit: Kit, sources: Mapping[str, str], base: Path, bucket: str, epochs: int
) -> float:
    """The median of a run's epochs, in milliseconds."""
    target = kit.topic(f"floor-{engine.name}", partitions=PARTITIONS)
    folder = Path(tempfile.mkdtemp(dir=base))
    place = f"{bucket}/{folder.name}" if bucket else ""
    case = Case("windows", kit.bootstrap, sources, target, folder, epoch_rows=1, bucket=place)
    done = run(
        engine.command(case), engine.environment(), kit.bootstrap, target, folder / "log",
        writes=False,
    )  # fmt: skip
    took = [1000 * (end - begin) for (begin, _), (end, _) in pairwise(progress(done))]
    if abs(len(took) + 1 - epochs) > _EPOCHS_APART:
        raise SystemExit(f"{engine.name} had {len(took) + 1} epochs, not {epochs}")
    return float(median(took[len(took) // 3 :]))


if __name__ == "__main__":
    main()
