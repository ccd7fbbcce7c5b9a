from __future__ import annotations

from charts.chart import JOB, kinds, one, render


def test_only_who_asks_for_it_has_one() -> None:
    name = "shop-orders"
    assert ("PodDisruptionBudget", name) not in kinds(render(JOB))
    objects = render({**JOB, "defaults": {"podDisruptionBudget": True}})
    spec = one(objects, "PodDisruptionBudget", name)["spec"]
    driver = one(objects, "StatefulSet", name)["spec"]
    assert spec["selector"] == driver["selector"]
    assert spec["maxUnavailable"] == 0
