from __future__ import annotations

from charts.chart import DEMO, one, render


def test_orders_come_as_fast_as_asked() -> None:
    objects = render({"demo": {"rate": 70}}, files=[DEMO])
    (container,) = one(objects, "Deployment", "shop-demo")["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["shop-kafka-0.shop-kafka.streams.svc:9092", "orders", "70"]
