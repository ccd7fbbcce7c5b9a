from __future__ import annotations

from typing import Any

import yaml

from charts.chart import CHART, JOB, one, render

ON = {**JOB, "monitoring": {"prometheus": {"enabled": True, "interval": "7s"}}}


def config() -> dict[str, Any]:
    data = one(render(ON), "ConfigMap", "shop-prometheus")["data"]
    found: dict[str, Any] = yaml.safe_load(data["prometheus.yaml"])
    return found


def test_drivers_of_the_release_are_scraped() -> None:
    assert config()["global"]["scrape_interval"] == "7s"
    scraped = {each["job_name"]: each for each in config()["scrape_configs"]}
    for name, path, port in (
        ("tidegate", "/metrics", 9464),
        ("spark", "/metrics/executors/prometheus/", 4040),
    ):
        assert scraped[name]["metrics_path"] == path
        (driver,) = scraped[name]["static_configs"]
        assert driver == {
            "targets": [f"shop-orders.streams.svc:{port}"],
            "labels": {"pod": "shop-orders-0", "namespace": "streams"},
        }


def test_the_alerts_are_there() -> None:
    data = one(render(ON), "ConfigMap", "shop-prometheus")["data"]
    assert config()["rule_files"] == ["/etc/prometheus/alerts.yaml"]
    assert data["alerts.yaml"] == (CHART / "files" / "alerts.yaml").read_text()
