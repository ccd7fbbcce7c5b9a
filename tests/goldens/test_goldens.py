"""Checkpoints of 0.1 are resumed: the same rows, in their order, and the same ledger.

Those that need Kafka or PostgreSQL are resumed by the tests of these.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from goldens.check import differences, goes_on_as_before
from goldens.golden import FRAMES, GOLDENS, NO_LEDGER, results, unpack
from goldens.world import World
from spark.processes import QUICK_JVM, TIMEOUT_S, Commands
from spark.shared_jvm import SharedJvm

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all are resumed, one after the other: a golden's paths begin where its JVM runs."""
    return tmp_path_factory.mktemp("goldens")


@pytest.fixture(scope="module")
def drivers(place: Path) -> Iterator[Commands]:
    with SharedJvm(place, environment=QUICK_JVM) as jvm, Commands(place, jvm=jvm) as commands:
        yield commands


@pytest.mark.parametrize("name", GOLDENS)
def test_it_goes_on_as_before(name: str, drivers: Commands, place: Path) -> None:
    for folder in ("in", "checkpoint", "out", "later"):
        shutil.rmtree(place / folder, ignore_errors=True)
    goes_on_as_before(GOLDENS[name], place, drivers, World())


def test_frames_go_on_as_before(tmp_path: Path) -> None:
    world = World()
    wanted = unpack(FRAMES, tmp_path, world)
    ran = subprocess.run(
        [sys.executable, FRAMES.file],
        cwd=tmp_path,
        env={**os.environ, **QUICK_JVM},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert not list(differences(results(FRAMES, tmp_path, world, "", NO_LEDGER), wanted))
