"""Who breaks things: each fault a class, which knows pods and nodes and nothing of the job's rows.

What a fault hits is drawn from a seeded Random, so that a seed replays the schedule; which pod
stands at a place of the list, the cluster decides.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final, Protocol

from chaos.job import EXECUTORS
from e2e.job import NAME, RELEASE
from e2e.namespace import Namespace, Object, names, run
from tidegate.spark.launch.gateway import DAEMON

CUT_S: Final = 25.0
"""Longer than the driver's lease (15 s), shorter than what Spark lets an executor be silent."""
DRIVER: Final = f"{RELEASE}-{NAME}-0"
STORE: Final = f"{RELEASE}-minio-0"
BROKER: Final = f"{RELEASE}-kafka-0"
_KEPT: Final = (STORE, BROKER, "outside")
"""What keeps data, and whoever looks from outside: their nodes stay."""
_KIT: Final = Path(__file__).parents[2].parent / "shared" / "cluster" / "cluster.sh"

_KILL: Final = """
import os, signal, sys, time
words = sys.argv[1].encode()
found = []
until_s = time.monotonic() + 60  # an executor that is new has no workers yet
while not found and time.monotonic() < until_s:
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                line = open(f"/proc/{name}/cmdline", "rb").read()
            except OSError:
                continue
            if words in line and not line.startswith((b"/usr/bin/tini", b"python\\0-c")):
                found.append(int(name))
    time.sleep(0.2)
if not found:
    sys.exit("no such process")
if os.fork() == 0:  # the container, and this with it, may be gone by the kill: answer first
    os.setsid()
    for stream in (0, 1, 2):
        os.close(stream)
    time.sleep(0.2)
    os.kill(min(found), signal.SIGKILL)
"""
"""Kills a process of a pod whose command line has certain words: the oldest of them."""


class Fault(Protocol):
    """Something that happens to a job."""

    def prepare(self, rng: Random) -> None:
        """Chooses what to break, and puts the cluster into the state for it."""

    def inject(self) -> str:
        """Breaks it; gives a word on what."""

    def is_over(self) -> bool:
        """Whether what was broken is there again, apart from the job."""

    def heal(self) -> None:
        """Mends what is not the cluster's own work; also after a failure."""


@dataclass
class Faults:
    """What can happen to the job `e2e.job` in ``namespace``; by default to one pod."""

    namespace: Namespace
    pod: str = ""
    _uid: str = ""
    _only = ""
    """The pod that it happens to, if that is no executor."""

    def prepare(self, rng: Random) -> None:
        """Chooses a pod."""
        self.pod = self._only or self._executor(rng)
        self._uid = self.namespace.get("pod", self.pod)["metadata"]["uid"]

    def is_over(self) -> bool:
        """One of the same name is ready; an executor's name does not come again."""
        if not self._only:
            return True
        pod = self.namespace.get("pod", self.pod)
        return bool(pod["metadata"]["uid"] != self._uid and _is_ready(pod))

    def heal(self) -> None:
        """Nothing: Kubernetes, Spark and the job do."""

    def _executor(self, rng: Random) -> str:
        """One that runs."""
        found = self.namespace.executors(NAME)
        pods = sorted(names(pod for pod in found if pod["status"]["phase"] == "Running"))
        assert pods, "there is no executor to break"
        return rng.choice(pods)

    def _node_of(self, pod: str) -> str:
        return str(self.namespace.get("pod", pod)["spec"]["nodeName"])

    def _kill(self, words: str) -> None:
        self.namespace.exec(self.pod, "python", "-c", _KILL, words)


class PodDeleted(Faults):
    def inject(self) -> str:
        self.namespace.delete_pod(self.pod, force=True)
        return f"deleted {self.pod}"


class ExecutorKilled(Faults):
    def inject(self) -> str:
        self._kill("KubernetesExecutorBackend")
        return f"kill -9 of the JVM in {self.pod}"


class WorkerKilled(Faults):
    def inject(self) -> str:
        self._kill(DAEMON)
        return f"kill -9 of the Python workers' parent in {self.pod}"


class DriverDeleted(PodDeleted):
    _only = DRIVER


class DriverKilled(DriverDeleted):
    """In the same pod: each further time kubelet waits twice as long before it starts it."""

    def inject(self) -> str:
        self._kill("tidegate.pod")
        return f"kill -9 of the driver in {self.pod}"

    def is_over(self) -> bool:
        return _is_ready(self.namespace.get("pod", self.pod))


class StoreRestarted(PodDeleted):
    _only = STORE

    def inject(self) -> str:
        super().inject()
        return "killed MinIO"


class BrokerRestarted(PodDeleted):
    _only = BROKER

    def inject(self) -> str:
        super().inject()
        return "killed the broker"


@dataclass
class NodeFault(Faults):
    """To a node with an executor, and without what must stay; pods are moved until there is one."""

    node: str = ""
    _cordoned: set[str] = field(default_factory=set)

    def prepare(self, rng: Random) -> None:
        kept = {self._node_of(pod) for pod in _KEPT}
        spare = sorted(set(names(_nodes())) - kept)
        assert spare, "each node has what must not go"
        self.node = rng.choice(spare)
        self._put(DRIVER, lambda pod: self._node_of(pod) != self.node, away_from={self.node})
        if not self._executors_there():
            (victim, *_) = sorted(names(self.namespace.executors(NAME)))
            others = set(names(_nodes())) - {self.node}
            self._cordon(others)
            self.namespace.delete_pod(victim, force=True)
            self.namespace.wait(self._executors_there, f"an executor is on {self.node}", 120)
            self._uncordon()

    def is_over(self) -> bool:
        return True

    def heal(self) -> None:
        self._uncordon()

    def _executors_there(self) -> bool:
        pods = self.namespace.executors(NAME)
        return len(pods) == EXECUTORS and any(
            pod["spec"].get("nodeName") == self.node and _is_ready(pod) for pod in pods
        )

    def _put(self, pod: str, is_right: Callable[[str], bool], away_from: set[str]) -> None:
        """Has a pod of a StatefulSet started elsewhere, if it is not where it should be."""
        if is_right(pod):
            return
        self._cordon(away_from)
        self.namespace.kubectl("delete", "pod", pod, timeout_s=180)
        self.namespace.wait(lambda: is_right(pod), f"{pod} has moved", 60)
        self.namespace.wait(
            lambda: _is_ready(self.namespace.get("pod", pod)), f"{pod} is ready", 240
        )
        self._uncordon()

    def _cordon(self, nodes: set[str]) -> None:
        for node in nodes:
            self._cordoned.add(node)
            run("kubectl", "cordon", node)

    def _uncordon(self) -> None:
        for node in sorted(self._cordoned):
            run("kubectl", "uncordon", node)
        self._cordoned.clear()

    def _kit(self, command: str) -> None:
        if self.node:
            run(os.environ.get("KIT", _KIT), command, self.node.removeprefix("node"))


class NodeOff(NodeFault):
    def inject(self) -> str:
        self._kit("kill-node")
        return f"powered {self.node} off"

    def heal(self) -> None:
        super().heal()
        self._kit("start-node")
        run("kubectl", "wait", f"node/{self.node}", "--for=condition=Ready", "--timeout=120s",
            timeout_s=150)  # fmt: skip


class NodeCut(NodeFault):
    def inject(self) -> str:
        self._kit("cut-node")
        time.sleep(CUT_S)
        self._kit("heal-node")
        return f"cut {self.node} off for {CUT_S:.0f} s"

    def heal(self) -> None:
        super().heal()
        self._kit("heal-node")


class Drained(NodeFault):
    def inject(self) -> str:
        self._cordoned.add(self.node)
        flags = ("--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=120s")
        run("kubectl", "drain", self.node, *flags, timeout_s=150)
        return f"drained {self.node}"


class Zombie(NodeFault):
    """Two drivers: the node of one is cut off, and it runs on; another is started in its place."""

    def prepare(self, rng: Random) -> None:  # noqa: ARG002 - there is one driver
        kept = {self._node_of(pod) for pod in _KEPT}
        self._put(DRIVER, lambda pod: self._node_of(pod) not in kept, away_from=kept)
        self.node = self._node_of(DRIVER)
        self._uid = self.namespace.get("pod", DRIVER)["metadata"]["uid"]

    def inject(self) -> str:
        self._kit("cut-node")
        self._cordon({self.node})
        self.namespace.delete_pod(DRIVER, force=True)
        return f"cut {self.node} off with its driver, which ran on, and had another started"

    def is_over(self) -> bool:
        pod = self.namespace.get("pod", DRIVER)
        return bool(pod["metadata"]["uid"] != self._uid and _is_ready(pod))

    def heal(self) -> None:
        self._kit("heal-node")
        super().heal()


def _nodes() -> list[Object]:
    return Namespace("default").all("node")


def _is_ready(pod: Object) -> bool:
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", ())}
    return conditions.get("Ready") == "True"


SCENARIOS: Final[Mapping[str, tuple[Callable[[Namespace], Fault], ...]]] = {
    "executors": (PodDeleted, ExecutorKilled, WorkerKilled),
    "drivers": (DriverDeleted, DriverDeleted, DriverKilled),
    "store": (StoreRestarted,),
    "broker": (BrokerRestarted,),
    "node-off": (NodeOff,),
    "node-cut": (NodeCut,),
    "drain": (Drained,),
    "zombie": (Zombie,),
    "mix": (
        PodDeleted, ExecutorKilled, WorkerKilled, DriverDeleted, StoreRestarted,
        BrokerRestarted,
    ),
}  # fmt: skip
