"""The waiting; that the API server does what is asked of it is seen in tests/e2e."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.clock import ManualClock
from tidegate.spark.kubernetes.reaper import EVERY_S, MARGIN_S, START_S, Reaper

GRACE_S = 30


@dataclass
class Pods:
    """What the API server would say."""

    ending: dict[str, bool]
    """By name: whether the pod is being deleted."""
    starting: dict[str, str | None] = field(default_factory=dict)
    """Pods that do not run yet, by name: the node that is to start them."""
    earlier: dict[str, str] = field(default_factory=dict)
    """Executors of other applications, by name: the pod that owns them."""
    deleted: list[str] = field(default_factory=list)
    failing: bool = False

    def list_namespaced_pod(self, namespace: str, **options: Any) -> Any:
        from kubernetes.client import ApiException

        if self.failing:
            raise ApiException(status=500, reason="down")
        assert namespace == "streams"
        if options["label_selector"] == "spark-role=executor,spark-app-selector!=app":
            owners = {name: [SimpleNamespace(name=who)] for name, who in self.earlier.items()}
            return SimpleNamespace(
                items=[
                    SimpleNamespace(metadata=SimpleNamespace(name=name, owner_references=refs))
                    for name, refs in owners.items()
                ]
            )
        assert options["label_selector"] == "spark-role=executor,spark-app-selector=app"
        return SimpleNamespace(
            items=[
                *(_pod(name, ending, "Running", "node1") for name, ending in self.ending.items()),
                *(_pod(name, False, "Pending", node) for name, node in self.starting.items()),
            ]
        )

    def delete_namespaced_pod(self, name: str, namespace: str, **options: Any) -> None:
        assert namespace == "streams"
        self.deleted.append(name)
        if name in self.ending:
            assert options["grace_period_seconds"] == 0
            del self.ending[name]
        else:
            assert "grace_period_seconds" not in options
            self.starting.pop(name, None)
            self.earlier.pop(name, None)


def _pod(name: str, ending: bool, phase: str, node: str | None) -> Any:
    return SimpleNamespace(
        metadata=SimpleNamespace(
            name=name,
            uid=f"uid-{name}",
            deletion_timestamp="2026-01-01" if ending else None,
            deletion_grace_period_seconds=GRACE_S,
        ),
        status=SimpleNamespace(phase=phase),
        spec=SimpleNamespace(node_name=node),
    )


def world(**ending: bool) -> tuple[Pods, Reaper, ManualClock, list[str]]:
    pods, clock, said = Pods(ending), ManualClock(), list[str]()
    return pods, Reaper(pods, "streams", "app", "driver-0", clock, said.append), clock, said


def wait(reaper: Reaper, clock: ManualClock, seconds: float) -> None:
    until_s = clock.monotonic_s() + seconds
    while clock.monotonic_s() < until_s:
        clock.sleep(1)
        reaper.on_tick()


@pytest.mark.slow
def test_a_pod_that_hangs_is_deleted_when_its_time_is_over() -> None:
    pods, reaper, clock, said = world(hangs=True, runs=False)
    reaper.on_tick()
    wait(reaper, clock, GRACE_S + MARGIN_S - 1)
    assert pods.deleted == []
    wait(reaper, clock, 1 + EVERY_S)
    assert pods.deleted == ["hangs"]
    assert said == ["deleting executor hangs for good: it hangs, its node is away"]
    wait(reaper, clock, 1_000)
    assert pods.deleted == ["hangs"]


def test_a_pod_that_ends_in_time_is_left_alone() -> None:
    pods, reaper, clock, _ = world(ends=True)
    reaper.on_tick()
    wait(reaper, clock, GRACE_S)
    del pods.ending["ends"]
    wait(reaper, clock, 1_000)
    assert pods.deleted == []


def test_a_pod_that_its_node_does_not_start_is_deleted() -> None:
    pods, reaper, clock, said = world(runs=False)
    pods.starting = {"stuck": "node2", "slow": "node2", "without room": None}
    reaper.on_tick()
    wait(reaper, clock, START_S - 1)
    assert pods.deleted == []
    pods.ending["slow"] = pods.starting.pop("slow") is None  # it runs now
    wait(reaper, clock, 1 + EVERY_S)
    assert pods.deleted == ["stuck"]
    assert said == ["deleting executor stuck: its node does not start it"]
    wait(reaper, clock, 1_000)
    assert pods.deleted == ["stuck"]


def test_an_api_server_that_is_away_is_asked_again() -> None:
    pods, reaper, clock, said = world(hangs=True)
    pods.failing = True
    wait(reaper, clock, 60)
    assert "cannot look after executors" in said[0]
    pods.failing = False
    wait(reaper, clock, GRACE_S + MARGIN_S + 2 * EVERY_S)
    assert pods.deleted == ["hangs"]


def test_executors_of_the_driver_before_are_deleted_once() -> None:
    pods, reaper, clock, _ = world(runs=False)
    pods.earlier = {"old": "driver-0", "of another job": "driver-1"}
    wait(reaper, clock, 60)
    assert pods.deleted == ["old"]
    pods.earlier["came later"] = "driver-0"
    wait(reaper, clock, 60)
    assert pods.deleted == ["old"]
