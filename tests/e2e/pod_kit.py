"""`kafka.kit.Kit`, as far as a workload and a judge need it, of a Kafka inside a cluster.

Its brokers' names mean nothing out here, so a pod does the talking (`pod_script`).
"""

from __future__ import annotations

import base64
import json
import subprocess
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from e2e.namespace import Namespace, Object, environment

POD: Final = "outside"
_SCRIPT: Final = (Path(__file__).with_name("pod_script.py")).read_text()


@dataclass(frozen=True)
class Got:
    """A message that was read; with the names of confluent-kafka's."""

    at: int
    content: bytes

    def value(self) -> bytes:
        return self.content

    def offset(self) -> int:
        return self.at


class PodKit:
    """Talks to the brokers ``bootstrap`` through a pod, which it makes; one request at a time."""

    def __init__(self, namespace: Namespace, driver: Object, bootstrap: str) -> None:
        """``driver``: a StatefulSet of the chart, whose image and store the pod takes."""
        self.bootstrap = bootstrap
        self._namespace = namespace
        self._pod = _pod_like(driver)
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._namespace.apply(self._pod)
        self._namespace.kubectl("wait", f"pod/{POD}", "--for=condition=Ready", "--timeout=120s")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate(timeout=10)
        self._namespace.delete_pod(POD, force=True)

    def make(self, topic: str, partitions: int) -> None:
        self._ask("make", topic, partitions)

    def put(self, topic: str, partition: int, values: Iterable[bytes]) -> None:
        """Writes messages to a partition, in order, and waits until they are there."""
        self._ask("put", topic, partition, [base64.b64encode(value).decode() for value in values])

    def read(self, topic: str) -> dict[int, list[Got]]:
        """All messages that a ``read_committed`` reader sees now, by partition."""
        return {
            int(partition): [Got(offset, base64.b64decode(value)) for offset, value in found]
            for partition, found in self._ask("read", topic).items()
        }

    def values(self, topic: str) -> list[bytes]:
        return [message.value() for found in self.read(topic).values() for message in found]

    def files(self, uri: str, behind: str = "") -> dict[str, bytes]:
        """The files directly in a folder of the store, of names behind ``behind``."""
        found = self._ask("files", uri, behind)
        return {name: base64.b64decode(content) for name, content in found.items()}

    def newest(self, uri: str) -> bytes:
        """The last file of a folder, by name."""
        return base64.b64decode(self._ask("newest", uri))

    def tidegate(self, *args: object) -> str:
        """What the command line says in the pod. Raises AssertionError when it fails."""
        return self._namespace.exec(POD, "tidegate", *args, timeout_s=600).decode()

    def _ask(self, operation: str, *args: Any) -> Any:
        with self._lock:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({"op": operation, "args": args}).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        assert line, f"the pod '{POD}' is gone"
        answer = json.loads(line)
        assert "error" not in answer, f"{operation}: {answer['error']}"
        return answer["answer"]

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            command = ["kubectl", "--namespace", self._namespace.name, "exec", "-i", POD, "--"]
            command += ["python", "-u", "-c", _SCRIPT, self.bootstrap]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
            )
        return self._process


def _pod_like(driver: Object) -> Object:
    template = driver["spec"]["template"]
    (container,) = template["spec"]["containers"]
    labels = {
        **{key: template["metadata"]["labels"][key] for key in _RELEASE},
        "app.kubernetes.io/component": POD,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": POD, "labels": labels},
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 0,
            "affinity": {
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_NEAR]}
            },
            "securityContext": template["spec"]["securityContext"],
            "containers": [
                {
                    "name": POD,
                    "image": container["image"],
                    "imagePullPolicy": container["imagePullPolicy"],
                    "command": ["sleep", "infinity"],
                    "env": [each for each in container["env"] if each["name"].startswith("AWS_")],
                    "securityContext": container["securityContext"],
                    "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
                }
            ],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        },
    }


_NEAR: Final = {
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": {"matchLabels": {"app.kubernetes.io/component": "kafka"}},
}
"""With a broker, whose node is never broken: what looks must not be what breaks."""
_RELEASE: Final = ("app.kubernetes.io/name", "app.kubernetes.io/instance")
