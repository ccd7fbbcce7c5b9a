from __future__ import annotations

from charts.chart import one, render


def test_the_role_is_the_drivers_alone() -> None:
    found = one(render(), "RoleBinding", "shop-driver")
    assert found["roleRef"]["kind"] == "Role"
    subject = {"kind": "ServiceAccount", "name": "shop-driver", "namespace": "streams"}
    assert found["subjects"] == [subject]
