from __future__ import annotations

from typing import Any

from charts.chart import JOB, kinds, one, render

OPERATOR: dict[str, Any] = {**JOB, "deployMode": "operator"}


def test_an_operator_starts_the_driver_instead() -> None:
    found = kinds(render(OPERATOR))
    assert ("SparkApplication", "shop-orders") in found
    assert ("StatefulSet", "shop-orders") not in found
    assert ("SparkApplication", "shop-orders") not in kinds(render(JOB))


def test_its_driver_is_the_same() -> None:
    """But for the arguments, which the operator puts behind its own."""
    spec = one(render(OPERATOR), "SparkApplication", "shop-orders")["spec"]
    template = one(render(JOB), "StatefulSet", "shop-orders")["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert spec["driverArgs"] == container.pop("args")
    assert spec["driverSpec"]["podTemplateSpec"] == template
    assert spec["sparkConf"]["spark.kubernetes.container.image"] == container["image"]
    assert spec["sparkConf"]["spark.kubernetes.driver.podTemplateContainerName"] == "driver"
