"""One driver to a checkpoint: others are refused while it lives, and follow at once if it dies."""

from __future__ import annotations

import signal
from pathlib import Path

from oracle.jobs import expected, write
from spark.orders import order_lines, orders_job, problems_of
from spark.processes import Commands, wait_until


def test_one_driver_to_a_checkpoint(drivers: Commands, tidegate: Commands, tmp_path: Path) -> None:
    splits = {"a": [order_lines(31, 300)], "b": [order_lines(32, 300)]}
    spec = orders_job(splits, "'source.monitor-interval' = '1 s'", bounded=False)
    wanted = expected(spec)
    file, checkpoint = write(spec, tmp_path), tmp_path / "checkpoint"
    args = ["run", file, "--checkpoint", checkpoint, "--set", "tidegate.epoch.interval=100 ms"]

    holder = drivers.start(*args)
    holder.wait_for_line("epoch 1 ")
    refused = tidegate.run(*args)
    assert refused.code == 3
    assert f"another driver holds the checkpoint: process {holder.pid} on" in refused.err
    assert "--takeover" in refused.err
    assert "Traceback" not in refused.err

    holder.send(signal.SIGKILL)
    assert holder.wait().code == -signal.SIGKILL
    follower = drivers.start(*args)
    follower.wait_for_line(f"taking over the checkpoint from process {holder.pid}", 15)
    holder.wait_for_family(30)

    # With force a third one, elsewhere, takes it from the living, which stops without being told.
    wait_until((checkpoint / "spark/commits/0").exists, "the follower goes on")
    third = tidegate.start(*args, "--takeover")
    third.wait_for_line("as --takeover says")
    ended = follower.wait()
    assert ended.code == 3, ended.err
    assert "another driver has taken over" in ended.err
    (tmp_path / "in/orders/a/001.json").write_bytes(order_lines(33, 5))
    third.wait_for_line(f"read {wanted.counts.read + 5:,} ")
    third.send(signal.SIGTERM)
    ended = third.wait()
    assert ended.code == 0, ended.err
    assert "stopped behind epoch" in ended.err

    splits["a"].append(order_lines(33, 5))
    spec = orders_job(splits, bounded=False)
    assert problems_of(spec, expected(spec), tmp_path, checkpoint) == []
