from __future__ import annotations

from kits.entries import an_entry
from tidegate.reports.metrics.profile import COMMIT, DRIVER, Profile


def test_epochs_add_up() -> None:
    profile = Profile()
    for epoch in (1, 2):
        phases = {"source": {"read": 1.0, "decode": 0.5}, "writer": {"sink": 2.0}}
        profile.on_epoch(an_entry(epoch, phases=phases))
        profile.add(DRIVER, COMMIT, 0.25)
    assert profile.seconds() == {
        ("source", "read"): 2.0,
        ("source", "decode"): 1.0,
        ("writer", "sink"): 4.0,
        (DRIVER, COMMIT): 0.5,
    }


def test_what_spark_tells_twice_counts_once() -> None:
    profile = Profile()
    told = {"latestOffset": 5, "queryPlanning": 20, "walCommit": 10, "addBatch": 400}
    for number in (0, 0, 2, 1):
        profile.on_batch(number, told)
    assert profile.seconds() == {
        (DRIVER, "plan"): 0.01,
        (DRIVER, "query"): 0.04,
        (DRIVER, "offset log"): 0.02,
        (DRIVER, "commit log"): 0.0,
    }


def test_a_batch_that_waits_for_rows_is_not_counted_before_it_has_run() -> None:
    profile = Profile()
    profile.on_batch(4, {"latestOffset": 5, "triggerExecution": 5})
    profile.on_batch(4, {"latestOffset": 7, "walCommit": 10, "addBatch": 400})
    assert profile.seconds()[(DRIVER, "plan")] == 0.007
