from __future__ import annotations

from typing import Any

import yaml

from charts.chart import CHART, DEMO, JOB, kinds, one, render
from tidegate.spark.kubernetes.settings import BLOCKS_PORT, DRIVER_PORT

OWN = {
    "app.kubernetes.io/name": "tidegate",
    "app.kubernetes.io/instance": "shop",
    "tidegate.dev/job": "orders",
}


def names(**values: Any) -> set[str]:
    return {name for kind, name in kinds(render(values)) if kind == "NetworkPolicy"}


def ports(rule: dict[str, Any]) -> list[str | int]:
    return [each["port"] for each in rule["ports"]]


def test_a_jobs_pods_talk_to_each_other_by_sparks_ports() -> None:
    objects = render(JOB)
    spec = one(objects, "NetworkPolicy", "shop-orders")["spec"]
    assert spec["podSelector"] == {"matchLabels": OWN}
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    into, out = spec["ingress"][0], spec["egress"][0]
    assert into["from"] == out["to"] == [{"podSelector": {"matchLabels": OWN}}]
    assert ports(into) == ["driver", "blocks", "blockmanager"]
    assert ports(out) == [DRIVER_PORT, BLOCKS_PORT]
    (driver,) = one(objects, "StatefulSet", "shop-orders")["spec"]["template"]["spec"]["containers"]
    assert {"driver", "blocks", "metrics", "ui"} <= {each["name"] for each in driver["ports"]}


def test_metrics_and_pages_are_for_prometheus_alone() -> None:
    _, metrics = one(render(JOB), "NetworkPolicy", "shop-orders")["spec"]["ingress"]
    assert ports(metrics) == ["metrics", "ui"]
    (source,) = metrics["from"]
    labels = source["podSelector"]["matchLabels"]
    assert labels["app.kubernetes.io/component"] == "prometheus"
    assert labels["app.kubernetes.io/instance"] == "shop"


def test_each_job_has_one_and_the_test_too() -> None:
    jobs = {**JOB["jobs"], "clicks": JOB["jobs"]["orders"]}
    assert names(jobs=jobs) == {"shop-orders", "shop-clicks"}
    assert ("NetworkPolicy", "shop-helm-test") in kinds(render(files=[DEMO]))


def test_more_is_named() -> None:
    egress = {"to": [{"ipBlock": {"cidr": "10.1.0.0/16"}}], "ports": [{"port": 9092}]}
    peer = {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}
    values = {**JOB, "networkPolicy": {"egress": [egress], "metricsFrom": [peer]}}
    spec = one(render(values), "NetworkPolicy", "shop-orders")["spec"]
    assert egress in spec["egress"]
    assert peer in spec["ingress"][1]["from"]


def test_production_opens_metrics_to_pods_and_not_to_a_namespace() -> None:
    values = yaml.safe_load((CHART / "values-production.yaml").read_text())
    for peer in values["networkPolicy"]["metricsFrom"]:
        assert peer["podSelector"]["matchLabels"]


def test_each_component_has_one_and_none_is_left_when_they_are_off() -> None:
    values = {"kafka": {"enabled": True}, "minio": {"enabled": True}}
    assert names(**values) == {"shop-kafka", "shop-minio", "shop-helm-test"}
    assert names(**values, networkPolicy={"enabled": False}) == set()


def test_components_are_reached_by_their_ports_by_those_who_need_them() -> None:
    objects = render(files=[DEMO])
    wanted = {
        "kafka": [(["kafka"], None), (["controller"], "kafka")],
        "minio": [(["s3"], None)],
        "prometheus": [(["http"], "grafana")],
        "grafana": [],
    }
    for name, rules in wanted.items():
        spec = one(objects, "NetworkPolicy", f"shop-{name}")["spec"]
        assert "Ingress" in spec["policyTypes"]
        found = []
        for rule in spec.get("ingress", ()):
            (peer,) = rule["from"]
            labels = peer["podSelector"]["matchLabels"]
            assert labels["app.kubernetes.io/instance"] == "shop"
            found.append((ports(rule), labels.get("app.kubernetes.io/component")))
        assert found == rules, name


def test_jobs_reach_kafka_and_minio_where_the_chart_has_them() -> None:
    def reached(**values: Any) -> set[str]:
        spec = one(render({**JOB, **values}), "NetworkPolicy", "shop-orders")["spec"]
        labels = [
            peer["podSelector"]["matchLabels"] for r in spec["egress"] for peer in r.get("to", ())
        ]
        return {each.get("app.kubernetes.io/component", "own") for each in labels}

    assert reached() == {"own"}
    both = {"kafka": {"enabled": True}, "minio": {"enabled": True}}
    assert reached(**both) == {"own", "kafka", "minio"}
