"""A release on a real cluster: its output is the oracle's, over the network, and is watched."""

from __future__ import annotations

import json
import time
import urllib.parse
from datetime import timedelta
from functools import partial

from chaos.checker import judge
from chaos.job import IN, wait_until_read
from e2e.job import NAME, RELEASE, DeployedJob
from e2e.namespace import Namespace, names, run
from e2e.pod_kit import POD
from kafka.workload import BEGIN, Workload
from prometheus.panels import queries
from tidegate.metrics import METRICS, Kind

_LIVE_S = 40.0
_ROWS_MIN = 3_000
"""Their windows are more than the fifty that are asked for, however slow the cluster was."""
_BACK_S = 300.0
"""On two slow cores a driver and its executors take minutes to start."""
_ENDED_S = 150.0
"""An executor that finds its driver gone ends by itself; Kubernetes then collects its pod."""
_NOT_OF_THESE_JOBS = {
    "tidegate_alignment_drift_seconds",  # they align nothing
    "tidegate_watermark_keys",  # nor has a key a watermark of its own: tests/prometheus has both
}


def test_executors_are_on_different_nodes(deployed: Namespace) -> None:
    for job in (NAME, "orders"):

        def are_apart(name: str = job) -> bool:
            nodes = [pod["spec"]["nodeName"] for pod in deployed.executors(name)]
            return len(nodes) == len(set(nodes)) == 2

        deployed.wait(are_apart, f"two nodes have executors of {job}", 60)


def test_the_output_is_the_oracles(job: DeployedJob) -> None:
    with Workload(job.kit, IN, seed=1) as workload:
        time.sleep(_LIVE_S)
        workload.wake()
        time.sleep(5)
        workload.finish()
        workload.put_at_once(_ROWS_MIN)
        workload.put_last()
    wait_until_read(job, _BACK_S)
    verdict = judge(job)
    assert not verdict.problems
    assert verdict.written > 50
    assert {"late", "malformed"} <= {reason.split(":")[0] for reason in verdict.reasons}


def test_fragments_exchange_rows_over_the_network(job: DeployedJob) -> None:
    """What Spark says: executors have read shuffled bytes of another."""
    api = "/api/v1/applications"
    (application,) = json.loads(job.namespace.proxy(job.driver, 4040, api))
    stages = json.loads(
        job.namespace.proxy(job.driver, 4040, f"{api}/{application['id']}/stages?status=complete")
    )
    assert sum(stage["shuffleRemoteBytesRead"] for stage in stages) > 0


def test_helm_test_closes_a_window(deployed: Namespace) -> None:
    said = deployed.helm("test", RELEASE, "--timeout", "5m", "--logs")
    assert "windows closed" in said


def _asked(namespace: Namespace, expression: str) -> list[float]:
    (pod,) = names(namespace.all("pod", component="prometheus"))
    path = f"/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
    document = json.loads(namespace.proxy(pod, 9090, path))
    return [float(sample["value"][1]) for sample in document["data"]["result"]]


def test_prometheus_has_every_metric(deployed: Namespace, job: DeployedJob) -> None:
    wanted = {
        metric.name + "_count" * (metric.kind is Kind.HISTOGRAM)
        for metric in METRICS
        if metric.name not in _NOT_OF_THESE_JOBS
    }
    deployed.wait(lambda: all(_asked(deployed, name) for name in wanted), "every metric", 60)
    assert _asked(deployed, "metrics_executor_totalShuffleRead_bytes_total"), "Spark's own"


def test_every_panel_has_data(deployed: Namespace, job: DeployedJob) -> None:
    """Over both jobs; late and malformed orders come all the time."""
    empty = {
        expression: title
        for expression, title in queries(".*", "5m").items()
        if not any(name in expression for name in _NOT_OF_THESE_JOBS)
        and not _asked(deployed, expression)
    }
    assert not empty


def test_faults_an_upgrade_and_its_rollback_are_seen_and_lose_nothing(
    deployed: Namespace, job: DeployedJob
) -> None:
    """What the dashboard shows of executors, restarts and epochs changes when they are lost."""
    of_job = f'pod="{job.driver}"'
    executors = f"min_over_time(tidegate_executors{{{of_job}}}[30s])"
    starts = f"changes(tidegate_start_time_seconds{{{of_job}}}[5m])"
    epochs = f"rate(tidegate_epoch_duration_seconds_count{{{of_job}}}[15s])"

    def uid() -> str:
        return str(deployed.get("pod", job.driver)["metadata"]["uid"])

    def ready(old: str) -> bool:
        pod = deployed.get("pod", job.driver)
        (container,) = pod["status"]["containerStatuses"]
        return bool(pod["metadata"]["uid"] != old and container["ready"])

    def is_calm() -> bool:
        return _asked(deployed, executors) == [2.0] and _asked(deployed, starts) == [0.0]

    before = judge(job).written
    # Behind the last row of the test before, which is a day ahead: else all of them are late.
    with Workload(job.kit, IN, seed=2, begin=BEGIN + timedelta(days=3)) as workload:
        deployed.wait(is_calm, "no fault is in sight")
        for pod in names(deployed.executors(NAME)):
            deployed.delete_pod(pod, force=True)
        deployed.wait(lambda: _asked(deployed, executors)[0] < 2, "lost executors are seen", 60)
        deployed.wait(lambda: _asked(deployed, epochs)[0] > 0, "epochs go on", _BACK_S)

        replaced = partial(ready, uid())
        deployed.helm(
            *("upgrade", RELEASE, "charts/tidegate", "--reuse-values", "--set"),
            f"jobs.{NAME}.settings.tidegate\\.epoch\\.rows\\.max=500",
        )
        deployed.wait(lambda: not any(_asked(deployed, epochs)), "no epochs are seen", _BACK_S)
        deployed.wait(replaced, "another driver", _BACK_S)
        deployed.wait(lambda: _asked(deployed, starts)[0] >= 1, "the restart is seen", _BACK_S)

        replaced = partial(ready, uid())
        deployed.helm("rollback", RELEASE)
        deployed.wait(replaced, "another driver", _BACK_S)
        workload.finish()
        workload.put_last()
    wait_until_read(job, _BACK_S)
    verdict = judge(job)
    assert not verdict.problems
    assert verdict.written > before


def test_uninstalling_leaves_nothing(deployed: Namespace, job: DeployedJob) -> None:
    """Not a pod, nor what Spark made for its executors, nor a claim of a volume."""
    deployed.helm("uninstall", RELEASE, "--wait", "--timeout", "5m")
    kinds = run("kubectl", "api-resources", "--verbs=list", "--namespaced", "-o", "name").decode()
    own = {"configmap/kube-root-ca.crt", "serviceaccount/default", f"pod/{POD}"}
    own.add(f"pod/{RELEASE}-helm-test")  # a hook's: it stays for its log until the next test

    def left() -> set[str]:
        wanted = ",".join(kind for kind in kinds.split() if not kind.startswith("events"))
        found = deployed.kubectl("get", wanted, "-o", "name").decode().split()
        return {name for name in found if "/" in name} - own

    try:
        deployed.wait(lambda: not left(), "nothing is left", _ENDED_S)
    finally:
        assert left() == set()
