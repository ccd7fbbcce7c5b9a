"""``python -m bench.latency``: how long a window's rows take, from the moment when it could close.

    python -m bench.latency [--rates ROWS_PER_S…] [--seconds S] [--engines NAME…] [--out DIR]

Orders come live (`bench.live`), in a disorder of a second, with a watermark that trails by five;
windows of five seconds by customer. A window *could* close when every partition has had a row that
lies the delay behind its end. From then until a ``read_committed`` reader has the row: that is the
latency of each row that the engine writes. Windows of the first minute, when engines start, are
left out. All windows have as many rows where there are far more orders in one than customers:
``rows_of_windows`` has the fewest and the most. ``unwritten`` are windows that could close and of
which no row had come ten seconds behind the last order: an engine that falls behind has some.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from confluent_kafka import Consumer, TopicPartition

from bench.data import DELAY_S, PARTITIONS
from bench.engines import ENGINES, Engine
from bench.report import machine
from bench.running import running
from kafka.broker import Cluster
from kafka.kit import Kit

WINDOW_S: Final = 5
_WARM_S: Final = 60
_LAST_S: Final = 10.0
"""How long the rows of the last windows have, behind the last order."""
_SETTINGS: Final = {"tidegate": {"tidegate.epoch.interval": "10 ms"}}


def main() -> None:
    """Measures, prints and writes; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.latency", description=__doc__)
    parser.add_argument("--rates", type=int, nargs="+", default=[100_000])
    parser.add_argument("--seconds", type=int, default=660)
    parser.add_argument("--engines", nargs="*", default=["tidegate", "native", "flink"])
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    rates: dict[int, dict[str, Any]] = {rate: {} for rate in given.rates}
    results = {"machine": machine(), "seconds": given.seconds, "rates": rates}
    engines = [engine for engine in ENGINES if engine.name in given.engines]
    base = Path(tempfile.mkdtemp(prefix="tidegate-latency-"))
    try:
        with Cluster(base / "kafka") as cluster:
            for number, rate in enumerate(given.rates):
                for engine in engines if number % 2 == 0 else reversed(engines):
                    engine.prepare()
                    found = measure(engine, Kit(cluster.bootstrap), base, rate, given.seconds)
                    rates[rate][engine.name] = found
                    told = {name: value for name, value in found.items() if name != "by_window_s"}
                    print(rate, engine.name, told, flush=True)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    (given.out / "latency.json").write_text(json.dumps(results, indent=2))


def measure(engine: Engine, kit: Kit, base: Path, rate: int, seconds: int) -> dict[str, Any]:
    """One engine, for ``seconds``."""
    with (
        running(engine, kit, base, WINDOW_S, _SETTINGS.get(engine.name, {})) as job,
        _Arrivals(kit.bootstrap, job.target) as arrivals,
    ):
        with job.orders(rate, seconds) as orders:
            while orders.poll() is None:
                job.check()
                time.sleep(1)
        time.sleep(_LAST_S)
        job.check()
    kit.delete(job.source)  # some gigabytes
    return summary(arrivals.rows, job.ticks())


@dataclass
class _Arrivals:
    """Reads a topic, in a thread, and notes when each row of each window came."""

    bootstrap: str
    topic: str
    rows: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    """By window: when so many of its rows came."""

    def __enter__(self) -> _Arrivals:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "latency",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 10,
            }
        )
        parts = [TopicPartition(self.topic, number, 0) for number in range(PARTITIONS)]
        consumer.assign(parts)
        while not self._stop.is_set():
            messages = consumer.consume(5_000, 0.02)
            now = time.time()
            counts: dict[str, int] = {}
            for message in messages:
                if message.error() is None:
                    window = json.loads(message.value() or b"{}")["window_start"]
                    counts[window] = counts.get(window, 0) + 1
            for window, count in counts.items():
                self.rows.setdefault(window, []).append((now, count))
        consumer.close()


def summary(
    rows: dict[str, list[tuple[float, int]]], ticks: Sequence[tuple[float, list[int]]]
) -> dict[str, Any]:
    """Quantiles of the latency over all rows of the windows behind the start.

    Raises SystemExit when there is none, or a window closed too early.
    """
    moments = np.array([tick[0] for tick in ticks])
    reached = np.maximum.accumulate(np.array([min(tick[1]) for tick in ticks]) / 1e6)
    arrived = {_seconds(text): came for text, came in rows.items()}
    latencies: list[float] = []
    sizes: list[int] = []
    slowest: dict[int, float] = {}
    unwritten = 0
    first = int(moments[0] + _WARM_S) // WINDOW_S * WINDOW_S
    for begin in range(first, int(reached[-1]), WINDOW_S):
        place = int(np.searchsorted(reached, begin + WINDOW_S + DELAY_S))
        if place == len(moments):
            break
        if begin not in arrived:
            unwritten += 1
            continue
        sizes.append(sum(count for _, count in arrived[begin]))
        for moment, count in arrived[begin]:
            latencies += [moment - moments[place]] * count
        slowest[begin] = max(moment for moment, _ in arrived[begin]) - moments[place]
    if not latencies or min(latencies) < 0:
        raise SystemExit("no window closed, or one before it could")
    found = np.array(latencies)
    p50, p90, p99 = np.quantile(found, [0.5, 0.9, 0.99])
    return {
        "windows": len(sizes),
        "unwritten": unwritten,
        "rows_of_windows": [min(sizes), max(sizes)],
        "p50_s": round(float(p50), 3),
        "p90_s": round(float(p90), 3),
        "p99_s": round(float(p99), 3),
        "max_s": round(float(found.max()), 3),
        "by_window_s": {begin: round(float(took), 3) for begin, took in slowest.items()},
    }


def _seconds(text: str) -> int:
    """When a window begins, as an engine writes it, in seconds since 1970."""
    moment = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round(moment.replace(tzinfo=moment.tzinfo or dt.UTC).timestamp())


if __name__ == "__main__":
    main()
