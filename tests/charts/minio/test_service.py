from __future__ import annotations

from charts.chart import one, render


def test_it_is_reached_by_its_name() -> None:
    spec = one(render({"minio": {"enabled": True}}), "Service", "shop-minio")["spec"]
    assert spec["ports"] == [{"name": "s3", "port": 9000, "targetPort": "s3"}]
