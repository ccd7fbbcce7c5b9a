from __future__ import annotations

from typing import Any

from tidegate.epochs.checkpoint import Entry
from tidegate.epochs.observations import observe
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.events import EVENTS, SINK_RETRY
from tidegate.ports import StagedFile


def actor(vnode: int, fragment: int = 1, **state: Any) -> dict[str, Any]:
    return {
        "type": "actor", "depth": 1, "vnode": vnode, "fragment": fragment, "sent": [1, 10],
        "memory": 100 + vnode, "phases": {"state": 0.5}, "state": state,
    }  # fmt: skip


def writer(**events: int) -> dict[str, Any]:
    late = {"rows": 1, "seconds": 2.0, "buckets": [0, 1, *[0] * 9]}
    return {
        "type": "writer", "phases": {"sink": 0.25}, "memory": 7,
        "rejected": {"a": {"o": {"late": late}}}, "events": events,
    }  # fmt: skip


def test_state_is_of_the_epoch_and_buckets_are_of_all_vnodes() -> None:
    entry = Entry(2, 0)
    reports = [
        actor(0, FinalAggregate=[3, 30, 2, 2, [60, 120]]),
        actor(1, FinalAggregate=[4, 40, 1, 2, [0, 60]]),
        actor(0, fragment=2),
    ]
    observe(entry, Entry(1, 0, state={"9": {"Gone": {}}}), reports, {})
    assert entry.state == {
        "1": {"FinalAggregate": {"rows": 7, "bytes": 70, "runs": 3, "buckets": 3, "oldest": 0}}
    }
    assert entry.phases == {"stage 1": {"state": 1.5}}
    assert entry.memory == {"stage 1": 101}


def test_of_very_many_buckets_the_count_is_that_of_the_vnode_that_has_most() -> None:
    entry = Entry(2, 0)
    reports = [actor(0, Sort=[9, 9, 9, 300, [1, 2]]), actor(1, Sort=[9, 9, 9, 400, [3]])]
    observe(entry, Entry(1, 0), reports, {})
    assert entry.state["1"]["Sort"]["buckets"] == 400


def test_what_adds_up_over_epochs_is_not_shared() -> None:
    EVENTS.take()
    files = {
        TO_SINK: [StagedFile("a", 0, 5, 50), StagedFile("b", 1, 6, 60)],
        TO_LEDGER: [StagedFile("l", 0, 1, 1)],
    }
    first, second = Entry(1, 0), Entry(2, 0)
    observe(first, Entry(0, 0), [actor(0), writer(**{SINK_RETRY: 2})], files)
    EVENTS.happened(SINK_RETRY)  # on the driver
    observe(second, first, [actor(0), writer()], files)
    assert (first.sent, second.sent) == ({"1": [1, 10]}, {"1": [2, 20]})
    assert (first.sunk, second.sunk) == ({str(TO_SINK): [2, 11, 110]}, {str(TO_SINK): [4, 22, 220]})
    assert (first.events, second.events) == ({SINK_RETRY: 2}, {SINK_RETRY: 3})
    assert first.rejected["a"]["o"]["late"]["rows"] == 1
    assert second.rejected["a"]["o"]["late"] == {
        "rows": 2,
        "seconds": 4.0,
        "buckets": [0, 2, *[0] * 9],
    }
