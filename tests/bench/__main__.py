"""``make bench``: orders through a tumbling window, from the same files, engines in turn.

    python -m bench [--rows 5000000] [--rounds 3] [--out FILE]

First the outputs are compared as far as both engines must agree (a wrong answer has no speed): the
rows that Tidegate used are the rows that it read less the late ones, and each of its windows must
have counted them. Then rows per second: rows over the time of the query, from the start of its
first epoch to the end of its last; the start of the JVM is left out for both.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.memory import PeakMemory
from tidegate.clock import SystemClock
from tidegate.connectors.datagen import write_orders

SPLITS, FILES_PER_SPLIT, CUSTOMERS = 8, 10, 10_000
EPOCH_ROWS = 500_000

JOB = """
CREATE SOURCE orders (
  id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2), customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND
) WITH (connector = 'filesystem', path = '{source}') FORMAT PLAIN ENCODE JSON;
CREATE SINK revenue AS
SELECT window_start, window_end, customer_id, count(*) AS order_count, sum(price) AS sum_price
FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE)
GROUP BY window_start, window_end, customer_id
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '{target}') FORMAT PLAIN ENCODE JSON;
"""


def tidegate(source: Path, home: Path) -> dict[str, Any]:
    """One run of the job through the command line."""
    file = home / "job.sql"
    file.write_text(JOB.format(source=source, target=home / "out"))
    command = [sys.executable, "-m", "tidegate.cli", "run", str(file), "--json"]
    command += ["--checkpoint", str(home / "checkpoint")]
    command += ["--set", f"tidegate.epoch.rows.max={EPOCH_ROWS}"]
    lines, peak = run_and_time(command)
    began = next(at for at, line in lines if line.startswith("Spark "))
    documents = [(at, json.loads(line)) for at, line in lines if line.startswith("{")]
    ended, done = documents[-1]
    rows = [row for path in (home / "out").glob("part-*") for row in path.read_text().splitlines()]
    counted = sum(json.loads(row)["order_count"] for row in rows)
    assert done["event"] == "done", done
    assert counted == done["counts"]["used"] > 0, (counted, done["counts"])
    return {"seconds": ended - began, "rows": done["counts"]["read"], "peak_bytes": peak}


def native(source: Path, home: Path, rows: int) -> dict[str, Any]:
    """One run of Spark's own windows."""
    files = max(1, EPOCH_ROWS * SPLITS * FILES_PER_SPLIT // rows)
    command = [sys.executable, "-m", "bench.native", str(source), str(home / "out"), str(files)]
    lines, peak = run_and_time(command)
    result: dict[str, Any] = json.loads(next(line for _, line in lines if line.startswith("{")))
    return {**result, "peak_bytes": peak}


def run_and_time(command: list[str]) -> tuple[list[tuple[float, str]], int]:
    """Runs a command; gives its lines with the moment at which each came, and its peak memory."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    clock = SystemClock()
    lines: list[tuple[float, str]] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        with PeakMemory(process.pid) as memory:
            for line in process.stdout:
                lines.append((clock.monotonic_s(), line.rstrip()))
        if process.wait():
            tail = "\n".join(line for _, line in lines[-20:])
            raise SystemExit(f"{' '.join(command)} failed with {process.returncode}:\n{tail}")
    return lines, memory.peak_bytes


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="tidegate-bench-"))
    try:
        results = _measure(base, options.rows, options.rounds)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print(json.dumps(results, indent=2))
    if options.out:
        options.out.write_text(json.dumps(results, indent=2))


def _measure(base: Path, rows: int, rounds: int) -> dict[str, Any]:
    source = base / "orders"
    _write(source, rows)
    small = base / "small"
    _write(small, rows // 5)
    runs: dict[str, list[dict[str, Any]]] = {"tidegate": [], "native": []}
    for number in range(rounds):
        for engine in ("tidegate", "native") if number % 2 == 0 else ("native", "tidegate"):
            home = Path(tempfile.mkdtemp(dir=base))
            run = tidegate(source, home) if engine == "tidegate" else native(source, home, rows)
            run["rows_per_s"] = run["rows"] / run["seconds"]
            runs[engine].append(run)
            load = os.getloadavg()[0]
            print(f"round {number + 1} {engine}: {run['rows_per_s']:,.0f} rows/s, load {load:.1f}")
            shutil.rmtree(home)
    fifth = tidegate(small, Path(tempfile.mkdtemp(dir=base)))
    medians = {
        engine: statistics.median(run["rows_per_s"] for run in of_engine)
        for engine, of_engine in runs.items()
    }
    peak = max(run["peak_bytes"] for run in runs["tidegate"])
    return {
        "rows": rows,
        "splits": SPLITS,
        "customers": CUSTOMERS,
        "epoch_rows": EPOCH_ROWS,
        "runs": runs,
        "median_rows_per_s": medians,
        "ratio_to_native": medians["tidegate"] / medians["native"],
        "peak_bytes": peak,
        "peak_bytes_of_a_fifth": fifth["peak_bytes"],
        "peak_ratio": peak / fifth["peak_bytes"],
    }


def _write(directory: Path, rows: int) -> None:
    write_orders(
        directory,
        SPLITS,
        rows,
        seed=1,
        disorder_us=4_000_000,
        late_share=0.001,
        step_us=1_000,
        customers=CUSTOMERS,
        files_per_split=FILES_PER_SPLIT,
    )


if __name__ == "__main__":
    main()
