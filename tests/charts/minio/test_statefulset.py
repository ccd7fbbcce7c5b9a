from __future__ import annotations

from charts.chart import kinds, one, render, variables

MINIO = {"minio": {"enabled": True, "bucket": "streams"}}


def test_it_is_not_there_unless_asked_for() -> None:
    assert not {name for _, name in kinds(render()) if "minio" in name}


def test_its_bucket_is_made_before_it_starts() -> None:
    spec = one(render(MINIO), "StatefulSet", "shop-minio")["spec"]["template"]["spec"]
    (init,) = spec["initContainers"]
    assert init["command"] == ["/bin/mkdir", "-p", "/data/streams"]


def test_its_credentials_are_a_secrets() -> None:
    values = {"minio": {"enabled": True, "existingSecret": "keys"}}
    spec = one(render(values), "StatefulSet", "shop-minio")["spec"]["template"]["spec"]
    known = variables(spec["containers"][0])
    reference = {"secretKeyRef": {"name": "keys", "key": "AWS_SECRET_ACCESS_KEY"}}
    assert known["MINIO_ROOT_PASSWORD"] == reference
