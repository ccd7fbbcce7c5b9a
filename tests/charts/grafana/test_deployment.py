from __future__ import annotations

from charts.chart import one, refusal, render, variables

ON = {"grafana": {"enabled": True}, "monitoring": {"prometheus": {"enabled": True}}}


def test_it_calls_nobody_at_home() -> None:
    (container,) = one(render(ON), "Deployment", "shop-grafana")["spec"]["template"]["spec"][
        "containers"
    ]
    known = variables(container)
    assert known["GF_ANALYTICS_REPORTING_ENABLED"] == "false"
    assert known["GF_ANALYTICS_CHECK_FOR_UPDATES"] == "false"


def test_it_wants_something_to_show() -> None:
    assert "set monitoring.prometheus.enabled" in refusal({"grafana": {"enabled": True}})
