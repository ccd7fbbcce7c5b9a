from __future__ import annotations

from charts.chart import JOB, one, render


def test_the_role_is_the_drivers_alone() -> None:
    objects = render(JOB)
    found = one(objects, "RoleBinding", "shop-orders")
    assert (found["roleRef"]["kind"], found["roleRef"]["name"]) == ("Role", "shop-orders")
    driver = "shop-orders-driver"
    assert found["subjects"] == [{"kind": "ServiceAccount", "name": driver, "namespace": "streams"}]
    template = one(objects, "StatefulSet", "shop-orders")["spec"]["template"]
    assert template["spec"]["serviceAccountName"] == driver
