"""Each block of results that change (S14), on Spark, from real topics, through a restart.

``a`` is an upsert topic, ``b`` has rows that only come, ``c`` versions of rows, in any partition
and any order. All queries are one job, each of them a view.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import duckdb
from deltalake import DeltaTable

from kafka.kit import Kit, Put
from spark.processes import Warm

QUERIES = {
    "inner_pairs": "SELECT a.id, a.v, b.w FROM a JOIN b ON a.k = b.k AND a.v <= b.v",
    "left_pairs": "SELECT a.id, b.id AS other FROM a LEFT JOIN b ON a.k = b.k AND b.w > 5",
    "right_pairs": "SELECT a.v, b.id AS other FROM a RIGHT JOIN b ON a.k = b.k AND a.v = b.v",
    "full_pairs": "SELECT a.id, c.v FROM a FULL JOIN c ON a.id = c.id",
    "some": "SELECT id, v FROM a WHERE k IN (SELECT k FROM b WHERE w > 7)",
    "none": "SELECT id, v FROM a WHERE k NOT IN (SELECT k FROM b WHERE w > 7)",
    "nearest": (
        "SELECT a.id, b.w FROM a ASOF JOIN (SELECT k, v, max(w) AS w FROM b GROUP BY k, v) AS b"
        " ON a.k = b.k AND a.v >= b.v"
    ),
    "nearest_or_none": (
        "SELECT a.id, b.w FROM a ASOF LEFT JOIN"
        " (SELECT k, v, max(w) AS w FROM b GROUP BY k, v) AS b ON a.k = b.k AND a.v < b.v"
    ),
    "only_come": "SELECT x.id, y.w FROM b AS x JOIN b AS y ON x.k = y.k AND x.w < y.w",
    "counted": "SELECT k, count(*) AS n FROM b GROUP BY k",
    "sums": "SELECT k, count(*) AS n, sum(v) AS v, avg(v) AS mean FROM a GROUP BY k",
    "most": "SELECT k, max(v) AS v, count(DISTINCT v) AS n FROM a GROUP BY k",
    "kinds": (
        "SELECT n, count(*) AS ks FROM (SELECT k, count(*) AS n FROM a GROUP BY k) AS x GROUP BY n"
    ),
    "first": (
        "SELECT k, rn, id FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC, id)"
        " AS rn FROM a) AS x WHERE rn <= 2"
    ),
    "ranked": (
        "SELECT id, r FROM (SELECT *, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM a) AS x"
        " WHERE r <= 2"
    ),
    "densely": (
        "SELECT id, r FROM (SELECT *, dense_rank() OVER (PARTITION BY k ORDER BY v) AS r FROM c)"
        " AS x WHERE r <= 2"
    ),
    "running": "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id) AS total FROM a",
    "present": "SELECT id, w FROM b WHERE ts > now() - INTERVAL '1' DAY",
}
"""What DuckDB understands, too. Half of the times are past, half in a hundred years."""
_IDS = 60
_COLUMNS = "id BIGINT, k BIGINT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED"
JOB = """
CREATE TABLE a ({columns}) WITH ('connector' = 'upsert-kafka', 'topic' = '{a}',
  'properties.bootstrap.servers' = '{servers}', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE b (id BIGINT, k BIGINT, v BIGINT, w BIGINT, ts TIMESTAMP(3)) WITH (
  'connector' = 'kafka', 'topic' = '{b}', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE c (n BIGINT, op STRING, {columns}) WITH ('connector' = 'kafka', 'topic' = '{c}',
  'properties.bootstrap.servers' = '{servers}', 'scan.startup.mode' = 'earliest-offset',
  'format' = 'json', 'scan.changes.op' = 'op', 'scan.changes.version' = 'n');
"""


def job(**names: str) -> str:
    """The job over topics, and brokers, of these names."""
    text = JOB.format(columns=_COLUMNS, **names)
    return text + "".join(
        f"CREATE MATERIALIZED VIEW {name} AS {query} ALLOW UNBOUNDED;\n"
        for name, query in QUERIES.items()
    )


class Tables:
    """What stands in the topics, and what the tables hold."""

    def __init__(self, kafka: Kit) -> None:
        self._kafka = kafka
        self._rng = Random(11)
        self._number = 0
        self.topics = {"a": kafka.topic("a", 2), "b": kafka.topic("b", 2), "c": kafka.topic("c", 2)}
        self.rows: dict[str, dict[int, tuple[Any, ...]]] = {"a": {}, "b": {}, "c": {}}

    def write(self, count: int) -> None:
        """So many records more in each topic."""
        for name, topic in self.topics.items():
            found: dict[int, list[Put]] = {0: [], 1: []}
            for partition, message in self._records(name, count):
                found[partition].append(message)
            for partition, messages in found.items():
                self._kafka.put(topic, partition, messages)

    def _records(self, name: str, count: int) -> Iterator[tuple[int, Put]]:
        rng, rows = self._rng, self.rows[name]
        for _ in range(count):
            self._number += 1
            id_ = self._number if name == "b" else rng.randrange(_IDS)
            k, v, w = rng.randrange(12), rng.randrange(9), rng.randrange(10)
            key = json.dumps({"id": id_}).encode()
            if name == "b":
                year = rng.choice([2001, 2125])
                rows[id_] = id_, k, v, w, f"{year}-01-01 00:00:00"
                value = dict(zip(("id", "k", "v", "w", "ts"), rows[id_], strict=True))
            elif rng.random() < 0.2 and name == "a":
                rows.pop(id_, None)
                yield id_ % 2, Put(None, key)
                continue
            else:
                value = {"id": id_, "k": k, "v": v}
                if name == "c":  # the greatest version counts, wherever and whenever it comes
                    version = rng.randrange(1_000_000)
                    value |= {"n": version, "op": "u"}
                    if id_ not in rows or rows[id_][3] < version:
                        rows[id_] = id_, k, v, version
                else:
                    rows[id_] = id_, k, v
            partition = rng.randrange(2) if name in "bc" else id_ % 2
            yield partition, Put(json.dumps(value).encode(), key)

    def answers(self) -> dict[str, list[tuple[Any, ...]]]:
        """What the queries are of the tables, as they are now."""
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE a (id BIGINT, k BIGINT, v BIGINT)")
            connection.execute(
                "CREATE TABLE b (id BIGINT, k BIGINT, v BIGINT, w BIGINT, ts TIMESTAMP)"
            )
            connection.execute("CREATE TABLE c (id BIGINT, k BIGINT, v BIGINT, n BIGINT)")
            for name, rows in self.rows.items():
                marks = ", ".join("?" * (5 if name == "b" else 3 + (name == "c")))
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", list(rows.values()))
            connection.execute("SET TimeZone = 'UTC'")
            return {
                name: connection.execute(f"FROM ({query}) ORDER BY ALL").fetchall()
                for name, query in QUERIES.items()
            }


def test_each_block_through_a_restart(kafka: Kit, warm: Warm, tmp_path: Path) -> None:
    tables, file, checkpoint = Tables(kafka), tmp_path / "job.sql", tmp_path / "checkpoint"
    file.write_text(job(servers=kafka.bootstrap, **tables.topics), encoding="utf-8")
    args = ["run", file, "--available-now", "--checkpoint", checkpoint]
    args += ["--set", "tidegate.vnodes=2", "--set", "tidegate.epoch.rows.max=60"]
    for count in (90, 60):
        tables.write(count)
        ended = warm.run(*args, cwd=tmp_path)
        assert ended.code == 0, ended.err
        for name, wanted in tables.answers().items():
            view = DeltaTable(checkpoint / "views" / name).to_pyarrow_dataset()
            with duckdb.connect() as connection:
                connection.register("view", view)
                assert connection.execute("FROM view ORDER BY ALL").fetchall() == wanted, name
