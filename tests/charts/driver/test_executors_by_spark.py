"""The pod that Spark makes of the chart's template, and whether its process knows the secret.

Spark's own classes make it, without a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from charts.chart import JOB, Object, one, render, variables
from tidegate.spark.kubernetes.executor_pod import executor_command
from tidegate.spark.kubernetes.settings import kubernetes_settings
from tidegate.spark.launch import gateway

pytestmark = [pytest.mark.spark, pytest.mark.slow]
MASTER = "k8s://https://10.0.0.1:443"
POD = {
    "POD_NAME": "shop-orders-0",
    "POD_NAMESPACE": "streams",
    "POD_IP": "10.244.1.7",
    "TIDEGATE_IMAGE": "tidegate:0.1.0",
}
SECRET = "a secret of some forty letters, read from a file"


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    started = gateway._launch(gateway.prepared("test", "local[1]", {}), None)
    yield started.jvm
    started.shutdown()
    started.proc.kill()
    started.proc.stdin.close()
    started.proc.wait()
    if hasattr(started, "nursery"):  # it is not by Spark's scripts
        started.nursery.wait()


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Spark's, of a driver in the chart's pod."""
    objects = render(JOB)
    directory = tmp_path_factory.mktemp("pod")
    template = directory / "executor.yaml"
    template.write_text(one(objects, "ConfigMap", "shop-orders")["data"]["executor.yaml"])
    (directory / "secret").write_text(SECRET)
    (driver,) = one(objects, "StatefulSet", "shop-orders")["spec"]["template"]["spec"]["containers"]
    given = [each.removeprefix("--set=") for each in driver["args"] if "=spark." in each]
    pod = {**POD, "TIDEGATE_EXECUTOR_TEMPLATE": str(template)}
    return {
        "spark.app.name": "orders",
        "spark.master": MASTER,
        **kubernetes_settings(MASTER, pod, "abc"),
        **dict(each.split("=", 1) for each in given),
        "spark.authenticate.secret.file": str(directory / "secret"),
    }


def conf(jvm: Any, settings: dict[str, str]) -> Any:
    found = jvm.org.apache.spark.SparkConf(False)
    for name, value in settings.items():
        found.set(name, value)
    return found


def module(named: Any) -> Any:
    """An object of Scala."""
    return getattr(named, "MODULE$")


def security(jvm: Any, conf: Any) -> Any:
    config = module(getattr(jvm.org.apache.spark.internal.config, "package$"))
    none = module(getattr(jvm.scala, "None$"))
    return jvm.org.apache.spark.SecurityManager(conf, none, config.AUTH_SECRET_FILE())


@pytest.fixture(scope="module")
def pod(jvm: Any, settings: dict[str, str]) -> Object:
    of_driver = conf(jvm, settings)
    spark = jvm.org.apache.spark
    made = module(getattr(spark.deploy.k8s, "KubernetesConf$")).createExecutorConf(
        of_driver, "1", "app-1", module(getattr(jvm.scala, "None$")), 0
    )
    profile = module(getattr(spark.resource, "ResourceProfile$"))
    built = spark.scheduler.cluster.k8s.KubernetesExecutorBuilder().buildFromFeatures(
        made,
        security(jvm, of_driver),
        jvm.io.fabric8.kubernetes.client.KubernetesClientBuilder().build(),
        profile.getOrCreateDefaultProfile(of_driver),
    )
    text = jvm.io.fabric8.kubernetes.client.utils.Serialization.asYaml
    found: Object = yaml.safe_load(text(built.pod().pod()))
    found["spec"]["containers"] = [yaml.safe_load(text(built.pod().container()))]
    return found


def test_it_is_the_jobs_and_its_disks_are_bounded(pod: Object) -> None:
    (container,) = pod["spec"]["containers"]
    assert pod["spec"]["serviceAccountName"] == "shop-orders-executor"
    assert pod["metadata"]["labels"]["tidegate.dev/job"] == "orders"
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert variables(container)["SPARK_LOCAL_DIRS"] == mounts["spark-local-dir-1"]
    for volume in pod["spec"]["volumes"]:
        if "emptyDir" in volume:
            assert volume["emptyDir"]["sizeLimit"] == "20Gi", volume
    assert container["resources"]["limits"]["ephemeral-storage"] == "20Gi"


def test_a_driver_makes_no_more_than_it(pod: Object) -> None:
    """Its role lets it make pods, so they must not wait for a map of Spark's."""
    assert not [each for each in pod["spec"]["volumes"] if "configMap" in each]


def test_its_port_is_the_one_that_the_policy_names(pod: Object) -> None:
    (port,) = pod["spec"]["containers"][0]["ports"]
    policy = one(render(JOB), "NetworkPolicy", "shop-orders")["spec"]
    assert {"port": port["name"]} in policy["ingress"][0]["ports"]
    assert {"port": port["containerPort"]} in policy["egress"][0]["ports"]


def test_its_process_knows_the_secret_and_the_pod_does_not_show_it(
    jvm: Any, settings: dict[str, str], pod: Object, tmp_path: Path
) -> None:
    known = variables(pod["spec"]["containers"][0])
    given = {name: value for name, value in known.items() if isinstance(value, str)}
    pod_ip = {"SPARK_EXECUTOR_POD_IP": "10.244.1.8", "SPARK_EXECUTOR_POD_NAME": "e"}
    command = executor_command({**given, **pod_ip})
    matches = [re.fullmatch(r"-D(spark\.[^=]+)=(.*)", each) for each in command]
    options = {found[1]: found[2] for found in matches if found}
    of_driver = security(jvm, conf(jvm, settings))
    of_driver.initializeAuth()
    of_executor = security(jvm, conf(jvm, options))
    assert of_executor.isEncryptionEnabled()
    assert of_executor.getSecretKey() == of_driver.getSecretKey()
    assert SECRET not in str(pod)
    assert of_driver.getSecretKey() not in str(pod)
