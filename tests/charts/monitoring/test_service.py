from __future__ import annotations

from charts.chart import one, render


def test_prometheus_is_found_by_its_name() -> None:
    objects = render({"monitoring": {"prometheus": {"enabled": True}}})
    (port,) = one(objects, "Service", "shop-prometheus")["spec"]["ports"]
    assert port == {"name": "http", "port": 9090, "targetPort": "http"}
