from __future__ import annotations

from charts.chart import one, render


def test_grafana_is_found_by_its_name() -> None:
    values = {"grafana": {"enabled": True}, "monitoring": {"prometheus": {"enabled": True}}}
    (port,) = one(render(values), "Service", "shop-grafana")["spec"]["ports"]
    assert port["port"] == 3000
