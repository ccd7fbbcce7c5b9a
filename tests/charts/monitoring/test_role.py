from __future__ import annotations

from charts.chart import one, render

ON = {"monitoring": {"prometheus": {"enabled": True}}}


def test_prometheus_may_look_at_pods_only() -> None:
    (rule,) = one(render(ON), "Role", "shop-prometheus")["rules"]
    assert rule == {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
