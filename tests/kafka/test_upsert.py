"""Results that change, in an upsert topic: through kills, its keys end in what is right."""

from __future__ import annotations

import json
import signal
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

from kafka.kit import Kit
from oracle.changes import ends_in
from spark.processes import Commands, Warm
from tidegate.connectors.datagen.orders import ORDERS, orders_of
from tidegate.connectors.generated import rows_of_split
from tidegate.engine.engine import Engine
from tidegate.plan.tables import Table
from tidegate.types import Op

_ROWS, _SPLITS, _EPOCH = 4_000, 3, 1_000
_JOB = """
CREATE TABLE orders (id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2), customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND)
WITH (connector = 'datagen', 'number-of-rows' = '{rows}', splits = '{splits}', seed = '7',
  disorder = '20 s', customers = '40');
CREATE TABLE spent (customer_id BIGINT, n BIGINT, total DECIMAL(38, 2), PRIMARY KEY (customer_id)
  NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = '{topic}',
  'properties.bootstrap.servers' = '{servers}', 'key.format' = 'json', 'value.format' = 'json');
INSERT INTO spent SELECT customer_id, count(*), sum(price) FROM orders GROUP BY customer_id
  HAVING count(*) < {most};
CREATE SINK minutes WITH (connector = 'print') AS
SELECT window_start, max(price) AS dearest FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE)
GROUP BY window_start;
"""
_MOST = 56
"""Groups that reach it leave the topic."""


def job_text(topic: str, servers: str) -> str:
    """The job, which writes into ``topic``."""
    names = {"rows": _ROWS, "splits": _SPLITS, "topic": topic, "servers": servers}
    return _JOB.format(**names, most=_MOST)


def accepted() -> list[dict[str, object]]:
    """The orders that are on time (S2), row by row."""
    options = (("seed", "7"), ("disorder", "20 s"), ("customers", "40"), ("splits", f"{_SPLITS}"))
    orders = orders_of(Table("orders", ORDERS, "datagen", "", options))
    engine, kept = Engine(), []
    for split in range(_SPLITS):
        watermark = None
        rows = orders.make(split, 0, rows_of_split(_ROWS, _SPLITS, split), engine).to_pylist()
        for row in rows:
            time_us = int(row["order_time"].timestamp() * 1e6)
            watermark = max(watermark or time_us - 5_000_000, time_us - 5_000_000)
            if time_us >= watermark:
                kept.append(row)
    return kept


def test_keys_have_what_is_right_in_the_end(
    kafka: Kit, drivers: Commands, warm: Warm, tmp_path: Path
) -> None:
    """A task dies between its rows and their commit, the driver behind an epoch's entry."""
    topic = kafka.topic("spent", partitions=2, settings={"cleanup.policy": "compact"})
    file = tmp_path / "job.sql"
    file.write_text(job_text(topic, kafka.bootstrap), encoding="utf-8")
    command = ["run", file, "--checkpoint", tmp_path / "checkpoint"]
    command += ["--set", f"tidegate.epoch.rows.max={_EPOCH}"]
    printed_text = ""
    of_workers = ["--set", "spark.executorEnv.TIDEGATE_FAILPOINTS=sink-before-commit:2"]
    of_driver = {"TIDEGATE_FAILPOINTS": "after-entry:3"}
    for code, args, env in ((1, of_workers, {}), (-signal.SIGKILL, [], of_driver)):
        started = drivers.start(*command, *args, **env)
        killed = started.wait()
        assert killed.code == code, killed.err
        started.wait_for_family(30)
        printed_text += killed.out
    ended = warm.run(*command, cwd=tmp_path)
    assert ended.code == 0, ended.err
    printed_text += ended.out

    groups: dict[int, list[Decimal]] = defaultdict(list)
    for row in accepted():
        groups[int(str(row["customer_id"]))].append(Decimal(str(row["price"])))
    right = {k: (len(prices), sum(prices)) for k, prices in groups.items() if len(prices) < _MOST}
    assert 0 < len(right) < len(groups), "some groups must have left"
    found: dict[int, tuple[int, Decimal]] = {}
    tombstones = 0
    for partition in kafka.read(topic).values():
        for message in partition:
            key = json.loads(message.key() or b"")["customer_id"]
            value = message.value()
            if value is None:
                tombstones += 1
                assert found.pop(key, None) is not None, "gone, and was not there"
            else:
                row = json.loads(value, parse_float=Decimal)
                assert found.get(key, (0, 0))[0] < row["n"], "twice, or backwards"
                found[key] = (row["n"], row["total"])
    assert found == right
    assert tombstones == len(groups) - len(right)
    # Nothing of an epoch is printed before the point at which the driver was killed.
    assert ends_in(printed(printed_text)) == dearest()


def printed(text: str) -> list[dict[str, object]]:
    """The changes that the job has printed."""
    signs = {op.sign: int(op) for op in Op}
    changes = []
    for line in text.splitlines():
        if line.startswith("minutes> "):
            sign, _, row = line.removeprefix("minutes> ").partition(" ")
            changes.append({**json.loads(row, parse_float=Decimal), "__op": signs[sign]})
    return sorted(changes, key=lambda change: str(change["window_start"]))  # of one actor each


def dearest() -> list[dict[str, object]]:
    """What must be there in the end."""
    found: dict[str, Decimal] = {}
    for row in accepted():
        minute = str(row["order_time"])[:16] + ":00"
        found[minute] = max(found.get(minute, Decimal(0)), Decimal(str(row["price"])))
    return [{"window_start": minute, "dearest": found[minute]} for minute in sorted(found)]
