from __future__ import annotations

import yaml

from charts.chart import CHART, kinds, one, render

API = "monitoring.coreos.com/v1/PrometheusRule"
ON = {"monitoring": {"rules": {"enabled": True, "labels": {"release": "prometheus"}}}}


def test_the_operator_gets_all_alerts() -> None:
    rule = one(render(ON, apis=[API]), "PrometheusRule", "shop")
    assert rule["metadata"]["labels"]["release"] == "prometheus"
    assert rule["spec"] == yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())


def test_a_cluster_without_the_operator_gets_none() -> None:
    assert "PrometheusRule" not in {kind for kind, _ in kinds(render(ON))}
