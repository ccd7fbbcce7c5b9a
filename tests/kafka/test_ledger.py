"""The ledger in a topic, and back from the checkpoint into another: each row once (S7)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka.kit import Kit
from spark.orders import ledger_of
from spark.processes import Warm
from tidegate.frontend import declared_sink
from tidegate.plan.tables import Table
from unit.reports.test_replay import LATE, World

ROWS = [
    {"id": 1, "at": 100_000},
    {"id": 2, "at": 1_000},
    {"id": 3, "at": None},
    {"id": "four", "at": 100_001},
    {"id": 5, "at": 2_000},
]
SQL = """
CREATE TABLE orders (id BIGINT, at BIGINT, WATERMARK FOR at AS at - 10) WITH (
  'connector' = 'kafka', 'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
CREATE TABLE late (`table` STRING, split STRING, `offset` BIGINT, lateness BIGINT, reason STRING,
  record STRING) WITH (
  'connector' = 'kafka', 'topic' = '{late}', 'properties.bootstrap.servers' = '{servers}',
  'format' = 'json'
);
CREATE TABLE again (id BIGINT, at BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '{again}', 'properties.bootstrap.servers' = '{servers}',
  'format' = 'json'
);
CREATE TABLE out (id BIGINT) WITH ('connector' = 'blackhole');
SET 'tidegate.ledger.table' = 'late';
INSERT INTO out SELECT id FROM orders;
"""


def test_to_a_topic_and_into_another(kafka: Kit, warm: Warm, tmp_path: Path) -> None:
    source, late, again = (kafka.topic(f"ledger-{name}") for name in ("in", "late", "again"))
    kafka.put(source, 0, [json.dumps(row).encode() for row in ROWS])
    file, checkpoint = tmp_path / "job.sql", tmp_path / "checkpoint"
    file.write_text(SQL.format(source=source, late=late, again=again, servers=kafka.bootstrap))
    args = ("run", file, "--checkpoint", checkpoint, "--available-now")
    assert warm.run(*args, cwd=tmp_path).code == 0
    copied = [json.loads(value) for value in kafka.values(late)]
    wanted = [
        {name: row[name] for name in ("table", "split", "offset", "lateness", "reason", "record")}
        for row in ledger_of(checkpoint)["rows"]
    ]
    assert sorted(copied, key=lambda row: int(row["offset"])) == wanted
    assert [row["reason"] for row in wanted] == ["late", "null_time", "malformed", "late"]

    replayed = ("replay", checkpoint, file, "--into", "again", "--reason", "late", "--json")
    assert json.loads(warm.run(*replayed, cwd=tmp_path).out)["rows"] == 2
    assert json.loads(warm.run(*replayed, cwd=tmp_path).out)["rows"] == 0
    assert [json.loads(value) for value in kafka.values(again)] == [ROWS[1], ROWS[4]]

    fixed = ("replay", checkpoint, file, "--into", "again", "--reason", "malformed", "--query")
    query = "SELECT 4 AS id, CAST(record->>'$.at' AS BIGINT) AS at FROM ledger"
    assert warm.run(*fixed, query, cwd=tmp_path).code == 0
    assert json.loads(kafka.values(again)[-1]) == {"id": 4, "at": 100_001}


def test_credentials_may_change_between_replays(
    kafka: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another password is no other topic, into which every row would be written again."""
    topic = kafka.topic("rotated")
    (tmp_path / "in").mkdir()
    world = World(tmp_path)

    def target(password: str, more: str = "") -> Table:
        monkeypatch.setenv(password, "secret")
        return declared_sink(
            "CREATE TABLE fixed (id BIGINT) WITH (connector = 'kafka', format = 'json',"
            f" topic = '{topic}', 'properties.bootstrap.servers' = '{kafka.bootstrap}',"
            f" 'properties.sasl.username' = 'u', 'properties.sasl.password' = '${{env:{password}}}'"
            f" {more})",
            "fixed.sql",
            "fixed",
        )

    world.add({**LATE, "offset": 1, "record": b'{"id": 1}'})
    assert world.replay(target("FIRST")).rows == 1
    world.add({**LATE, "offset": 2, "record": b'{"id": 2}'})
    more = ", 'properties.client.id' = 'other', 'sink.transaction-timeout' = '2 min'"
    assert world.replay(target("SECOND", more)).rows == 1
    assert [json.loads(value)["id"] for value in kafka.values(topic)] == [1, 2]
