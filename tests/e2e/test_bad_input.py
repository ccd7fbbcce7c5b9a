"""Jobs that cannot run: each pod's status says why within a minute, and is started again gently."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest
import yaml

from e2e.job import NAME
from e2e.job import RELEASE as WHOLE
from e2e.job import values as whole_values
from e2e.namespace import CHART, Namespace

RELEASE: Final = "broken"
_NOTICED_S: Final = 60.0
_SETTLED_S: Final = 90.0
_SQL: Final = str(whole_values()["jobs"][NAME]["sql"])


@dataclass(frozen=True)
class Broken:
    """A job of the chart, and the words that its pod's status must have."""

    job: Mapping[str, Any]
    words: tuple[str, ...]


def _variable(name: str, value: object) -> dict[str, Any]:
    key = "value" if isinstance(value, str) else "valueFrom"
    return {"env": [{"name": name, key: value}]}


_SECRET: Final = {"secretKeyRef": {"name": "nobody-made-it", "key": "password"}}
JOBS: Final[Mapping[str, Broken]] = {
    "sql": Broken({"sql": _SQL.replace("count(*)", "count(*")}, ("job.sql", "incomplete")),
    "column": Broken({"sql": _SQL.replace("sum(price)", "sum(prise)")}, ("job.sql", "prise")),
    "brokers": Broken(
        {"sql": _SQL.replace('{{ include "tidegate.kafka.servers" . }}', "127.0.0.1:9")},
        ("127.0.0.1:9", "broker"),
    ),
    "topic": Broken({"sql": _SQL.replace("'revenue-in'", "'revenue-inn'")}, ("revenue-inn",)),
    "bucket": Broken({"checkpoint": "s3://nobody-made-it/here"}, ("nobody-made-it", "bucket")),
    "password": Broken(_variable("AWS_SECRET_ACCESS_KEY", "not-this-one"), ("s3://", "credential")),
    "store": Broken(_variable("AWS_ENDPOINT_URL", "http://127.0.0.1:9"), ("127.0.0.1:9",)),
    "secret": Broken(_variable("PASSWORD", _SECRET), ("nobody-made-it",)),
}


@pytest.fixture(scope="module")
def installed_s(deployed: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[float]:
    """When a release of all of them was begun, beside one that is whole, whose Kafka it uses."""
    driver = deployed.get("statefulset", f"{WHOLE}-{NAME}")
    repository, _, tag = driver["spec"]["template"]["spec"]["containers"][0]["image"].rpartition(
        ":"
    )
    file = tmp_path_factory.mktemp("broken") / "values.yaml"
    file.write_text(
        yaml.safe_dump(
            {
                "jobs": {name: {"sql": _SQL, **broken.job} for name, broken in JOBS.items()},
                "defaults": {"checkpoint": "s3://tidegate/broken"},
                "image": {"repository": repository, "tag": tag},
                "kafka": {"servers": f"{WHOLE}-kafka-0.{WHOLE}-kafka:9092"},
                "s3": {
                    "endpoint": f"http://{WHOLE}-minio:9000",
                    "existingSecret": f"{WHOLE}-minio",
                },
            }
        )
    )
    began_s = time.monotonic()
    deployed.helm("install", RELEASE, CHART, "--values", file)
    yield began_s
    deployed.helm("uninstall", RELEASE, "--wait")


def _container(namespace: Namespace, name: str) -> dict[str, Any]:
    found: dict[str, Any] = namespace.get("pod", f"{RELEASE}-{name}-0")["status"][
        "containerStatuses"
    ][0]
    return found


def _said(container: Mapping[str, Any]) -> str:
    """What ``kubectl describe pod`` shows of a container that does not run, or did not last."""
    states = [*container["state"].values(), *container["lastState"].values()]
    return "\n".join(state.get("message", "") for state in states)


@pytest.mark.parametrize("name", JOBS)
def test_the_status_says_why(deployed: Namespace, installed_s: float, name: str) -> None:
    def is_said() -> bool:
        said = _said(_container(deployed, name)).lower()
        return all(word.lower() in said for word in JOBS[name].words)

    left_s = installed_s + _NOTICED_S - time.monotonic()
    try:
        deployed.wait(is_said, f"the status says {JOBS[name].words}", max(left_s, 1.0))
    except AssertionError:
        said = deployed.kubectl("describe", "pod", f"{RELEASE}-{name}-0").decode()
        raise AssertionError(f"the status does not say {JOBS[name].words}:\n{said}") from None
    assert "Traceback" not in _said(_container(deployed, name))


def test_none_is_ready_or_started_without_end(deployed: Namespace, installed_s: float) -> None:
    time.sleep(max(installed_s + _SETTLED_S - time.monotonic(), 0.0))
    for name in JOBS:
        container = _container(deployed, name)
        assert not container["ready"], name
        assert container["restartCount"] <= 5, name
