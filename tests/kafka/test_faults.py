"""What a user sees when Kafka is not as it was: exit code, one clear message, in bounded time."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from kafka.kit import Kit
from spark.processes import Finished, Warm

SQL = """
CREATE TABLE orders (id BIGINT, at BIGINT, WATERMARK FOR at AS at) WITH (
  'connector' = 'kafka', 'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json'{options}
);
CREATE TABLE out (id BIGINT, at BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '{sink}', 'properties.bootstrap.servers' = '{sink_servers}',
  'format' = 'json'
);
INSERT INTO out SELECT id, at FROM orders;
"""
NOBODY = "127.0.0.1:1"


class Job:
    """A job in a directory of its own."""

    def __init__(self, kit: Kit, warm: Warm, directory: Path) -> None:
        self._kit, self._warm, self._directory = kit, warm, directory
        self.checkpoint = directory / "checkpoint"
        self.source, self.sink = kit.topic("faults-in"), kit.topic("faults-out")

    def run(self, options: str = "", **names: str) -> Finished:
        given = {
            "source": self.source,
            "sink": self.sink,
            "servers": self._kit.bootstrap,
            "sink_servers": self._kit.bootstrap,
            "options": options,
        }
        file = self._directory / "job.sql"
        file.write_text(SQL.format(**{**given, **names}))
        return self._warm.run(
            *("run", file, "--checkpoint", self.checkpoint, "--available-now", "--json"),
            cwd=self._directory,
        )

    def put(self, first: int, rows: int) -> None:
        values = [json.dumps({"id": n, "at": n}).encode() for n in range(first, first + rows)]
        self._kit.put(self.source, 0, values)

    @property
    def written(self) -> list[int]:
        return sorted(json.loads(value)["id"] for value in self._kit.values(self.sink))

    def watermarks(self) -> dict[str, Any]:
        ran = self._warm.run("watermarks", self.checkpoint, "--json", cwd=self._directory)
        assert ran.code == 0, ran.err
        document: dict[str, Any] = json.loads(ran.out)
        return document


@pytest.fixture
def job(kafka: Kit, warm: Warm, tmp_path: Path) -> Job:
    return Job(kafka, warm, tmp_path)


def test_a_topic_that_is_not_there(job: Job) -> None:
    ran = job.run(source=job.source[:-1])
    assert ran.code == 2
    assert "job.sql:3:" in ran.err
    assert f"there is no topic '{job.source[:-1]}'" in ran.err
    ran = job.run(sink=f"{job.sink}x")
    assert ran.code == 2
    assert f"there is no topic '{job.sink}x'" in ran.err
    assert f"did you mean '{job.sink}'?" in ran.err


@pytest.mark.parametrize("which", ["servers", "sink_servers"])
def test_brokers_that_do_not_answer(job: Job, which: str) -> None:
    began = time.monotonic()
    ran = job.run(**{which: NOBODY})
    assert ran.code == 1
    assert f"no answer from the brokers at {NOBODY}" in ran.err
    assert "Connection refused" in ran.err
    assert time.monotonic() - began < 30


def test_a_secret_that_is_not_there(job: Job) -> None:
    options = """, 'properties.sasl.password' = '${{env:TIDEGATE_NO_SUCH}}'"""
    ran = job.run(options.replace("{{", "{").replace("}}", "}"))
    assert ran.code == 2
    assert "there is no environment variable 'TIDEGATE_NO_SUCH'" in ran.err


def test_a_topic_made_anew_stops_the_job(kafka: Kit, job: Job) -> None:
    """Whether it has fewer rows than the job has read of the other, or more."""
    job.put(0, 20)
    assert job.run().code == 0
    kafka.delete(job.source)
    kafka.make(job.source)
    for first, rows in ((1_000, 5), (2_000, 45)):
        job.put(first, rows)
        ran = job.run()
        assert ran.code == 4, ran.err
        assert f"topic '{job.source}' of table 'orders' was deleted and created anew" in ran.err
        assert job.written == list(range(20)), "no row of the other topic"


def test_rows_that_retention_removed(kafka: Kit, job: Job) -> None:
    job.put(0, 20)
    assert job.run().code == 0
    job.put(20, 20)
    kafka.remove_before(job.source, 0, 31)
    ran = job.run()
    assert ran.code == 4, ran.err
    assert "offsets 20 to 30 of partition 0" in ran.err
    assert "'scan.fail-on-data-loss' = 'false'" in ran.err
    assert job.written == list(range(20))

    ran = job.run(", 'scan.fail-on-data-loss' = 'false'")
    assert ran.code == 0, ran.err
    assert f"lost: table 'orders', split '{job.source}-0', offsets 20 to 30" in ran.err
    assert job.written == [*range(20), *range(31, 40)]
    assert job.watermarks()["lost"] == {"orders": {f"{job.source}-0": [[20, 31]]}}


def test_what_watermarks_shows(job: Job) -> None:
    job.put(0, 20)
    assert job.run().code == 0
    job.put(20, 5)
    (filter_,) = job.watermarks()["filters"]
    assert filter_["held_by"] == [f"{job.source}-0"]
    assert filter_["splits"] == [
        {
            "split": f"{job.source}-0",
            "offset": 20,
            "end": 25,
            "lag": 5,
            "event_time": 19,
            "watermark": 19,
            "status": "active",
        }
    ]
