"""Values that are refused, and what helm says of them."""

from __future__ import annotations

from typing import Any

import pytest

from charts.chart import refusal

JOB = {"sql": "SELECT 1", "checkpoint": "s3://b/p"}
KAFKA = {"enabled": True}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"jobs": {"Orders": JOB}}, "jobs.Orders: a job's name has at most 20 lower-case letters"),
        ({"jobs": {"o" * 21: JOB}}, "a job's name has at most 20"),
        ({"jobs": {"o": {"checkpoint": "s3://b/p"}}}, "jobs.o has no SQL"),
        ({"jobs": {"o": {**JOB, "existingConfigMap": "c"}}}, "has both sql and existingConfigMap"),
        ({"jobs": {"o": {"sql": "SELECT 1"}}}, "jobs.o has no place for its checkpoint"),
        ({"jobs": {"o": {**JOB, "checkpoint": "/tmp"}}}, "is not on S3"),
        ({"jobs": {"o": {**JOB, "settings": {"rows": 1}}}}, "'rows' is no setting of Tidegate"),
        (
            {"jobs": {"o": {**JOB, "settings": {"spark.hadoop.fs.s3a.secret.key": "x"}}}},
            "looks like a credential",
        ),
        ({"jobs": {"o": {**JOB, "sqll": "x"}}}, "additional properties 'sqll' not allowed"),
        ({"jobs": {"o": {**JOB, "executors": 0}}}, "'/jobs/o/executors'"),
        ({"jobs": {"o": {**JOB, "executorHeap": "1"}}}, "'/jobs/o/executorHeap'"),
        ({"kafka": {**KAFKA, "servers": "a:1"}}, "kafka.enabled and kafka.servers exclude"),
        ({"kafka": {**KAFKA, "replicas": 2}}, "'/kafka/replicas'"),
        ({"minio": {"enabled": True}, "s3": {"endpoint": "http://a"}}, "s3.endpoint exclude"),
        ({"s3": {"endpoint": "http://user:password@a"}}, "'/s3/endpoint'"),
        ({"minio": {"enabled": True}, "s3": {"existingSecret": "a"}}, "is minio.existingSecret"),
        ({"demo": {"enabled": True}}, "demo.enabled wants a Kafka"),
        ({"demo": {"enabled": True}, "kafka": KAFKA}, "demo.enabled wants the topic 'orders'"),
        ({"grafana": {"enabled": True}}, "grafana.enabled wants something to show"),
        ({"image": {"digest": "sha256:1"}}, "'/image/digest'"),
        ({"nothing": 1}, "additional properties 'nothing' not allowed"),
    ],
)
def test_wrong_values_are_refused_in_a_sentence(values: dict[str, Any], said: str) -> None:
    assert said in refusal(values)
