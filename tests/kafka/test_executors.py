"""An executor that is lost costs its tasks, and not the query (T1)."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from kafka.kit import Kit
from kafka.orders import job_text, judged, rows_of
from kafka.workload import PARTITIONS, Workload
from spark.orders import ledger_of
from spark.processes import EXECUTOR, Command, Commands, stat_of, wait_until

_SETTLED_S = 2.0
"""Nothing tells whether the other writer has rows in the epoch, nor when it is through."""


def test_an_executor_is_killed_while_it_writes(
    kafka: Kit, tidegate: Commands, tmp_path: Path
) -> None:
    """What it had given to the other's writers goes with it, and is made again, in other bytes."""
    source = kafka.topic("executors-in", partitions=PARTITIONS)
    sink = kafka.topic("executors-out", partitions=2)
    workload = Workload(kafka, source, seed=11)
    workload.put_at_once(400)  # for three epochs: it is killed in the second
    workload.put_last()
    file, checkpoint = tmp_path / "job.sql", tmp_path / "checkpoint"
    file.write_text(job_text(kafka, source, sink))
    job = tidegate.start(
        *("run", file, "--checkpoint", checkpoint, "--available-now", "--json"),
        *("--master", "local-cluster[2,1,1024]", "--set", "tidegate.epoch.rows.max=200"),
        TIDEGATE_FAILPOINTS=",".join(f"sink-produced:{epoch}:stop" for epoch in range(2, 12)),
    )
    wait_until(lambda: bool(stopped(job)), "a writer stands between rows and marker")
    time.sleep(_SETTLED_S)  # the other one, if it has rows, stands there too
    victim, *others = stopped(job)
    for pid in others:
        os.kill(pid, signal.SIGCONT)
    time.sleep(_SETTLED_S)  # the other writer is through: the stage cannot begin anew as a whole
    os.kill(executor_of(victim), signal.SIGKILL)
    os.kill(victim, signal.SIGKILL)

    def has_ended() -> bool:
        for pid in stopped(job):  # the attempts that come in its place stop there too
            os.kill(pid, signal.SIGCONT)
        return not job.is_running

    wait_until(has_ended, "the job ends")
    ended = job.wait()
    assert ended.code == 0, ended.err
    wanted = judged(kafka.read(source), source)
    assert len(rows_of(kafka, sink)) > 20
    assert wanted.problems(rows_of(kafka, sink), ledger_of(checkpoint)) == []


def stopped(job: Command) -> list[int]:
    """Its processes that a failpoint has stopped."""
    found = []
    for pid in job.family():
        with suppress(OSError):  # it may have gone meanwhile
            if stat_of(pid)[0] == "T":
                found.append(pid)
    return sorted(found)


def executor_of(worker: int) -> int:
    """The executor's JVM above a Python worker."""
    while EXECUTOR not in Path(f"/proc/{worker}/cmdline").read_text():
        worker = int(stat_of(worker)[1])
        assert worker > 1, "no executor stands above it"
    return worker
