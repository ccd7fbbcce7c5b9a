from __future__ import annotations

from typing import Any

from charts.chart import DEMO, kinds, one, render


def container(values: dict[str, Any]) -> dict[str, Any]:
    (found,) = one(render(values), "Pod", "shop-helm-test")["spec"]["containers"]
    return dict(found)


def test_helm_test_runs_it() -> None:
    annotations = one(render(files=[DEMO]), "Pod", "shop-helm-test")["metadata"]["annotations"]
    assert annotations["helm.sh/hook"] == "test"


def test_its_job_is_run_as_others_are() -> None:
    values = {
        "kafka": {"servers": "a:9092,b:9092"},
        "defaults": {"checkpoint": "s3://bucket/path/", "settings": {"spark.a": "b"}},
    }
    servers, copies, checkpoint, _, *options = container(values)["args"]
    assert (servers, copies, checkpoint) == ("a:9092,b:9092", "3", "s3://bucket/path")
    assert "--set=spark.executor.instances=1" in options
    assert "--set=spark.a=b" in options


def test_there_is_none_without_a_place_for_orders() -> None:
    assert ("Pod", "shop-helm-test") not in kinds(render({"kafka": {"servers": "a:9092"}}))
