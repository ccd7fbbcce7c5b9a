"""S6 over Kafka: read live, replayed from the start, in epochs of any size: the same rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka.kit import Kit
from kafka.live import Live
from kafka.orders import job_text, judged, rows_of
from kafka.workload import PARTITIONS, Workload
from spark.orders import ledger_of
from spark.processes import Warm, wait_until


@pytest.fixture(scope="module")
def topic(kafka: Kit) -> str:
    return kafka.topic("replay", partitions=PARTITIONS)


def test_read_live(kafka: Kit, topic: str, warm: Warm, tmp_path: Path) -> None:
    sink = kafka.topic("replay-live", partitions=2)
    file, checkpoint = tmp_path / "job.sql", tmp_path / "checkpoint"
    file.write_text(job_text(kafka, topic, sink))
    with Live(warm, file, checkpoint, epoch_interval="100ms") as job:
        with Workload(kafka, topic, seed=6) as workload:
            job.wait_for_epochs(3)  # beside the producers
            workload.wake()
            rows = workload.rows
            wait_until(lambda: workload.rows > rows + 100, "the idle partition has rows again")
            workload.finish()
            workload.put_at_once(1_000)
            workload.put_last()
        job.wait_until_all_is_read(kafka, topic)
        ended = job.stop()
    assert ended.code == 0, ended.err
    wanted = judged(kafka.read(topic), topic)
    assert wanted.reasons == {"future", "late", "malformed", "null_time"}
    assert wanted.problems(rows_of(kafka, sink), ledger_of(checkpoint)) == []


@pytest.mark.parametrize("epochs", [4, 1])
def test_replayed(kafka: Kit, topic: str, warm: Warm, tmp_path: Path, epochs: int) -> None:
    messages = kafka.read(topic)
    rows = sum(map(len, messages.values()))
    assert rows > 500, "test_read_live has filled the topic"
    sink = kafka.topic(f"replay-{epochs}", partitions=2)
    file, checkpoint = tmp_path / "job.sql", tmp_path / "checkpoint"
    file.write_text(job_text(kafka, topic, sink))
    rows_max = rows // epochs if epochs > 1 else "unlimited"
    ran = warm.run(
        *("run", file, "--checkpoint", checkpoint, "--available-now", "--json"),
        *("--set", f"tidegate.epoch.rows.max={rows_max}"),
        cwd=tmp_path,
    )
    assert ran.code == 0, ran.err
    wanted = judged(messages, topic)
    assert wanted.problems(rows_of(kafka, sink), ledger_of(checkpoint)) == []
    assert len(_epochs(checkpoint)) >= epochs


def _epochs(checkpoint: Path) -> list[int]:
    return [json.loads(p.read_text())["epoch"] for p in (checkpoint / "epochs").glob("*.json")]
