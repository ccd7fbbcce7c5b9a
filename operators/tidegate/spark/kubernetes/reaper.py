"""Executors that hang are deleted, so that Spark replaces them: in Terminating, or before they run.

When a node dies, Kubernetes marks its pods for deletion and waits for the node to say that they are
gone, which it never does. Spark counts such a pod as running: it makes no other, for as long as the
node is away. The driver, which knows that it has lost the executor, need not wait.

A node can be there and yet start nothing (its disk, its images, its network): a pod that was given
to it stays Pending, and Spark waits for that one too. Behind `START_S` it is deleted, and the
scheduler has another choice. A pod that no node has room for is left alone: another would have
none either.

A driver that was started again in its pod finds the executors of the one before: they end by
themselves, but stay listed as long as that pod. They are deleted once, at the beginning.

Nothing is lost by it when the node was only cut off, and its executor runs on: the driver takes
nothing from an executor that it has lost, a task's rows are behind the fence of a transaction or
are files that no entry lists, and state is of the version that the next task reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from tidegate.clock import Clock
from tidegate.epochs.listener import Listener, Log

MARGIN_S: Final = 15.0
"""How long behind its grace period a pod may take: a slow node is no dead one."""
START_S: Final = 300.0
"""How long a node may take to start a pod: an image must be fetched within."""
EVERY_S: Final = 5.0


@dataclass(slots=True)
class Reaper(Listener):
    """Looks after the executors of one application. ``pods`` is a CoreV1Api of Kubernetes.

    Times are those of this process: a pod's own would be compared with another clock.
    """

    pods: Any
    namespace: str
    application: str
    driver: str  # its pod's name
    clock: Clock
    log: Log
    _tidied: bool = False
    _since_s: dict[tuple[str, bool], float] = field(default_factory=dict)
    """Since when a pod (by uid) is seen to end (True), or to be started (False)."""
    _looked_s: float = float("-inf")

    def on_tick(self, waiting: bool = False) -> None:
        """What the API server refuses or does not answer is tried again."""
        del waiting
        now_s = self.clock.monotonic_s()
        if now_s < self._looked_s + EVERY_S:
            return
        self._looked_s = now_s
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        try:
            if not self._tidied:
                self._tidy()
                self._tidied = True
            self._look(now_s)
        except (ApiException, HTTPError) as error:
            self.log(f"cannot look after executors: {str(error).splitlines()[0]}")

    def _tidy(self) -> None:
        """Deletes executors that this driver's pod owns, and this application does not."""
        for pod in self._executors("!="):
            owners = [owner.name for owner in pod.metadata.owner_references or ()]
            if self.driver in owners:
                self._delete(pod.metadata.name)

    def _look(self, now_s: float) -> None:
        hanging = [pod for pod in self._executors("=") if _is_ending(pod) or _is_starting(pod)]
        self._since_s = {
            key: self._since_s.get(key, now_s) for key in map(_key, hanging)
        }  # pods that are gone, or run, are forgotten
        for pod in hanging:
            name, waited_s = pod.metadata.name, now_s - self._since_s[_key(pod)]
            if not _is_ending(pod):
                if waited_s >= START_S:
                    self.log(f"deleting executor {name}: its node does not start it")
                    self._delete(name)
            elif waited_s >= (pod.metadata.deletion_grace_period_seconds or 0) + MARGIN_S:
                self.log(f"deleting executor {name} for good: it hangs, its node is away")
                self._delete(name, grace_period_seconds=0)

    def _executors(self, relation: str) -> list[Any]:
        """Pods of executors: of this application (``=``), or of all others (``!=``)."""
        selector = f"spark-role=executor,spark-app-selector{relation}{self.application}"
        found = self.pods.list_namespaced_pod(
            self.namespace, label_selector=selector, _request_timeout=EVERY_S
        )
        return list(found.items)

    def _delete(self, name: str, **options: Any) -> None:
        self.pods.delete_namespaced_pod(name, self.namespace, _request_timeout=EVERY_S, **options)


def _is_ending(pod: Any) -> bool:
    return bool(pod.metadata.deletion_timestamp)


def _is_starting(pod: Any) -> bool:
    return bool(pod.status.phase == "Pending" and pod.spec.node_name)


def _key(pod: Any) -> tuple[str, bool]:
    return pod.metadata.uid, _is_ending(pod)


def reaper_in(namespace: str, driver: str, application: str, clock: Clock, log: Log) -> Reaper:
    """The reaper of the driver in the pod ``driver``, by the token of its service account."""
    from kubernetes import client, config

    config.load_incluster_config()
    return Reaper(client.CoreV1Api(), namespace, application, driver, clock, log)
