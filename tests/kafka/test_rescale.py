"""Rescaled from topic to topic: each result once, though writers come and go."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from kafka.kit import Kit
from spark.processes import Warm

SQL = """
CREATE TABLE orders (id BIGINT, at BIGINT, WATERMARK FOR at AS at - 100) WITH (
  'connector' = 'kafka', 'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
CREATE TABLE windows (start BIGINT, id BIGINT, n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '{windows}', 'properties.bootstrap.servers' = '{servers}',
  'format' = 'json'
);
CREATE TABLE as_they_come (at BIGINT, id BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '{as_they_come}', 'properties.bootstrap.servers' = '{servers}',
  'format' = 'json'
);
INSERT INTO windows SELECT window_start, id, count(*) FROM TUMBLE(orders, at, 500)
GROUP BY window_start, id EMIT ON WINDOW CLOSE;
INSERT INTO as_they_come SELECT at, id FROM orders;
"""
PARTITIONS = 3
PART = 1_000


def row(number: int) -> dict[str, int]:
    return {"id": number % 17, "at": number - number * 7 % 50}


def closed(rows: int) -> Counter[tuple[int, ...]]:
    """What windows give when every partition has the same part of ``rows`` rows or so."""
    split_rows = [[row(n) for n in range(p, rows, PARTITIONS)] for p in range(PARTITIONS)]
    watermark = min(max(each["at"] for each in split) for split in split_rows) - 100
    counts = Counter((r["at"] // 500 * 500, r["id"]) for split in split_rows for r in split)
    return Counter((s, i, n) for (s, i), n in counts.items() if s + 500 <= watermark)


def test_every_row_once(kafka: Kit, warm: Warm, tmp_path: Path) -> None:
    source = kafka.topic("rescale-in", PARTITIONS)
    windows, as_they_come = kafka.topic("rescale-windows", 2), kafka.topic("rescale-rows", 2)
    file, checkpoint = tmp_path / "job.sql", tmp_path / "checkpoint"
    names = {"source": source, "windows": windows, "as_they_come": as_they_come}
    file.write_text(SQL.format(**names, servers=kafka.bootstrap))
    for part, tasks in enumerate((2, 4, 1, 3)):
        if part:
            done = warm.run("rescale", checkpoint, "--parallelism", tasks, cwd=tmp_path)
            assert done.code == 0, done.err
        for partition in range(PARTITIONS):
            numbers = range(part * PART, (part + 1) * PART)
            mine = [row(n) for n in numbers if n % PARTITIONS == partition]
            kafka.put(source, partition, [json.dumps(each).encode() for each in mine])
        args = ["run", file, "--checkpoint", checkpoint, "--available-now"]
        ran = warm.run(*args, "--set", "tidegate.epoch.rows.max=600", cwd=tmp_path)
        assert ran.code == 0, ran.err
        rows = (part + 1) * PART
        wanted = closed(rows)
        assert found(kafka, windows) == wanted
        assert len(wanted) > 10
        each = (row(number) for number in range(rows))
        assert found(kafka, as_they_come) == Counter((r["at"], r["id"]) for r in each)


def found(kafka: Kit, topic: str) -> Counter[tuple[int, ...]]:
    return Counter(tuple(json.loads(value).values()) for value in kafka.values(topic))
