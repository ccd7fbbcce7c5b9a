from __future__ import annotations

from charts.chart import one, render


def test_brokers_are_found_before_they_are_ready() -> None:
    spec = one(render({"kafka": {"enabled": True}}), "Service", "shop-kafka")["spec"]
    assert spec["clusterIP"] == "None"
    assert spec["publishNotReadyAddresses"] is True
