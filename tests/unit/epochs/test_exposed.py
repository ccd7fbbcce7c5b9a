from __future__ import annotations

import pytest

from tidegate.epochs.exposed import exposures
from tidegate.plan.tables import Table


def _table(name: str, path: str, connector: str = "filesystem") -> Table:
    return Table(name, (), connector, "json", (("format", "json"), ("path", path)))


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "sesame")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://minio:9000")
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    return monkeypatch


def test_a_store_without_tls(store: pytest.MonkeyPatch) -> None:
    tables = [
        _table("a", "s3a://b/in"),
        _table("d", "s3://b/d", "delta"),
        _table("l", "/in"),
        _table("o", "s3://b/in?endpoint_override=other:80&scheme=http"),
        _table("h", "s3://b/in?endpoint_override=other:80&scheme=https"),
    ]
    said = exposures([*tables, tables[0]], "s3://b/checkpoint")
    assert [line.partition(" to the store at ")[0] for line in said] == [
        "checkpoint: requests",
        "table 'a': requests",
        "table 'd': requests",
        "table 'o': requests",
    ]
    assert " at minio are signed" in said[0]
    assert " at other are signed" in said[-1]
    assert "sesame" not in "".join(said)
    store.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    assert exposures(tables[:2], "s3://b/checkpoint") == []
    store.setenv("AWS_ENDPOINT_URL", "https://minio:9000")
    assert exposures(tables[:2], "s3://b/checkpoint") == []
    store.setenv("AWS_ENDPOINT_URL", "http://minio:9000")
    store.delenv("AWS_ACCESS_KEY_ID")
    store.delenv("AWS_WEB_IDENTITY_TOKEN_FILE", raising=False)
    assert exposures(tables[:2], "s3://b/checkpoint") == []
