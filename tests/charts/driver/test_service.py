from __future__ import annotations

from charts.chart import JOB, one, render


def test_executors_find_their_driver_before_it_is_ready() -> None:
    spec = one(render(JOB), "Service", "shop-orders")["spec"]
    assert spec["clusterIP"] == "None"
    assert spec["publishNotReadyAddresses"] is True
    assert spec["selector"]["tidegate.dev/job"] == "orders"
    assert [port["name"] for port in spec["ports"]] == ["metrics", "driver", "blocks"]
