from __future__ import annotations

from charts.chart import JOB, one, render


def test_a_driver_may_do_what_it_does_and_no_more() -> None:
    rules = one(render(JOB), "Role", "shop-orders")["rules"]
    allowed = {
        (group, resource): set(rule["verbs"])
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    used = {"get", "list", "watch", "create", "delete", "deletecollection"}
    assert allowed == {("", "pods"): used}
