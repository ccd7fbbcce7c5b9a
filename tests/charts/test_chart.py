"""What holds of everything that the chart makes, whatever is switched on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from charts.chart import CHART, DEMO, JOB, KUBERNETES, helm, kinds, pods, render

EVERYTHING: dict[str, Any] = {
    "jobs": {
        "orders": {"sql": "SELECT 1", "podDisruptionBudget": True},
        "clicks": {"existingConfigMap": "clicks", "executors": 3},
    },
    "kafka": {"enabled": True, "replicas": 3, "topics": {"orders": 4}},
    "minio": {"enabled": True},
    "demo": {"enabled": True},
    "monitoring": {"prometheus": {"enabled": True}},
    "grafana": {"enabled": True},
    "image": {"pullSecrets": ["registry"]},
}
PRODUCTION = yaml.safe_load((CHART / "values-production.yaml").read_text())
CASES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a job": dict(JOB),
    "everything": EVERYTHING,
    "production": {**PRODUCTION, "jobs": {"orders": {"sql": "SELECT 1"}}},
}
SCHEMA = ".".join(KUBERNETES.split(".")[:2])


@pytest.fixture(params=CASES, scope="module")
def objects(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return render(CASES[request.param])


def test_names_are_the_releases_own(objects: list[dict[str, Any]]) -> None:
    assert len(kinds(objects)) == len(objects)
    for each in objects:
        assert each["metadata"]["name"].startswith("shop-")
        assert each["metadata"].get("namespace", "streams") == "streams"
        labels = each["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == "shop"
        assert labels["app.kubernetes.io/component"]


def test_objects_are_what_kubernetes_takes(objects: list[dict[str, Any]]) -> None:
    """By its own schemas, which know each field; what others define it does not know."""
    for each in objects:
        if "." not in each["apiVersion"] or each["apiVersion"].split("/")[0].endswith(".k8s.io"):
            kubernetes_validate.validate(each, SCHEMA, strict=True)
    for _, pod in pods(objects):
        plain = {"apiVersion": "v1", "kind": "Pod", **pod}
        containers = [{"image": "set-by-spark", **each} for each in pod["spec"]["containers"]]
        plain["spec"] = {**pod["spec"], "containers": containers}
        kubernetes_validate.validate(plain, SCHEMA, strict=True)


def test_nothing_is_for_the_whole_cluster(objects: list[dict[str, Any]]) -> None:
    assert not {kind for kind, _ in kinds(objects) if kind.startswith("Cluster")}


def test_pods_are_restricted(objects: list[dict[str, Any]]) -> None:
    """Kubernetes' restricted profile, a root that is read-only, and limits on memory."""
    for where, pod in pods(objects):
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True, where
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, where
        for container in [*spec.get("initContainers", ()), *spec["containers"]]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False, where
            assert context["readOnlyRootFilesystem"] is True, where
            assert context["capabilities"] == {"drop": ["ALL"]}, where
            assert container["resources"]["requests"], where


def test_what_a_pod_writes_to_its_node_has_a_bound(objects: list[dict[str, Any]]) -> None:
    """Else one job fills the disk of a node, and all its pods are evicted."""
    for where, pod in pods(objects):
        for container in pod["spec"]["containers"]:
            for what in ("requests", "limits"):
                assert container["resources"][what]["ephemeral-storage"], where
        for volume in pod["spec"].get("volumes", ()):
            if "emptyDir" in volume:
                assert volume["emptyDir"]["sizeLimit"], (where, volume["name"])


def test_only_drivers_may_ask_the_api_server(objects: list[dict[str, Any]]) -> None:
    for where, pod in pods(objects):
        token = pod["spec"].get("automountServiceAccountToken", True)
        component = pod["metadata"]["labels"]["app.kubernetes.io/component"]
        assert token == (component == "driver"), where


def test_images_have_a_version_or_a_digest(objects: list[dict[str, Any]]) -> None:
    for where, pod in pods(objects):
        for container in [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]:
            if "image" in container:  # Spark sets that of executors
                tag = container["image"].partition(":")[2]
                assert tag, where
                assert tag != "latest", where


def test_credentials_are_references(objects: list[dict[str, Any]]) -> None:
    for where, pod in pods(objects):
        for container in pod["spec"]["containers"]:
            for each in container.get("env", ()):
                if any(word in each["name"] for word in ("SECRET", "PASSWORD", "ACCESS_KEY")):
                    assert "secretKeyRef" in each["valueFrom"], (where, each["name"])


def test_registries_are_asked_with_the_secrets(objects: list[dict[str, Any]]) -> None:
    everything = render(EVERYTHING)
    for where, pod in pods(everything):
        assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}], where


def test_selectors_find_their_pods(objects: list[dict[str, Any]]) -> None:
    labels = [pod["metadata"]["labels"] for _, pod in pods(objects)]
    for each in objects:
        if each["kind"] == "Service":
            wanted = each["spec"]["selector"].items()
            assert sum(wanted <= found.items() for found in labels) == 1, each["metadata"]["name"]


def test_the_demonstration_is_rendered() -> None:
    assert ("Deployment", "shop-demo") in kinds(render(files=[DEMO]))


def test_what_is_made_from_the_values_is_up_to_date() -> None:
    top = CHART.parents[1]
    for made in (
        ["charts/generate.py"],
        ["-m", "monitoring.dashboards"],
        ["-m", "monitoring.alerting"],
    ):
        command = [sys.executable, *made, "--check"]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=60, cwd=top
        )
        assert done.returncode == 0, done.stderr


def test_helm_has_no_complaint() -> None:
    command = [helm(), "lint", "--strict", str(CHART), "--values", str(DEMO)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout


def test_every_template_has_its_test() -> None:
    templates = CHART / "templates"
    here = Path(__file__).parent
    for path in sorted(templates.glob("*/*.yaml")):
        twin = here / path.parent.name / f"test_{path.stem}.py"
        assert twin.is_file(), f"{path.relative_to(CHART)} has no test {twin.relative_to(here)}"


def test_the_schema_takes_its_own_defaults() -> None:
    """And every value of the file is in it."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert values.keys() == schema["properties"].keys() - {"global"}
