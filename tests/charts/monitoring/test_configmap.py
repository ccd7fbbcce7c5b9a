from __future__ import annotations

from typing import Any

import yaml

from charts.chart import CHART, one, render

ON = {"monitoring": {"prometheus": {"enabled": True, "interval": "7s"}}}


def config() -> dict[str, Any]:
    data = one(render(ON), "ConfigMap", "shop-prometheus")["data"]
    found: dict[str, Any] = yaml.safe_load(data["prometheus.yaml"])
    return found


def test_drivers_of_the_release_are_scraped() -> None:
    assert config()["global"]["scrape_interval"] == "7s"
    scraped = {each["job_name"]: each for each in config()["scrape_configs"]}
    assert scraped["tidegate"]["metrics_path"] == "/metrics"
    assert scraped["tidegate"]["relabel_configs"][0]["regex"] == "shop;driver;metrics"
    assert scraped["spark"]["relabel_configs"][0]["regex"] == "shop;driver;ui"
    for each in scraped.values():
        assert "pod" in {rule.get("target_label") for rule in each["relabel_configs"]}


def test_the_alerts_are_there() -> None:
    data = one(render(ON), "ConfigMap", "shop-prometheus")["data"]
    assert config()["rule_files"] == ["/etc/prometheus/alerts.yaml"]
    assert data["alerts.yaml"] == (CHART / "files" / "alerts.yaml").read_text()
