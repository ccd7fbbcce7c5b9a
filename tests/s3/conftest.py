"""One real MinIO for all tests of S3; a test that stops it has its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from s3.minio import Minio
from spark.conftest import tidegate

__all__ = ["tidegate"]

_NUMBERS = count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.path).name == "test_run.py" and Path(item.path).parent.name == "s3":
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minio]:
    with Minio(tmp_path_factory.mktemp("minio")) as running:
        yield running


@pytest.fixture
def bucket(minio: Minio, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new bucket, which this process may use."""
    for name, value in minio.environment.items():
        monkeypatch.setenv(name, value)
    return minio.bucket(f"bucket-{next(_NUMBERS)}")


@pytest.fixture
def lone_minio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Minio]:
    """A server that a test may stop and start, and that tells of its requests."""
    with Minio(tmp_path / "minio", audit=True) as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running
