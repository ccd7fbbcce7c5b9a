"""The chart as helm renders it: objects to look at, or the sentence with which it refuses.

helm-unittest, the usual tool, is a plugin that is fetched from where our machines do not reach; and
these tests can say in Python what must hold of all objects.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

CHART: Final = Path(__file__).parents[2] / "charts" / "tidegate"
DEMO: Final = CHART / "values-demo.yaml"
KUBERNETES: Final = "1.35.4"
JOB: Final[Mapping[str, Any]] = {
    "jobs": {"orders": {"sql": "SELECT 1", "checkpoint": "s3://bucket/path"}}
}
"""The least with which a job is rendered."""

Object = dict[str, Any]


@cache
def helm() -> str:
    """The program: $HELM, or on the PATH, or that of the kit's cluster."""
    kit = Path(os.environ.get("KF_HOME") or Path.home() / ".cache" / "kf", "bin", "helm")
    found = os.environ.get("HELM") or shutil.which("helm") or (str(kit) if kit.exists() else None)
    if found is None:
        raise RuntimeError("there is no helm: ../shared/cluster/prepare.sh makes one")
    return found


def _template(
    values: Mapping[str, Any], files: Iterable[Path], apis: Iterable[str]
) -> subprocess.CompletedProcess[str]:
    command = [helm(), "template", "shop", str(CHART), "--namespace", "streams"]
    command += ["--kube-version", KUBERNETES]
    for api in apis:
        command += ["--api-versions", api]
    for file in files:
        command += ["--values", str(file)]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as given:
        yaml.safe_dump(dict(values), given)
        given.flush()
        command += ["--values", given.name]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def render(
    values: Mapping[str, Any] | None = None,
    *,
    files: Iterable[Path] = (),
    apis: Iterable[str] = (),
) -> list[Object]:
    """All objects."""
    done = _template(values or {}, files, apis)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def refusal(values: Mapping[str, Any], *, files: Iterable[Path] = ()) -> str:
    """What helm says of values that it refuses."""
    done = _template(values, files, ())
    assert done.returncode != 0, "it was rendered"
    return done.stderr


def one(objects: Iterable[Object], kind: str, name: str) -> Object:
    """The object of that kind and name."""
    (found,) = (o for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name))
    return found


def kinds(objects: Iterable[Object]) -> set[tuple[str, str]]:
    return {(each["kind"], each["metadata"]["name"]) for each in objects}


def pods(objects: Iterable[Object]) -> list[tuple[str, Object]]:
    """The pods that the objects make, executors included, with a word on where they come from."""
    found = []
    for each in objects:
        where = f"{each['kind']} {each['metadata']['name']}"
        if each["kind"] in ("StatefulSet", "Deployment", "Job"):
            found.append((where, each["spec"]["template"]))
        if each["kind"] == "Pod":
            found.append((where, each))
        if each["kind"] == "ConfigMap" and "executor.yaml" in each["data"]:
            found.append((where, yaml.safe_load(each["data"]["executor.yaml"])))
    return found


def variables(container: Object) -> dict[str, Any]:
    """Name to value, or to where it comes from."""
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}
