from __future__ import annotations

from charts.chart import kinds, render


def test_there_is_one_with_prometheus_only() -> None:
    wanted = ("ServiceAccount", "shop-prometheus")
    assert wanted in kinds(render({"monitoring": {"prometheus": {"enabled": True}}}))
    assert wanted not in kinds(render())
