"""The harness of `kafka.killing`, with the seed that CI runs; `make kill` has each its own JVM."""

from __future__ import annotations

import signal
from pathlib import Path

from kafka.killing import FAILPOINTS, Ends, read_offsets, run
from kafka.kit import Kit
from spark.processes import TIMEOUT_S, Commands, Warm, wait_until

SEED, KILLS = 20260293, 4


def test_a_kill_at_each_place(kafka: Kit, drivers: Commands, warm: Warm) -> None:
    """The last run, which nothing happens to, is on the warm Spark."""

    def finish(commands: Commands, args: list[object], checkpoint: Path, ends: Ends) -> None:
        warm.begin(*args, "--set", "tidegate.epoch.rows.max=unlimited", cwd=commands.cwd)
        wait_until(lambda: read_offsets(checkpoint) == ends, "all is read")
        warm.process.send_signal(signal.SIGTERM)
        ended = warm.end(TIMEOUT_S)
        assert ended is not None, "it does not stop"
        assert ended.code == 0, ended.err

    verdict = run(kafka, drivers, SEED, KILLS, finish)
    assert verdict.problems == [], f"seed {SEED}"
    assert len(verdict.killed) == KILLS
    places = {where for _, where in verdict.killed}
    assert places == {*FAILPOINTS, "anywhere"}
    reasons = {"behind_merged", "future", "late", "malformed", "null_time"}
    assert verdict.reasons == reasons, "the run must have met all that can befall a row"
    assert verdict.closed > 50
