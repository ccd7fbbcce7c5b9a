"""Rescaled from topic to topic: each result once, though writers come and go."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kafka.kit import Kit
from spark.processes import Warm

SQL = """
CREATE TABLE orders (id BIGINT, at BIGINT, WATERMARK FOR at AS at - 100) WITH (
  'connector' = 'kafka', 'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
CREATE TABLE out (start BIGINT, id BIGINT, n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '{sink}', 'properties.bootstrap.servers' = '{servers}',
  'format' = 'json'
);
{insert};
"""
WINDOWS = """
INSERT INTO out SELECT window_start, id, count(*) FROM TUMBLE(orders, at, 500)
GROUP BY window_start, id EMIT ON WINDOW CLOSE
"""
AS_THEY_COME = "INSERT INTO out SELECT at, id, 1 FROM orders"
PARTITIONS = 3
PART = 1_000


def row(number: int) -> dict[str, int]:
    return {"id": number % 17, "at": number - number * 7 % 50}


def closed(rows: int) -> Counter[tuple[int, int, int]]:
    """What windows give when every partition has the same part of ``rows`` rows or so."""
    split_rows = [[row(n) for n in range(p, rows, PARTITIONS)] for p in range(PARTITIONS)]
    watermark = min(max(each["at"] for each in split) for split in split_rows) - 100
    counts = Counter((r["at"] // 500 * 500, r["id"]) for split in split_rows for r in split)
    return Counter((s, i, n) for (s, i), n in counts.items() if s + 500 <= watermark)


@pytest.mark.parametrize("insert", [WINDOWS, AS_THEY_COME], ids=["windows", "as-they-come"])
def test_every_row_once(insert: str, kafka: Kit, warm: Warm, tmp_path: Path) -> None:
    source, sink = kafka.topic("rescale-in", PARTITIONS), kafka.topic("rescale-out", 2)
    file, checkpoint = tmp_path / "job.sql", tmp_path / "checkpoint"
    names = {"source": source, "sink": sink, "servers": kafka.bootstrap}
    file.write_text(SQL.format(**names, insert=insert))
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
        found = Counter(tuple(json.loads(value).values()) for value in kafka.values(sink))
        rows = (part + 1) * PART
        each = (row(number) for number in range(rows))
        wanted = closed(rows) if insert == WINDOWS else Counter((r["at"], r["id"], 1) for r in each)
        assert found == wanted
        assert len(wanted) > 10
