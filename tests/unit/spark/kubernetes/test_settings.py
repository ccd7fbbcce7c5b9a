from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import OptionsError
from tidegate.spark.kubernetes.settings import kubernetes_settings

MASTER = "k8s://https://10.0.0.1:443"
POD = {
    "POD_NAME": "orders-driver-0",
    "POD_NAMESPACE": "streams",
    "POD_IP": "10.244.1.7",
    "TIDEGATE_IMAGE": "tidegate:0.1.0",
}


def test_other_masters_need_nothing() -> None:
    assert kubernetes_settings("local[2]", {}, "a") == {}


def test_a_pod_tells_spark_who_it_is() -> None:
    found = kubernetes_settings(MASTER, POD, "3f2a")
    assert found["spark.kubernetes.namespace"] == "streams"
    assert found["spark.kubernetes.driver.pod.name"] == "orders-driver-0"
    assert found["spark.kubernetes.container.image"] == "tidegate:0.1.0"
    assert found["spark.kubernetes.executor.podNamePrefix"] == "orders-driver-0-3f2a"
    assert found["spark.driver.host"] == "10.244.1.7"
    assert "spark.kubernetes.executor.podTemplateFile" not in found


def test_executors_have_the_template_that_is_named() -> None:
    found = kubernetes_settings(MASTER, {**POD, "TIDEGATE_EXECUTOR_TEMPLATE": "/x.yaml"}, "a")
    assert found["spark.kubernetes.executor.podTemplateFile"] == "/x.yaml"


@pytest.mark.parametrize("name", POD)
def test_what_is_missing_is_named(name: str) -> None:
    with pytest.raises(OptionsError, match=f"needs the variable {name}"):
        kubernetes_settings(MASTER, {**POD, name: ""}, "a")


@pytest.mark.slow
@given(st.text(min_size=1, max_size=63), st.text("0123456789abcdef", min_size=4, max_size=8))
def test_executors_have_names_that_kubernetes_takes(pod: str, token: str) -> None:
    found = kubernetes_settings(MASTER, {**POD, "POD_NAME": pod}, token)
    prefix = found["spark.kubernetes.executor.podNamePrefix"]
    assert re.fullmatch("[a-z]([-a-z0-9]*[a-z0-9])?", prefix)
    assert len(prefix) <= 47
    assert prefix.endswith(f"-{token}")
