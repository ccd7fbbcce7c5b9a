"""Runs that tests share: real processes for signals and crashes, one warm Spark for the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark.processes import QUICK_JVM, Commands, Warm, kill_session
from spark.shared_jvm import SharedJvm


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.path).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.spark)


@pytest.fixture
def tidegate(tmp_path: Path) -> Iterator[Commands]:
    """Starts ``tidegate`` as processes in ``tmp_path``; none outlives the test."""
    with Commands(tmp_path) as commands:
        yield commands


@pytest.fixture(scope="session")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedJvm]:
    """One JVM for all drivers that need none of their own."""
    with SharedJvm(tmp_path_factory.mktemp("jvm"), environment=QUICK_JVM) as shared:
        yield shared


@pytest.fixture
def drivers(tmp_path: Path, jvm: SharedJvm) -> Iterator[Commands]:
    """As `tidegate`, on a JVM that outlives them: for drivers that are killed between epochs."""
    with Commands(tmp_path, jvm=jvm) as commands:
        yield commands


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    """One process with one Spark, for all tests that neither signal nor crash it."""
    log = tmp_path_factory.mktemp("warm") / "spark.log"
    with (
        log.with_suffix(".err").open("wb") as err,
        subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("warm.py"))],
            env={**os.environ, **QUICK_JVM, "WARM_LOG": str(log)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield Warm(process, log)
        finally:
            kill_session(process.pid)
