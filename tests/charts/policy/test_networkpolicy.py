from __future__ import annotations

from charts.chart import JOB, kinds, one, render


def test_jobs_talk_to_their_own_only() -> None:
    spec = one(render(JOB), "NetworkPolicy", "shop-jobs")["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    peers, metrics = spec["ingress"]
    assert "ports" not in peers
    assert metrics["ports"] == [{"port": 9464}, {"port": 4040}]
    (source,) = metrics["from"]
    labels = source["podSelector"]["matchLabels"]
    assert labels["app.kubernetes.io/component"] == "prometheus"


def test_more_is_named() -> None:
    egress = {"to": [{"ipBlock": {"cidr": "10.1.0.0/16"}}], "ports": [{"port": 9092}]}
    peer = {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}
    values = {**JOB, "networkPolicy": {"egress": [egress], "metricsFrom": [peer]}}
    spec = one(render(values), "NetworkPolicy", "shop-jobs")["spec"]
    assert egress in spec["egress"]
    assert peer in spec["ingress"][1]["from"]


def test_each_component_has_one_and_none_is_left_when_they_are_off() -> None:
    values = {"kafka": {"enabled": True}, "minio": {"enabled": True}}
    names = {name for kind, name in kinds(render(values)) if kind == "NetworkPolicy"}
    assert names == {"shop-jobs", "shop-kafka", "shop-minio"}
    off = {**values, "networkPolicy": {"enabled": False}}
    assert "NetworkPolicy" not in {kind for kind, _ in kinds(render(off))}
