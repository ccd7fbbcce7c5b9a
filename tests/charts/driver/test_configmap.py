from __future__ import annotations

from typing import Any

import yaml

from charts.chart import JOB, one, render, variables


def executor(values: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(
        one(render(values), "ConfigMap", "shop-orders")["data"]["executor.yaml"]
    )
    return found


def test_the_sql_is_as_it_was_given() -> None:
    sql = 'SELECT \'{"a": 1}\' AS "x";\n-- a comment: with\ttabs\n'
    objects = render({"jobs": {"orders": {**JOB["jobs"]["orders"], "sql": sql}}})
    assert one(objects, "ConfigMap", "shop-orders")["data"]["job.sql"] == sql


def test_addresses_of_the_chart_are_filled_in() -> None:
    sql = "'{{ include \"tidegate.kafka.servers\" . }}'"
    values = {
        "jobs": {"orders": {**JOB["jobs"]["orders"], "sql": sql}},
        "kafka": {"enabled": True, "replicas": 3},
    }
    text = one(render(values), "ConfigMap", "shop-orders")["data"]["job.sql"]
    hosts = [f"shop-kafka-{number}.shop-kafka.streams.svc:9092" for number in range(3)]
    assert text == f"'{','.join(hosts)}'"


def test_an_existing_map_has_the_sql() -> None:
    job = {"existingConfigMap": "theirs", "checkpoint": "s3://b/p"}
    data = one(render({"jobs": {"orders": job}}), "ConfigMap", "shop-orders")["data"]
    assert data.keys() == {"executor.yaml"}


def test_executors_are_spread_and_may_do_nothing() -> None:
    spec = executor(dict(JOB))["spec"]
    assert spec["serviceAccountName"] == "shop-orders-executor"
    assert spec["automountServiceAccountToken"] is False
    (spread,) = spec["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"]["tidegate.dev/job"] == "orders"
    assert spread["whenUnsatisfiable"] == "ScheduleAnyway"


def test_a_jobs_own_values_win() -> None:
    job = {
        **JOB["jobs"]["orders"],
        "spread": "",
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"disk": "ssd"},
        "env": [
            {"name": "KAFKA_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "k", "key": "p"}}}
        ],
        "volumes": [{"name": "certs", "secret": {"secretName": "certs"}}],
        "volumeMounts": [{"name": "certs", "mountPath": "/certs"}],
        "podLabels": {"team": "shop"},
        "podAnnotations": {"note": "x"},
    }
    pod = executor({"jobs": {"orders": job}, "defaults": {"nodeSelector": {"zone": "a"}}})
    spec = pod["spec"]
    assert "topologySpreadConstraints" not in spec
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["nodeSelector"] == {"zone": "a", "disk": "ssd"}
    (container,) = spec["containers"]
    assert variables(container)["KAFKA_PASSWORD"] == {"secretKeyRef": {"name": "k", "key": "p"}}
    assert {"name": "certs", "mountPath": "/certs"} in container["volumeMounts"]
    assert {"name": "certs", "secret": {"secretName": "certs"}} in spec["volumes"]
    assert pod["metadata"]["labels"]["team"] == "shop"
    assert pod["metadata"]["annotations"] == {"note": "x"}


def test_what_is_the_drivers_alone_is_not_given_to_executors() -> None:
    reference = {"secretKeyRef": {"name": "pg", "key": "password"}}
    job = {
        **JOB["jobs"]["orders"],
        "driverEnv": [{"name": "PG_PASSWORD", "valueFrom": reference}],
        "driverVolumes": [{"name": "keys", "secret": {"secretName": "keys"}}],
        "driverVolumeMounts": [{"name": "keys", "mountPath": "/keys"}],
    }
    objects = render({"jobs": {"orders": job}})
    spec = one(objects, "StatefulSet", "shop-orders")["spec"]["template"]["spec"]
    assert variables(spec["containers"][0])["PG_PASSWORD"] == reference
    assert {"name": "keys", "mountPath": "/keys"} in spec["containers"][0]["volumeMounts"]
    assert {"name": "keys", "secret": {"secretName": "keys"}} in spec["volumes"]
    text = one(objects, "ConfigMap", "shop-orders")["data"]["executor.yaml"]
    assert "PG_PASSWORD" not in text
    assert "keys" not in text
