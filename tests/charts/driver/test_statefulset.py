from __future__ import annotations

from typing import Any

from charts.chart import CHART, JOB, one, render, variables
from tidegate.spark.kubernetes.settings import BLOCKS_PORT, DRIVER_PORT


def driver(values: dict[str, Any]) -> dict[str, Any]:
    return one(render(values), "StatefulSet", "shop-orders")


def container(values: dict[str, Any]) -> dict[str, Any]:
    (found,) = driver(values)["spec"]["template"]["spec"]["containers"]
    return dict(found)


def job(**more: Any) -> dict[str, Any]:
    return {"jobs": {"orders": {**JOB["jobs"]["orders"], **more}}}


def test_there_is_one_driver() -> None:
    spec = driver(job())["spec"]
    assert spec["replicas"] == 1
    assert spec["serviceName"] == "shop-orders"


def test_it_runs_the_job() -> None:
    args = container(job(executors=3, executorCores=2))["args"]
    assert args[:3] == ["run", "/etc/tidegate/job/job.sql", "--checkpoint=s3://bucket/path/orders"]
    assert "--master=k8s://https://$(KUBERNETES_SERVICE_HOST):$(KUBERNETES_SERVICE_PORT)" in args
    assert "--set=tidegate.parallelism=6" in args
    assert "--set=spark.executor.instances=3" in args
    assert "--set=spark.kubernetes.executor.request.cores=250m" in args
    assert not any("limit.cores" in each for each in args)


def test_settings_are_passed_as_they_are() -> None:
    args = container(job(settings={"tidegate.epoch.interval": "200 ms", "spark.a": True}))["args"]
    assert "--set=tidegate.epoch.interval=200 ms" in args
    assert "--set=spark.a=true" in args


def test_a_changed_job_starts_the_driver_anew() -> None:
    def checksum(values: dict[str, Any]) -> str:
        template = driver(values)["spec"]["template"]
        return str(template["metadata"]["annotations"]["checksum/config"])

    assert checksum(job()) == checksum(job())
    assert checksum(job()) != checksum(job(sql="SELECT 2"))


def test_who_it_is_and_where_the_checkpoint_is() -> None:
    values = {**job(checkpoint=""), "minio": {"enabled": True}}
    found = container(values)
    known = variables(found)
    assert known["POD_IP"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert known["TIDEGATE_IMAGE"] == found["image"] == "tidegate:0.1.0"
    assert known["AWS_ENDPOINT_URL"] == "http://shop-minio.streams.svc:9000"
    secret = {"secretKeyRef": {"name": "shop-minio", "key": "AWS_SECRET_ACCESS_KEY"}}
    assert known["AWS_SECRET_ACCESS_KEY"] == secret
    assert "--checkpoint=s3://tidegate/shop/orders" in found["args"]


def test_a_store_outside() -> None:
    s3 = {"endpoint": "https://s3.example", "existingSecret": "keys", "region": "eu-west-1"}
    known = variables(container({**job(), "s3": s3}))
    assert known["AWS_ENDPOINT_URL"] == "https://s3.example"
    assert known["AWS_REGION"] == "eu-west-1"
    assert known["AWS_ACCESS_KEY_ID"]["secretKeyRef"]["name"] == "keys"


def test_a_role_needs_no_secret() -> None:
    known = variables(container(job()))
    assert "AWS_ENDPOINT_URL" not in known
    assert "AWS_ACCESS_KEY_ID" not in known


def test_an_image_by_digest() -> None:
    digest = f"sha256:{'a' * 64}"
    image = {"repository": "registry.example/tidegate", "digest": digest}
    assert container({**job(), "image": image})["image"] == f"registry.example/tidegate@{digest}"


def test_topics_are_made_before_it_starts() -> None:
    values = {**job(), "kafka": {"enabled": True, "topics": {"orders": 4, "sales": 2}}}
    (init,) = driver(values)["spec"]["template"]["spec"]["initContainers"]
    servers = "shop-kafka-0.shop-kafka.streams.svc:9092"
    assert init["args"] == [servers, "1", "orders=4", "sales=2"]
    assert "initContainers" not in driver(job())["spec"]["template"]["spec"]


def test_probes_ask_the_driver() -> None:
    found = container({**job(), "metrics": {"port": 9999}})
    assert found["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "metrics"}
    assert {"name": "metrics", "containerPort": 9999} in found["ports"]
    assert "--set=tidegate.metrics.address=:9999" in found["args"]


def test_the_map_with_the_sql() -> None:
    def of(values: dict[str, Any]) -> str:
        volumes = driver(values)["spec"]["template"]["spec"]["volumes"]
        (found,) = (v["configMap"]["name"] for v in volumes if v["name"] == "job")
        return str(found)

    assert of(job()) == "shop-orders"
    assert of({"jobs": {"orders": {"existingConfigMap": "theirs", "checkpoint": "s3://b/p"}}}) == (
        "theirs"
    )


def test_its_ports_are_those_that_the_driver_takes() -> None:
    ports = {each["name"]: each["containerPort"] for each in container(job())["ports"]}
    assert ports["driver"] == DRIVER_PORT
    assert ports["blocks"] == BLOCKS_PORT
    assert f"--set=spark.ui.port={ports['ui']}" in container(job())["args"]


def test_the_docs_name_all_that_the_chart_sets_of_spark() -> None:
    """An operator who forbids settings allows these (docs/security.md), and each by its name."""
    cpu = {"requests": {"cpu": 1}, "limits": {"cpu": 1}}
    args = container(job(executorResources=cpu))["args"]
    names = {name for each in args if (name := each.removeprefix("--set=")) != each}
    page = (CHART.parents[1] / "docs" / "security.md").read_text()
    (listed,) = (line for line in page.splitlines() if line.strip().startswith("spark."))
    set_here = {name.partition("=")[0] for name in names if name.startswith("spark.")}
    assert set(listed.strip().split(",")) == set_here
