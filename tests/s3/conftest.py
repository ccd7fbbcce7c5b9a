"""One real MinIO for all tests of S3; a test that stops it has its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from s3.minio import Minio
from s3.proxy import Proxy
from spark.processes import QUICK_JVM, Commands
from spark.shared_jvm import SharedJvm
from tidegate.spark.launch.classes import class_path
from tidegate.spark.launch.s3a_jars import fetch, home

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


@pytest.fixture(scope="module")
def audited_minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minio]:
    """The same for several tests, which this process may use, too."""
    with (
        Minio(tmp_path_factory.mktemp("minio"), audit=True) as running,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield running


@pytest.fixture(scope="module")
def proxy(audited_minio: Minio) -> Iterator[Proxy]:
    """Through which drivers reach it."""
    with Proxy(audited_minio.endpoint) as running:
        yield running


@pytest.fixture(scope="module")
def proxied(audited_minio: Minio, proxy: Proxy) -> dict[str, str]:
    """What a driver needs to find it, and to be let in."""
    return {**audited_minio.environment, "AWS_ENDPOINT_URL": proxy.endpoint}


@pytest.fixture(scope="module")
def s3_jvm(
    tmp_path_factory: pytest.TempPathFactory, proxied: dict[str, str]
) -> Iterator[SharedJvm]:
    """One JVM for drivers with Spark's client of S3, as ``tidegate-s3-jars`` fetches it."""
    fetch(home())
    path = {"spark.driver.extraClassPath": f"{class_path()}:{home()}/*"}
    environment = {**proxied, **QUICK_JVM}
    with SharedJvm(tmp_path_factory.mktemp("jvm"), path, environment) as shared:
        yield shared


@pytest.fixture
def drivers(tmp_path: Path, proxied: dict[str, str], s3_jvm: SharedJvm) -> Iterator[Commands]:
    """As those of `tests/conftest.py`; their checkpoints are in `audited_minio`."""
    with Commands(tmp_path, proxied, s3_jvm) as commands:
        yield commands
