from __future__ import annotations

import base64
from typing import Any

import pytest

from charts.chart import kinds, one, render, variables


def broker(**kafka: Any) -> dict[str, Any]:
    return one(render({"kafka": {"enabled": True, **kafka}}), "StatefulSet", "shop-kafka")


def settings(**kafka: Any) -> dict[str, Any]:
    (container,) = broker(**kafka)["spec"]["template"]["spec"]["containers"]
    return variables(container)


def test_it_is_not_there_unless_asked_for() -> None:
    assert not {name for _, name in kinds(render()) if "kafka" in name}


def test_brokers_find_each_other() -> None:
    found = settings(replicas=3)
    hosts = [f"{n}@shop-kafka-{n}.shop-kafka.streams.svc:9093" for n in range(3)]
    assert found["KAFKA_CONTROLLER_QUORUM_VOTERS"] == ",".join(hosts)
    index = "metadata.labels['apps.kubernetes.io/pod-index']"
    assert found["KAFKA_NODE_ID"] == {"fieldRef": {"fieldPath": index}}
    assert broker(replicas=3)["spec"]["podManagementPolicy"] == "Parallel"


@pytest.mark.parametrize(("replicas", "copies", "least"), [(1, "1", "1"), (3, "3", "2")])
def test_copies(replicas: int, copies: str, least: str) -> None:
    found = settings(replicas=replicas)
    assert found["KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR"] == copies
    assert found["KAFKA_MIN_INSYNC_REPLICAS"] == least


def test_the_clusters_name_is_one_that_kafka_takes_and_keeps() -> None:
    """Sixteen bytes in base64, the same at each rendering."""
    name = settings()["CLUSTER_ID"]
    assert name == settings()["CLUSTER_ID"]
    assert len(base64.b64decode(f"{name}==")) == 16


def test_its_volume() -> None:
    (claim,) = broker(storage="9Gi", storageClass="fast")["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"] == {"requests": {"storage": "9Gi"}}
    assert claim["spec"]["storageClassName"] == "fast"
    assert broker()["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Delete"
