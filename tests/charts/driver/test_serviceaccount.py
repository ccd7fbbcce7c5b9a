from __future__ import annotations

from charts.chart import one, render


def test_roles_of_a_cloud_are_annotations() -> None:
    objects = render({"serviceAccount": {"annotations": {"role": "arn"}}})
    for name in ("shop-driver", "shop-executor"):
        assert one(objects, "ServiceAccount", name)["metadata"]["annotations"] == {"role": "arn"}
    assert one(objects, "ServiceAccount", "shop-executor")["automountServiceAccountToken"] is False
