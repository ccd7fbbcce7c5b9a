"""CREATE TABLE … AS into a topic that it makes, with what users bring: a table, a function."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka.kit import Kit
from spark.processes import Warm

_STRATEGIES = """
from datetime import datetime


def on_flag(t: datetime, flag: bool | None) -> datetime | None:
    return t if flag else None
"""
_JOB = """
CREATE TEMPORARY FUNCTION watermarkOnFlag AS 'strategies.on_flag' LANGUAGE PYTHON;
CREATE FUNCTION shout(x VARCHAR) RETURNS VARCHAR LANGUAGE python WITH (vectorized = true) AS $$
import pyarrow.compute as pc

def shout(x):
    return pc.utf8_upper(x)
$$;
CREATE TABLE clicks (click_id INT, user_id INT, t TIMESTAMP(3), flag BOOLEAN,
  WATERMARK FOR t AS watermarkOnFlag(t, flag))
WITH ('connector' = 'filesystem', 'path' = '{path}/clicks', 'format' = 'json');
CREATE TABLE users (user_id INT, name STRING)
WITH ('connector' = 'filesystem', 'path' = '{path}/users', 'format' = 'csv',
  'csv.header' = 'false');
CREATE TABLE four (extra STRING, PRIMARY KEY (click_id) NOT ENFORCED)
DISTRIBUTED BY HASH(click_id) INTO {buckets} BUCKETS
WITH ('connector' = 'kafka', 'topic' = '{topic}', 'format' = 'json', 'changelog.mode' = 'append',
  'properties.bootstrap.servers' = '{servers}')
AS SELECT click_id, shout(u.name) AS name FROM `c`.`d`.clicks LEFT JOIN users AS u USING (user_id);
"""
_COUNT = 300


@pytest.fixture
def job(kafka: Kit, tmp_path: Path) -> tuple[Path, str]:
    """The job's file, and the topic, which is not there yet."""
    clicks, users = tmp_path / "clicks", tmp_path / "users"
    for folder in (clicks, users):
        folder.mkdir()
    rows = []
    for number in range(_COUNT):
        second = number % 60
        time = f"2026-01-01 10:{number // 60:02}:{second:02}"
        row = {"click_id": number, "user_id": number % 7, "t": time, "flag": second == 30}
        rows.append(json.dumps(row))
    # Behind the flag nothing earlier comes any more: this one is late.
    rows.append(json.dumps({"click_id": -1, "user_id": 1, "t": "2026-01-01 10:00:29"}))
    (clicks / "a.json").write_text("\n".join(rows))
    (users / "u.csv").write_text("".join(f"{n},user {n}\n" for n in range(5)))
    (tmp_path / "strategies.py").write_text(_STRATEGIES)
    topic = f"four-{tmp_path.name}"
    file = tmp_path / "job.sql"
    names = {"path": tmp_path, "topic": topic, "servers": kafka.bootstrap}
    file.write_text(_JOB.format(**names, buckets=4))
    return file, topic


def test_the_topic_is_made_and_has_the_rows(
    kafka: Kit, warm: Warm, job: tuple[Path, str], tmp_path: Path
) -> None:
    file, topic = job
    ended = warm.run("run", file, "--checkpoint", tmp_path / "checkpoint", cwd=tmp_path)
    assert ended.code == 0, ended.err
    partitions = kafka.read(topic)
    assert len(partitions) == 4
    assert all(partitions.values()), "all of them get keys"
    found = {}
    for messages in partitions.values():
        for message in messages:
            row = json.loads(message.value() or b"")
            assert json.loads(message.key() or b"") == {"click_id": row["click_id"]}
            found[row["click_id"]] = (row["extra"], row["name"])
    users = [f"USER {n}" if n < 5 else None for n in range(7)]
    assert found == {number: (None, users[number % 7]) for number in range(_COUNT)}
    late = warm.run("ledger", tmp_path / "checkpoint", "--json", cwd=tmp_path)
    assert [row["offset"] for row in json.loads(late.out)["rows"]] == [_COUNT]

    file.write_text(file.read_text().replace("INTO 4", "INTO 3"))
    refused = warm.run("run", file, "--checkpoint", tmp_path / "another", cwd=tmp_path)
    assert (refused.code, "has 4 partitions, not 3" in refused.err) == (2, True), refused.err
