"""The harness of `kafka.killing`, with the seed that CI runs; `make kill` has each its own JVM."""

from __future__ import annotations

from kafka.killing import FAILPOINTS, run
from kafka.kit import Kit
from spark.processes import Commands

SEED, KILLS = 20261123, 4


def test_a_kill_at_each_place(kafka: Kit, drivers: Commands) -> None:
    verdict = run(kafka, drivers, SEED, KILLS)
    assert verdict.problems == [], f"seed {SEED}"
    assert len(verdict.killed) == KILLS
    places = {where for _, where in verdict.killed}
    assert places == {*FAILPOINTS, "anywhere"}
    reasons = {"behind_merged", "future", "late", "malformed", "null_time"}
    assert verdict.reasons == reasons, "the run must have met all that can befall a row"
    assert verdict.closed > 50
