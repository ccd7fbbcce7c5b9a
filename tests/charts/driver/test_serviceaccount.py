from __future__ import annotations

from charts.chart import DEMO, JOB, kinds, one, render


def test_each_job_has_its_own() -> None:
    jobs = {"jobs": {**JOB["jobs"], "clicks": JOB["jobs"]["orders"]}}
    found = {name for kind, name in kinds(render(jobs)) if kind == "ServiceAccount"}
    assert found == {
        *("shop-orders-driver", "shop-orders-executor"),
        *("shop-clicks-driver", "shop-clicks-executor"),
    }


def test_so_has_the_test() -> None:
    objects = render(files=[DEMO])
    pod = one(objects, "Pod", "shop-helm-test")["spec"]
    assert pod["serviceAccountName"] == "shop-helm-test-driver"
    one(objects, "ServiceAccount", "shop-helm-test-driver")


def test_roles_of_a_cloud_are_annotations() -> None:
    objects = render({**JOB, "serviceAccount": {"annotations": {"role": "arn"}}})
    for name in ("shop-orders-driver", "shop-orders-executor"):
        assert one(objects, "ServiceAccount", name)["metadata"]["annotations"] == {"role": "arn"}
    executor = one(objects, "ServiceAccount", "shop-orders-executor")
    assert executor["automountServiceAccountToken"] is False
