"""Orders as they come: a process that puts so many into a topic every second, timed by its clock.

    python -m bench.live SERVERS TOPIC ROWS_PER_S SECONDS FILE

FILE gets one JSON line for each tick: [seconds since 1970, highest event time in µs by partition],
written when the tick's rows were handed to the broker. From these follows when a watermark could
first have passed a moment: when every partition has a row that is late enough behind it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from confluent_kafka import Producer

from bench.data import PARTITIONS
from tidegate.engine.engine import Engine

TICK_S: Final = 0.05
DISORDER_S: Final = 1.0
_CUSTOMERS: Final = 10_000
_LINES: Final = """
SELECT encode('{"id":' || id || ',"order_time":"'
  || strftime(make_timestamp(t), '%Y-%m-%d %H:%M:%S.%f') || '","price":' || price::DECIMAL(10, 2)
  || ',"customer_id":' || customer || '}')
FROM orders
"""


def command(servers: str, topic: str, rate: int, seconds: float, log: Path) -> list[str]:
    """How to run it as a process."""
    places = [servers, topic, str(rate), str(seconds), str(log)]
    return [sys.executable, "-m", "bench.live", *places]


def main(servers: str, topic: str, rate: int, seconds: float, log: Path) -> None:
    """Produces until the time is over."""
    producer = Producer(
        {"bootstrap.servers": servers, "linger.ms": 5, "queue.buffering.max.messages": 2_000_000}
    )
    random = np.random.default_rng(1)
    engine = Engine()
    began = tick = time.time()
    sent = 0
    with log.open("w") as file:
        while tick < began + seconds:
            tick += TICK_S
            time.sleep(max(0.0, tick - time.time()))
            rows = int(rate * (tick - began)) - sent
            highest = _produce(producer, engine, random, topic, sent, rows)
            sent += rows
            producer.flush()
            file.write(json.dumps([time.time(), highest]) + "\n")


def _produce(
    producer: Producer,
    engine: Engine,
    random: np.random.Generator,
    topic: str,
    first: int,
    rows: int,
) -> list[int]:
    """One tick: its rows, spread over the partitions; gives the highest time of each."""
    now_us = int(time.time() * 1e6)
    times = now_us - (random.random(rows) ** 4 * DISORDER_S * 1e6).astype(np.int64)
    orders = pa.table(
        {
            "id": np.arange(first, first + rows),
            "t": times,
            "price": random.integers(1, 100_000, rows) / 100,
            "customer": random.integers(0, _CUSTOMERS, rows),
        }
    )
    lines = engine.query(_LINES, {"orders": orders}).column(0).to_pylist()
    for number, line in enumerate(lines):
        producer.produce(topic, line, partition=number % PARTITIONS)
    return [int(times[part::PARTITIONS].max()) for part in range(PARTITIONS)]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), Path(sys.argv[5]))
