from __future__ import annotations

from typing import Any

import yaml

from charts.chart import one, render

ON = {"grafana": {"enabled": True}, "monitoring": {"prometheus": {"enabled": True}}}


def document(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(
        one(render(ON), "ConfigMap", "shop-grafana")["data"][name]
    )
    return found


def test_grafana_asks_the_charts_prometheus() -> None:
    (source,) = document("datasources.yaml")["datasources"]
    assert source["url"] == "http://shop-prometheus:9090"
    assert source["isDefault"] is True


def test_dashboards_are_where_they_are_mounted() -> None:
    (provider,) = document("providers.yaml")["providers"]
    (container,) = one(render(ON), "Deployment", "shop-grafana")["spec"]["template"]["spec"][
        "containers"
    ]
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert provider["options"]["path"] == mounts["dashboards"]
