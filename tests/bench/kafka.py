"""``make bench-kafka``: Tidegate and Spark's own Kafka connector on the same topic, in turn.

    python -m bench.kafka [--rows 3000000] [--rounds 3] [--out FILE]

Two jobs: ``windows`` reads orders and writes minutes by customer into a topic, ``copy`` reads
orders and writes each into a topic, decoded and encoded. Ours writes exactly once, Spark's at least
once, which is all that it can. Messages per second in (and out) over the time of the query, from
the start of its first epoch to the end of its last; the start of the JVM is left out for both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer

from bench.__main__ import run_and_time
from kafka.broker import Cluster
from kafka.kit import Kit
from tidegate.connectors.datagen import write_orders

SPLITS: Final = 8
EPOCH_ROWS: Final = 500_000
CUSTOMERS: Final = 10_000
JOBS: Final = ("windows", "copy")

_SOURCE: Final = """
CREATE TABLE orders (
  id BIGINT, order_time TIMESTAMP(6), price DECIMAL(10, 2), customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka', 'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json'
);
"""
_SINK: Final = """WITH (
  'connector' = 'kafka', 'topic' = '{target}', 'properties.bootstrap.servers' = '{servers}',
  'format' = 'json'
);
"""
SQL: Final = {
    "windows": _SOURCE
    + """
CREATE TABLE revenue (window_start TIMESTAMP(3), window_end TIMESTAMP(3), customer_id BIGINT,
  order_count BIGINT, sum_price DECIMAL(38, 2)) """
    + _SINK
    + """
INSERT INTO revenue
SELECT window_start, window_end, customer_id, count(*), sum(price)
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, customer_id;
""",
    "copy": _SOURCE
    + """
CREATE TABLE copied (
  id BIGINT, order_time TIMESTAMP(6), price DECIMAL(10, 2), customer_id BIGINT
) """
    + _SINK
    + """
INSERT INTO copied SELECT id, order_time, price, customer_id FROM orders;
""",
}


def tidegate(kit: Kit, source: str, job: str, home: Path) -> dict[str, Any]:
    """One run through the command line."""
    target = kit.topic(f"out-{job}", partitions=SPLITS)
    file = home / "job.sql"
    file.write_text(SQL[job].format(source=source, target=target, servers=kit.bootstrap))
    command = [sys.executable, "-m", "tidegate.cli", "run", str(file), "--json"]
    command += ["--checkpoint", str(home / "checkpoint")]
    command += ["--set", f"tidegate.epoch.rows.max={EPOCH_ROWS}"]
    lines, peak = run_and_time(command)
    began = next(at for at, line in lines if line.startswith("Spark "))
    documents = [(at, json.loads(line)) for at, line in lines if line.startswith("{")]
    ended, done = documents[-1]
    first = documents[0][0]
    assert done["event"] == "done", done
    return {
        "seconds": ended - began,
        "seconds_behind_first_epoch": ended - first,
        "rows": done["counts"]["read"],
        "rows_behind_first_epoch": done["counts"]["read"] - documents[0][1]["counts"]["read"],
        "written": ended_at(kit, target),
        "peak_bytes": peak,
    }


def native(kit: Kit, source: str, job: str, home: Path) -> dict[str, Any]:
    """One run of Spark's own connector."""
    target = kit.topic(f"native-{job}", partitions=SPLITS)
    command = [sys.executable, "-m", "bench.native_kafka", job, kit.bootstrap, source, target]
    lines, peak = run_and_time([*command, str(EPOCH_ROWS), str(home)])
    result: dict[str, Any] = json.loads(next(line for _, line in lines if line.startswith("{")))
    return {**result, "written": ended_at(kit, target), "peak_bytes": peak}


def ended_at(kit: Kit, topic: str) -> int:
    """How many offsets a topic has."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": kit.bootstrap, "group.id": "count"})
    marks = [consumer.get_watermark_offsets(TopicPartition(topic, n)) for n in range(SPLITS)]
    consumer.close()
    return sum(mark[1] for mark in marks if mark)


def fill(kit: Kit, rows: int, directory: Path) -> str:
    """A topic of orders."""
    topic = kit.topic("orders", partitions=SPLITS)
    write_orders(
        directory, SPLITS, rows, seed=1, disorder_us=4_000_000, late_share=0.001, step_us=1_000,
        customers=CUSTOMERS, files_per_split=1,
    )  # fmt: skip
    producer = Producer(
        {
            "bootstrap.servers": kit.bootstrap,
            "enable.idempotence": True,
            "queue.buffering.max.messages": 2_000_000,
            "linger.ms": 20,
        }
    )
    for number, split in enumerate(sorted(directory.iterdir())):
        for file in sorted(split.iterdir()):
            for line in file.read_bytes().splitlines():
                producer.produce(topic, line, partition=number)
            producer.flush()
    return topic


def main() -> None:
    """Measures and prints; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.kafka", description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", nargs="*", default=list(JOBS))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    results: dict[str, Any] = {"rows": given.rows, "epoch_rows": EPOCH_ROWS}
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as directory:
        base = Path(directory)
        with Cluster(base / "kafka") as cluster:
            kit = Kit(cluster.bootstrap)
            source = fill(kit, given.rows, base / "orders")
            for job in given.jobs:
                results[job] = _compare(kit, source, job, base, given.rounds)
    print(json.dumps(results, indent=2))
    if given.out:
        given.out.write_text(json.dumps(results, indent=2))


def _compare(kit: Kit, source: str, job: str, base: Path, rounds: int) -> dict[str, Any]:
    runs: dict[str, list[dict[str, Any]]] = {"tidegate": [], "native": []}
    for number in range(rounds):
        for engine in ("tidegate", "native") if number % 2 == 0 else ("native", "tidegate"):
            home = Path(tempfile.mkdtemp(dir=base))
            measure = tidegate if engine == "tidegate" else native
            run = measure(kit, source, job, home)
            run["rows_per_s"] = run["rows"] / run["seconds"]
            runs[engine].append(run)
            load = os.getloadavg()[0]
            print(
                f"{job}, round {number + 1} {engine}: {run['rows_per_s']:,.0f} messages/s in,"
                f" {run['written'] / run['seconds']:,.0f} out, load {load:.1f}",
                flush=True,
            )
    medians = {
        engine: statistics.median(run["rows_per_s"] for run in of_engine)
        for engine, of_engine in runs.items()
    }
    return {
        "runs": runs,
        "median_messages_per_s": medians,
        "ratio_to_native": medians["tidegate"] / medians["native"],
    }


if __name__ == "__main__":
    main()
