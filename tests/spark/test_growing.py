"""Directories that grow: unbounded tables, ``--available-now``, files out of order, signals."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from oracle.jobs import JobSpec, expected, write
from spark.orders import BEGIN_US, SECOND_US, order_lines, orders_job, problems_of
from spark.processes import FORKED_WORKERS, Command, Commands, Warm, wait_until

MINUTE_US = 60 * SECOND_US
MONITORED = "'source.monitor-interval' = '1 s'"


def growing(parts: int) -> JobSpec:
    """The unbounded job when each of its splits has ``parts`` files, two minutes each."""
    splits = {
        split: [
            order_lines(seed * 10 + part, 300, BEGIN_US + part * 2 * MINUTE_US)
            for part in range(parts)
        ]
        for seed, split in ((3, "a"), (4, "b"))
    }
    return orders_job(splits, MONITORED, bounded=False)


def add_files(spec: JobSpec, directory: Path) -> None:
    """Brings ``directory`` to where ``spec`` is; a file appears whole."""
    for split, files in spec.splits.items():
        for number, content in enumerate(files):
            path = directory / "in/orders" / split / f"{number:03d}.json"
            if not path.exists():
                path.with_suffix(".part").write_bytes(content)
                path.with_suffix(".part").rename(path)


def test_available_now_closes_nothing_early(warm: Warm, tmp_path: Path) -> None:
    file, checkpoint = write(growing(1), tmp_path), tmp_path / "checkpoint"
    args = ["run", file, "--available-now", "--checkpoint", checkpoint]
    closed = []
    for parts in (1, 2, 3):
        spec = growing(parts)
        wanted = expected(spec)
        add_files(spec, tmp_path)
        ran = warm.run(*args, "--set", "tidegate.epoch.rows.max=400", cwd=tmp_path)
        assert ran.code == 0, ran.err
        assert problems_of(spec, wanted, tmp_path, checkpoint) == []
        closed.append(len(wanted.outputs["revenue"].rows))
    assert 0 < closed[0] < closed[1] < closed[2]

    # A run with nothing new gives nothing, and is no error.
    ran = warm.run(*args, cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert problems_of(spec, wanted, tmp_path, checkpoint) == []

    # A file that sorts before one already read would be read out of its split's order.
    intruder = tmp_path / "in/orders/b/001-forgotten.json"
    intruder.write_bytes(order_lines(99, 10))
    ran = warm.run(*args, cwd=tmp_path)
    assert ran.code == 4, ran.err
    assert "b/001-forgotten.json" in ran.err
    assert "Traceback" not in ran.err
    intruder.unlink()
    ran = warm.run(*args, cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert problems_of(spec, wanted, tmp_path, checkpoint) == []


def test_workers_are_killed_and_ctrl_c_stops(tidegate: Commands, tmp_path: Path) -> None:
    """Spark replaces workers and runs their epoch again, once; Ctrl-C ends it between epochs."""
    first, both = growing(1), growing(2)
    file, checkpoint = write(first, tmp_path), tmp_path / "checkpoint"
    args = ["run", file, "--checkpoint", checkpoint, "--set", "tidegate.epoch.interval=200 ms"]
    command = tidegate.start(*args, "--master", "local[2,4]")  # a task may fail four times
    command.wait_for_line(f"read {expected(first).counts.read:,} ")
    workers = [pid for pid, words in command.family().items() if FORKED_WORKERS in words]
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    add_files(both, tmp_path)
    command.wait_for_line(f"read {expected(both).counts.read:,} ")
    command.send_to_group(signal.SIGINT)
    ended = command.wait()
    assert ended.code == 0, ended.err
    assert "stopped behind epoch" in ended.err
    assert "Traceback" not in ended.err
    command.wait_for_family(30)
    assert problems_of(both, expected(both), tmp_path, checkpoint) == []
    assert len(list((checkpoint / "spark/offsets").glob("[0-9]*"))) == len(
        list((checkpoint / "spark/commits").glob("[0-9]*"))
    ), "an epoch was begun and not finished"


def in_a_long_epoch(tidegate: Commands, directory: Path) -> Command:
    """A job that is in the middle of its first epoch."""
    file, checkpoint = directory / "job.sql", directory / "checkpoint"
    file.write_text(
        "CREATE SOURCE orders (id BIGINT, order_time TIMESTAMP,"
        " WATERMARK FOR order_time AS order_time) WITH (connector = 'datagen',"
        " 'number-of-rows' = '2000000000') FORMAT PLAIN ENCODE JSON;\n"
        "CREATE SINK nothing AS SELECT id FROM orders WITH (connector = 'blackhole');\n"
    )
    args = ["run", file, "--checkpoint", checkpoint, "--set", "tidegate.epoch.rows.max=unlimited"]
    command = tidegate.start(*args)
    wait_until((checkpoint / "spark/offsets/0").exists, "the epoch has begun")
    return command


def test_a_jvm_that_is_killed_is_named(tidegate: Commands, tmp_path: Path) -> None:
    """The kernel kills it where memory is short; systemd signals it beside the driver."""
    command = in_a_long_epoch(tidegate, tmp_path)
    (jvm,) = (pid for pid, words in command.family().items() if "PythonGatewayServer" in words)
    os.kill(jvm, signal.SIGKILL)
    ended = command.wait(60)
    assert ended.code == 1, ended.err
    assert "Spark's JVM has ended in the middle of the run, with exit code -9" in ended.err
    assert str(tmp_path / "checkpoint/log/spark.log") in ended.err
    assert "internal error" not in ended.err
    assert "Traceback" not in ended.err
    command.wait_for_family(30)


def test_a_second_signal_stops_at_once(tidegate: Commands, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    command = in_a_long_epoch(tidegate, tmp_path)
    command.send(signal.SIGTERM)
    command.wait_for_line("stopping behind the epoch in progress")
    command.send(signal.SIGTERM)
    ended = command.wait(60)
    assert ended.code == 130, ended.err
    assert "will be run again" in ended.err
    assert "Traceback" not in ended.err
    assert not (checkpoint / "spark/commits/0").exists()
    command.wait_for_family(30)
