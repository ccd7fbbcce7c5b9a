"""Who breaks things: each fault a class, which knows pods and nodes and nothing of the job's rows.

A fault is injected, and healed where it does not heal by itself. What it hits is drawn from a
seeded Random, so that a seed replays the schedule; which pod stands at a place of the list, the
cluster decides.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final, Protocol

from e2e.job import NAME, RELEASE
from e2e.namespace import Namespace, names, run

CUT_S: Final = 25.0
"""Longer than the driver's lease (15 s) and than Spark's patience with an executor."""
_KIT: Final = Path(__file__).parents[2].parent / "shared" / "cluster" / "cluster.sh"

_KILL: Final = """
import os, signal, sys
words = sys.argv[1].encode()
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        try:
            line = open(f"/proc/{name}/cmdline", "rb").read()
        except OSError:
            continue
        if words in line and b"/proc/" not in line and not line.startswith(b"/usr/bin/tini"):
            os.kill(int(name), signal.SIGKILL)
            print(name)
            break
else:
    sys.exit("no such process")
"""
"""Kills a process of a pod whose command line has certain words."""


class Fault(Protocol):
    """Something that happens to a cluster."""

    def __init__(self, namespace: Namespace) -> None: ...

    def inject(self, rng: Random) -> str:
        """Breaks something; gives a word on what."""

    def heal(self) -> None:
        """Mends it, where that is not the cluster's own work."""


@dataclass
class Faults:
    """What can happen to the job `e2e.job` in ``namespace``."""

    namespace: Namespace

    def heal(self) -> None:
        """Nothing: Kubernetes, Spark and the job do."""

    def _executor(self, rng: Random) -> str:
        found = self.namespace.executors(NAME)
        pods = sorted(names(pod for pod in found if pod["status"]["phase"] == "Running"))
        assert pods, "there is no executor to break"
        return rng.choice(pods)

    def _node_of(self, pod: str) -> str:
        return str(self.namespace.get("pod", pod)["spec"]["nodeName"])

    def _kill(self, pod: str, words: str) -> None:
        self.namespace.exec(pod, "python", "-c", _KILL, words)


class ExecutorDeleted(Faults):
    def inject(self, rng: Random) -> str:
        pod = self._executor(rng)
        self.namespace.delete_pod(pod, force=True)
        return f"deleted {pod}"


class ExecutorKilled(Faults):
    def inject(self, rng: Random) -> str:
        pod = self._executor(rng)
        self._kill(pod, "KubernetesExecutorBackend")
        return f"kill -9 of the JVM in {pod}"


class WorkerKilled(Faults):
    def inject(self, rng: Random) -> str:
        pod = self._executor(rng)
        self._kill(pod, "pyspark")
        return f"kill -9 of a Python worker in {pod}"


class AnyExecutor(Faults):
    """One of the three above."""

    def inject(self, rng: Random) -> str:
        kinds: tuple[type[Fault], ...] = (ExecutorDeleted, ExecutorKilled, WorkerKilled)
        return rng.choice(kinds)(self.namespace).inject(rng)


class DriverDeleted(Faults):
    def inject(self, rng: Random) -> str:
        pod = f"{RELEASE}-{NAME}-0"
        if rng.random() < 0.5:
            self.namespace.delete_pod(pod, force=True)
            return f"deleted {pod}"
        self._kill(pod, "tidegate.pod")
        return f"kill -9 of the driver in {pod}"


class StoreRestarted(Faults):
    def inject(self, rng: Random) -> str:
        self.namespace.delete_pod(f"{RELEASE}-minio-0", force=rng.random() < 0.5)
        return "restarted MinIO"


class BrokerRestarted(Faults):
    def inject(self, rng: Random) -> str:
        self.namespace.delete_pod(f"{RELEASE}-kafka-0", force=rng.random() < 0.5)
        return "restarted the broker"


@dataclass
class NodeFault(Faults):
    """To the node of an executor, if that node has neither driver nor store, broker or client."""

    node: str = ""

    def _spare_node(self, rng: Random) -> str:
        needed = {self._node_of(pod) for pod in (f"{RELEASE}-{NAME}-0", *_NEEDED)}
        nodes = {pod["spec"]["nodeName"] for pod in self.namespace.executors(NAME)} - needed
        assert nodes, "each node of an executor has what must not go"
        return str(rng.choice(sorted(nodes)))

    def _kit(self, command: str) -> None:
        run(os.environ.get("KIT", _KIT), command, self.node.removeprefix("node"))


class NodeOff(NodeFault):
    def inject(self, rng: Random) -> str:
        self.node = self._spare_node(rng)
        self._kit("kill-node")
        return f"powered {self.node} off"

    def heal(self) -> None:
        self._kit("start-node")
        run("kubectl", "wait", f"node/{self.node}", "--for=condition=Ready", "--timeout=120s")


class NodeCut(NodeFault):
    def inject(self, rng: Random) -> str:
        self.node = self._spare_node(rng)
        self._kit("cut-node")
        return f"cut {self.node} off for {CUT_S:.0f} s"

    def heal(self) -> None:
        time.sleep(CUT_S)
        self._kit("heal-node")


class Drained(NodeFault):
    def inject(self, rng: Random) -> str:
        self.node = self._spare_node(rng)
        flags = ("--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=120s")
        run("kubectl", "drain", self.node, *flags, timeout_s=150)
        return f"drained {self.node}"

    def heal(self) -> None:
        run("kubectl", "uncordon", self.node)


class Zombie(NodeFault):
    """Two drivers: the node of one is cut off, and it runs on; another is started in its place."""

    def inject(self, rng: Random) -> str:  # noqa: ARG002 - there is one driver
        pod = f"{RELEASE}-{NAME}-0"
        needed = {self._node_of(each) for each in _NEEDED}
        if self._node_of(pod) in needed:
            self._move(pod, needed)
        self.node = self._node_of(pod)
        self._kit("cut-node")
        time.sleep(CUT_S)
        run("kubectl", "cordon", self.node)
        self.namespace.delete_pod(pod, force=True)
        return f"cut {self.node} off with its driver, and had another started"

    def heal(self) -> None:
        self._kit("heal-node")
        run("kubectl", "uncordon", self.node)

    def _move(self, pod: str, away_from: set[str]) -> None:
        """Has the driver started on a node that may go."""
        for node in away_from:
            run("kubectl", "cordon", node)
        self.namespace.kubectl("delete", "pod", pod, timeout_s=180)
        self.namespace.wait(lambda: self._node_of(pod) not in away_from, "it has moved", 60)
        self.namespace.kubectl("wait", f"pod/{pod}", "--for=condition=Ready", "--timeout=180s",
                               timeout_s=200)  # fmt: skip
        for node in away_from:
            run("kubectl", "uncordon", node)


_NEEDED: Final = (f"{RELEASE}-minio-0", f"{RELEASE}-kafka-0", "outside")
"""What keeps data, and whoever looks from outside: their nodes stay."""

SCENARIOS: Final[Mapping[str, tuple[type[Fault], ...]]] = {
    "executors": (AnyExecutor,),
    "drivers": (DriverDeleted,),
    "store": (StoreRestarted,),
    "broker": (BrokerRestarted,),
    "node-off": (NodeOff,),
    "node-cut": (NodeCut,),
    "drain": (Drained,),
    "zombie": (Zombie,),
    "mix": (AnyExecutor, AnyExecutor, AnyExecutor, DriverDeleted, StoreRestarted, BrokerRestarted),
}
