from __future__ import annotations

import yaml

from charts.chart import CHART, DEMO, kinds, one, render


def test_it_has_the_script_and_the_executors() -> None:
    data = one(render(files=[DEMO]), "ConfigMap", "shop-helm-test")["data"]
    assert data["closing.py"] == (CHART / "files" / "closing.py").read_text()
    labels = yaml.safe_load(data["executor.yaml"])["metadata"]["labels"]
    assert labels["tidegate.dev/job"] == "helm-test"


def test_there_is_none_without_a_place_for_orders() -> None:
    assert ("ConfigMap", "shop-helm-test") not in kinds(render())
