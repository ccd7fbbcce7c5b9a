from __future__ import annotations

from charts.chart import kinds, one, render

API = "monitoring.coreos.com/v1/PodMonitor"
ON = {"monitoring": {"podMonitor": {"enabled": True, "labels": {"release": "prometheus"}}}}


def test_the_operator_is_told_of_drivers() -> None:
    monitor = one(render(ON, apis=[API]), "PodMonitor", "shop")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    labels = monitor["spec"]["selector"]["matchLabels"]
    assert labels["app.kubernetes.io/component"] == "driver"
    ports = [(each["port"], each.get("path")) for each in monitor["spec"]["podMetricsEndpoints"]]
    assert ports == [("metrics", None), ("ui", "/metrics/executors/prometheus/")]


def test_a_cluster_without_the_operator_gets_none() -> None:
    assert "PodMonitor" not in {kind for kind, _ in kinds(render(ON))}
    assert "PodMonitor" not in {kind for kind, _ in kinds(render(apis=[API]))}
