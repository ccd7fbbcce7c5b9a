"""S6 over Kafka: read live, replayed from the start, in epochs of any size: the same rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka.killing import read_offsets
from kafka.kit import Kit
from kafka.orders import job_text, judged, rows_of
from kafka.workload import PARTITIONS, Workload
from spark.orders import ledger_of
from spark.processes import Commands, Warm, wait_until

ROWS_MAX = ("97", "1_000", "unlimited")


@pytest.fixture(scope="module")
def topic(kafka: Kit) -> str:
    return kafka.topic("replay", partitions=PARTITIONS)


def test_read_live(kafka: Kit, topic: str, tidegate: Commands, tmp_path: Path) -> None:
    sink = kafka.topic("replay-live", partitions=2)
    file, checkpoint = tmp_path / "job.sql", tmp_path / "checkpoint"
    file.write_text(job_text(kafka, topic, sink))
    command = tidegate.start(
        *("run", file, "--checkpoint", checkpoint, "--json"),
        *("--set", "tidegate.epoch.interval=100ms"),
    )
    command.wait_for_line("Spark")
    with Workload(kafka, topic, seed=6) as workload:
        wait_until(lambda: len(_epochs(checkpoint)) >= 3, "three epochs ran beside the producers")
        workload.wake()
        rows = workload.rows
        wait_until(lambda: workload.rows > rows + 500, "the idle partition has rows again")
        workload.finish()
        workload.put_last()
    ends = {f"{topic}-{part}": len(found) for part, found in kafka.read(topic).items()}
    wait_until(lambda: read_offsets(checkpoint) == ends, "all is read")
    command.stop()
    assert command.wait().code == 0, command.err
    wanted = judged(kafka.read(topic), topic)
    assert wanted.reasons == {"future", "late", "malformed", "null_time"}
    assert wanted.problems(rows_of(kafka, sink), ledger_of(checkpoint)) == []


@pytest.mark.parametrize("rows_max", ROWS_MAX)
def test_replayed(kafka: Kit, topic: str, warm: Warm, tmp_path: Path, rows_max: str) -> None:
    messages = kafka.read(topic)
    assert sum(map(len, messages.values())) > 500, "test_read_live has filled the topic"
    sink = kafka.topic(f"replay-{rows_max}", partitions=2)
    file, checkpoint = tmp_path / "job.sql", tmp_path / "checkpoint"
    file.write_text(job_text(kafka, topic, sink))
    ran = warm.run(
        *("run", file, "--checkpoint", checkpoint, "--available-now", "--json"),
        *("--set", f"tidegate.epoch.rows.max={rows_max}"),
        cwd=tmp_path,
    )
    assert ran.code == 0, ran.err
    wanted = judged(messages, topic)
    assert wanted.problems(rows_of(kafka, sink), ledger_of(checkpoint)) == []
    if rows_max != "unlimited":
        assert len(_epochs(checkpoint)) > 500 / int(rows_max.replace("_", ""))


def _epochs(checkpoint: Path) -> list[int]:
    return [json.loads(p.read_text())["epoch"] for p in (checkpoint / "epochs").glob("*.json")]
