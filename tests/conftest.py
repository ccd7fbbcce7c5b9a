"""What holds for all tests, and what they share: processes that take long to start, once a session.

Fixtures that a folder's conftest imports would be that folder's own: each would start them anew.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spark.processes import QUICK_JVM, Commands, Warm, kill_session
from spark.shared_jvm import SharedJvm

if TYPE_CHECKING:  # its clients take half a second to import
    from kafka.broker import Cluster
    from kafka.kit import Kit


def pytest_unconfigure(config: pytest.Config) -> None:
    """Tests that run a worker's code in this process have frozen its heap (`spark.heap`): DuckDB
    would take what is never collected for a leak, and say so."""
    del config
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _without_secrets_of_other_tests() -> Iterator[None]:
    """A process hides what references have stood for: here another test's, of any word."""
    yield
    if (secrets := sys.modules.get("tidegate.connectors.secrets")) is not None:
        secrets._seen.clear()


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
            [sys.executable, str(Path(__file__).parent / "spark" / "warm.py")],
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


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One broker, for the whole session: a test that restarts it takes one of its own."""
    from kafka.broker import Cluster

    with Cluster(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture(scope="session")
def kafka(cluster: Cluster) -> Kit:
    """What tests use of it."""
    from kafka.kit import Kit

    return Kit(cluster.bootstrap)
