"""A namespace of a cluster, by kubectl and helm, as people use them.

The cluster is $KUBECONFIG's, or the kit's where that is unset; the namespace is always named.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from spark.processes import wait_until

KIT: Final = Path(os.environ.get("KF_HOME") or Path.home() / ".cache" / "kf")
CHART: Final = Path(__file__).parents[2] / "charts" / "tidegate"

Object = dict[str, Any]


def environment() -> dict[str, str]:
    """Of kubectl and helm. Raises AssertionError where there is no cluster."""
    found = dict(os.environ)
    kit = KIT / "run" / "admin.conf"
    if "KUBECONFIG" not in found and kit.exists():
        found["KUBECONFIG"] = str(kit)
    assert "KUBECONFIG" in found, "there is no cluster: set KUBECONFIG, or cluster.sh up 3"
    if found["KUBECONFIG"] == str(kit):
        found["PATH"] = f"{KIT / 'bin'}:{found['PATH']}"
    return found


def run(*command: object, stdin: bytes | None = None, timeout_s: float = 120) -> bytes:
    """A program's output. Raises AssertionError, with its words, when it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        input=stdin,
        capture_output=True,
        check=False,
        env=environment(),
        timeout=timeout_s,
    )
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr.decode(errors='replace')}"
    return done.stdout


@dataclass(frozen=True)
class Namespace:
    """What is in the namespace ``name``."""

    name: str

    def kubectl(self, *args: object, stdin: bytes | None = None, timeout_s: float = 120) -> bytes:
        return run("kubectl", "--namespace", self.name, *args, stdin=stdin, timeout_s=timeout_s)

    def helm(self, *args: object, timeout_s: float = 660) -> str:
        return run("helm", "--namespace", self.name, *args, timeout_s=timeout_s).decode()

    def get(self, kind: str, name: str) -> Object:
        """One object."""
        found: Object = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        return found

    def all(self, kind: str, **labels: str) -> list[Object]:
        """All objects of a kind that have these labels (`_LABELS`)."""
        selector = ",".join(f"{_LABELS[name]}={value}" for name, value in labels.items())
        chosen = ["-l", selector] if selector else []
        found = json.loads(self.kubectl("get", kind, *chosen, "-o", "json"))
        items: list[Object] = found["items"]
        return items

    def apply(self, *objects: Object) -> None:
        for each in objects:
            self.kubectl("apply", "-f", "-", stdin=json.dumps(each).encode())

    def exec(self, pod: str, *command: object, timeout_s: float = 120) -> bytes:
        return self.kubectl("exec", pod, "--", *command, timeout_s=timeout_s)

    def delete_pod(self, name: str, *, force: bool) -> None:
        """Asks for its end; by force, it is gone at once, and whoever runs there is killed."""
        how = ["--grace-period=0", "--force"] if force else []
        self.kubectl("delete", "pod", name, "--wait=false", "--ignore-not-found", *how)

    def executors(self, job: str) -> list[Object]:
        """The pods of a job's executors that run, or are to."""
        return [
            pod
            for pod in self.all("pod", component="executor", job=job)
            if not pod["metadata"].get("deletionTimestamp")
            and pod["status"].get("phase") in ("Pending", "Running")
        ]

    def proxy(self, pod: str, port: int, path: str, timeout_s: float = 30) -> bytes:
        """What a pod answers by HTTP, through the API server."""
        place = f"/api/v1/namespaces/{self.name}/pods/{pod}:{port}/proxy{path}"
        return run("kubectl", "get", "--raw", place, timeout_s=timeout_s)

    def wait(self, what: Callable[[], bool], name: str, timeout_s: float = 180) -> None:
        """Until ``what`` holds; what fails meanwhile (a pod is away) is tried again."""

        def holds() -> bool:
            try:
                return what()
            except (AssertionError, subprocess.TimeoutExpired, LookupError, ValueError):
                return False

        wait_until(holds, name, timeout_s)


_LABELS: Final[Mapping[str, str]] = {
    "component": "app.kubernetes.io/component",
    "instance": "app.kubernetes.io/instance",
    "job": "tidegate.dev/job",
}


def names(objects: Iterable[Object]) -> list[str]:
    return [each["metadata"]["name"] for each in objects]
