from __future__ import annotations

from charts.chart import one, render

ON = {"monitoring": {"prometheus": {"enabled": True}}}


def test_it_is_prometheus_that_may() -> None:
    binding = one(render(ON), "RoleBinding", "shop-prometheus")
    (subject,) = binding["subjects"]
    assert (subject["name"], subject["namespace"]) == ("shop-prometheus", "streams")
    assert binding["roleRef"]["name"] == "shop-prometheus"
